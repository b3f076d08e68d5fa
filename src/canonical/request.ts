// What a client asks for, whatever its protocol: a union of all protocols, so that decoding loses nothing.
// What has no canonical name rides in `native`, tagged with its protocol. Absent stays absent; nothing is defaulted here.
import type { JsonObject, JsonValue } from './json.ts';

/** The wire protocols of providers; the first is the default. They are not in the registry, which loads all of them. */
export const PROTOCOL_NAMES = ['chat', 'messages', 'responses'] as const;
export type ProtocolName = (typeof PROTOCOL_NAMES)[number];

/** Those of clients: no provider is spoken to in Ollama's. */
export type ClientProtocolName = ProtocolName | 'ollama';

/** What a key may be allowed to use: the endpoints of a protocol, and those that have a permission of their own. */
export const PERMISSIONS = ['chat', 'messages', 'responses', 'embeddings'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What a row of usage names as its endpoint: a protocol, or an endpoint that answers with something else. */
export const ENDPOINT_NAMES = [
  'chat',
  'messages',
  'responses',
  'ollama',
  'embeddings',
  'completions',
] as const;
export type EndpointName = (typeof ENDPOINT_NAMES)[number];

/**
 * The key with which a provider finds a conversation's prompt cache. `asked`: the client chose it, so leaving it out is reported.
 * `routine`: this kind of client always sends one. `session`: the client sent none; its session's id takes the place.
 */
export interface CacheKey {
  value: string;
  from: 'asked' | 'routine' | 'session';
}

/** A prompt-cache mark on a part, a tool or the whole request. */
export interface CacheMark {
  ttl?: '5m' | '1h';
  /** A responses client set it: every responses provider gets it, whatever its traits are. */
  breakpoint?: true;
}

export interface TextPart {
  type: 'text';
  text: string;
  /** The text is the model's refusal (chat keeps it apart). */
  refusal?: true;
  citations?: Citation[];
  /** Of an answer: log probabilities of its tokens. */
  logprobs?: JsonObject[];
  cache?: CacheMark;
}

/** A model's thinking. `signature` undefined: the protocol carried none; `''`: carried, but empty. */
export interface ReasoningPart {
  type: 'reasoning';
  text: string;
  signature?: string;
  /** Opaque data of a redacted block; `text` is then empty. */
  redacted?: string;
  /** Of an answer: the model's own words, as open models show them, and no summary of them. */
  raw?: true;
  /** The client hands it back on purpose: leaving it out is reported. */
  fate?: 'report';
}

export type MediaSource =
  | { kind: 'base64'; mediaType: string; data: string }
  | { kind: 'url'; url: string }
  /** A file that a provider keeps; its id means something only to providers of that protocol. */
  | { kind: 'file'; protocol: ProtocolName; id: string };

export interface ImagePart {
  type: 'image';
  source: MediaSource;
  /** chat: auto, low, high, original. */
  detail?: string;
  cache?: CacheMark;
  /** The wire path it came from (`messages[0].content[1]`), for a refusal that names it. Never part of the meaning. */
  at?: string;
}

export interface DocumentPart {
  type: 'document';
  source: MediaSource | { kind: 'text'; text: string } | { kind: 'parts'; parts: Part[] };
  title?: string;
  context?: string;
  /** Citations were asked for. */
  citations?: boolean;
  cache?: CacheMark;
  at?: string;
}

export interface AudioPart {
  type: 'audio';
  source: { kind: 'base64'; format: string; data: string } | { kind: 'reference'; id: string };
  at?: string;
}

export interface ToolCallPart {
  type: 'tool_call';
  id: string;
  name: string;
  /** JSON text, as the model wrote it; free text when `custom`. */
  arguments: string;
  /** A call of a chat custom (free text) tool. */
  custom?: true;
  /** Members beside the call that must come back with it (`extra_content` of Gemini's chat endpoint). */
  extra?: JsonObject;
  cache?: CacheMark;
}

export interface ToolResultPart {
  type: 'tool_result';
  callId: string;
  /** Blocks, or the text itself: both forms exist on both wires. */
  content: string | Part[];
  isError?: boolean;
  cache?: CacheMark;
}

/** A block that only one protocol knows, byte for byte as a JSON value. */
export interface NativePart {
  type: 'native';
  protocol: ClientProtocolName;
  /** Its `type` on the wire. */
  kind: string;
  value: JsonObject;
  /** Every other protocol leaves it out and reports it; without this its kind decides. */
  fate?: 'report';
  at?: string;
}

export type Part =
  | TextPart
  | ReasoningPart
  | ImagePart
  | DocumentPart
  | AudioPart
  | ToolCallPart
  | ToolResultPart
  | NativePart;

/** `raw` is the protocol's own citation object; `url` and `title` if it points to a page; offsets within its text block. */
export interface Citation {
  protocol: ProtocolName;
  raw: JsonObject;
  url?: string;
  title?: string;
  start?: number;
  end?: number;
}

/** Tool results are parts of `user` messages (chat's `tool` role is decoded so). A `system` message may stand anywhere. */
export interface Message {
  role: 'system' | 'user' | 'assistant';
  parts: Part[];
  /** chat `name` of the author. */
  name?: string;
  /** System: it was chat's `developer`. */
  developer?: true;
  /** chat `prefix`: the model shall continue this last turn of its own. */
  prefix?: true;
  /** Members of the message that only its protocol knows. */
  native?: NativeField[];
}

/**
 * Whether the answer is held to its schema. `true`: in OpenAI's subset, where each object is closed and requires all its members.
 * `open`: whatever the schema; members may be optional. `default`: the client said nothing, and its protocol holds to the schemas
 * of that subset. Absent: nothing was said, and it does not.
 */
export type Strictness = boolean | 'open' | 'default';

interface ToolMembers {
  strict?: Strictness;
  cache?: CacheMark;
  /** The client loads it when it is needed, in the way of this protocol (`protocols/shared/tools/deferred-tools.ts`). */
  deferred?: ProtocolName;
  /** Other members (`input_examples`, `allowed_callers`, …). */
  native?: NativeField[];
}

export interface FunctionTool extends ToolMembers {
  type: 'function';
  name: string;
  description?: string;
  /** JSON Schema of the arguments; absent: none was given. */
  parameters?: JsonObject;
}

/** chat: free text in, with an optional grammar. */
export interface CustomTool {
  type: 'custom';
  name: string;
  description?: string;
  format?: JsonObject;
  cache?: CacheMark;
  deferred?: ProtocolName;
  native?: NativeField[];
}

/** A tool that the provider runs or defines (`web_search_*`, `bash_*`, `mcp_toolset`). Its members are in `value` too. */
export interface NativeTool extends ToolMembers {
  type: 'native';
  protocol: ProtocolName;
  /** Its `type` on the wire. */
  kind: string;
  name?: string;
  /** The client runs it, but only its provider knows its arguments: other providers refuse the request. */
  ofClient?: true;
  value: JsonObject;
}

export type Tool = FunctionTool | CustomTool | NativeTool;

export type ToolChoice =
  | { type: 'auto' }
  | { type: 'none' }
  | { type: 'required' }
  | { type: 'tool'; name: string }
  | { type: 'allowed'; mode: 'auto' | 'required'; names: string[] };

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export interface Reasoning {
  /** `on`: with a budget; `adaptive`: as the model sees fit; absent: only an effort was given. */
  mode?: 'off' | 'on' | 'adaptive' | 'between_tools';
  effort?: Effort;
  budgetTokens?: number;
  /** The effort is of the whole answer, and asks for no thinking by itself (messages); else it is of the thinking. */
  ofAnswer?: true;
  /** How the provider shows the thinking: messages `thinking.display`. */
  display?: string;
  /** The client gets no thinking: chat `reasoning.exclude`, messages `display: omitted`. */
  hidden?: true;
}

/** `at`: where the client wrote it, for messages of errors. */
export type ResponseFormat = { at?: string } & (
  | { type: 'json_schema'; name?: string; description?: string; schema: JsonObject; strict?: Strictness }
  | { type: 'json_object' }
);

/** Where the user is, in the words of both protocols: all that `location` holds. */
export const LOCATION_MEMBERS = ['city', 'country', 'region', 'timezone'] as const;

/** chat `web_search_options`, messages `web_search_*`. */
export interface WebSearch {
  contextSize?: string;
  location?: JsonObject;
}

/** Members that some protocols have, each in a place of its own, and that are no canonical field. */
export type SharedMember =
  'logprobs' | 'top_logprobs' | 'metadata' | 'verbosity' | 'prompt_cache_options' | 'prompt_cache_retention';

/**
 * A member of the wire that has no canonical name. What another protocol does with it is known where it is decoded:
 * `report` leaves it out and names it, `quiet` leaves it out without a word, `reject` is a 400 naming it.
 */
export interface NativeField {
  protocol: ClientProtocolName;
  /** Wire path without indexes: `seed`, `messages[].name`. */
  path: string;
  /** What the client calls it, if it wrote a member of `protocol` in the words of its own. */
  asked?: string;
  /** The last member of `path`. */
  name: string;
  value: JsonValue;
  fate: 'report' | 'quiet' | 'reject';
  /** What it is to protocols that have it too: its fate is for the others. */
  shared?: SharedMember;
  /** What the client or the log reads of it, if the default ("… cannot be carried to this provider") is not enough. */
  message?: string;
  /** With `reject`: further members of the error (`error_code`). */
  details?: Record<string, unknown>;
}

/** What the model may call, and the form that its answer must have. */
export type Offer = Pick<GenerationRequest, 'tools' | 'toolChoice' | 'responseFormat'>;

export interface GenerationRequest {
  /** The protocol it was decoded from. */
  protocol: ClientProtocolName;
  model: string;
  stream: boolean;
  /** chat `stream_options.include_usage`; messages always. */
  includeUsage: boolean;
  messages: Message[];
  tools?: Tool[];
  toolChoice?: ToolChoice;
  /** `false`: one call a turn. */
  parallelToolCalls?: boolean;
  /** Tokens; with `maxOutputIncludesReasoning` semantics of the protocol (both include it). */
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stop?: string[];
  reasoning?: Reasoning;
  responseFormat?: ResponseFormat;
  /** An opaque id of the end user. */
  user?: string;
  /** In the words of chat and responses: `auto`, `default`, `flex`, … */
  serviceTier?: string;
  /** messages' top-level `cache_control`. */
  cache?: CacheMark;
  cacheKey?: CacheKey;
  /** Clients of this protocol set cache marks themselves: the gateway adds none. */
  marksCache?: true;
  webSearch?: WebSearch;
  /** chat's legacy `functions`/`function_call` were used: the answer takes that form. */
  legacyFunctions?: true;
  /** The client reads thinking of a chat answer from `reasoning`, too, as those of OpenRouter and Groq do. */
  readsReasoning?: true;
  /** Members of the request as the client wrote them, for protocols whose answers repeat them. Never part of the meaning. */
  asked?: JsonObject;
  native: NativeField[];
}

/**
 * Canonical places that an encoder may have to leave out. Each protocol maps them to its own wire path
 * (`protocol.wirePath`), so that the client reads the names that it sent.
 */
export type CanonicalField =
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'stop'
  | 'tools'
  | 'tools.strict'
  | 'tools.cache'
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'reasoning'
  | 'reasoning.budgetTokens'
  | 'reasoning.effort'
  | 'responseFormat'
  | 'responseFormat.strict'
  | 'user'
  | 'serviceTier'
  | 'cache'
  | 'cacheKey'
  | 'webSearch'
  | 'webSearch.contextSize'
  | 'messages.name'
  | 'messages.prefix'
  | 'messages.cache'
  | 'messages.reasoning'
  | 'messages.redacted'
  | 'messages.image'
  | 'messages.image.detail'
  | 'messages.document'
  | 'messages.document.context'
  | 'messages.document.citations'
  | 'messages.document.title'
  | 'messages.audio'
  | 'messages.citations'
  | 'messages.toolResult'
  | 'messages.toolResult.isError'
  | 'messages.toolCall'
  | 'messages.toolCall.extra'
  | 'messages.native'
  | 'messages';

/**
 * What an encoder or a repair did to a request beyond renaming. `dropped` and `suspended` are named to the client; the others go
 * to the log. `suspended`: left out of this request alone, because it needs what an earlier answer no longer has; `strict` does
 * not refuse it, since the turn could not be finished otherwise.
 */
export interface Warning {
  effect: 'dropped' | 'suspended' | 'changed' | 'quiet';
  /** A canonical place, or the wire path of a native field. */
  field: CanonicalField | { path: string };
  detail: string;
}
