// What a target's model and server take and refuse, as one value that encoders are given: provider differences are data.
// The file's `flags` (snake_case) and the presets set the wire part; known facts about models and the file's `models` the rest.
import type { Effort, ProtocolName } from './request.ts';

export interface Traits {
  /** What the model can do; undefined: not known, taken as possible. */
  vision?: boolean;
  documents?: boolean;
  audio?: boolean;
  tools?: boolean;
  thinking?: boolean;
  structuredOutput?: boolean;
  /** The model makes embeddings, and no answers. */
  embeddings?: boolean;
  /** Tokens. */
  contextWindow?: number;
  /** The window of requests whose `anthropic-beta` asks for the long one. */
  longContextWindow?: number;
  maxOutput?: number;

  /** Protocols of this model, the best first; empty: all of its provider's. */
  speaks: readonly ProtocolName[];

  // -- the chat wire --
  /** On responses it has one name. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** The role of system text. */
  systemRole: 'system' | 'developer';
  userField: 'user' | 'safety_identifier';
  /** Takes `stream_options`. On responses every stream ends with usage. */
  streamUsage: boolean;
  /** Takes the extra member `top_k`, which responses does not have. */
  topK: boolean;
  /** Where a bare text is completed, behind the base URL (`../` goes up in it); false: nowhere. */
  completionsPath: string | false;
  /** Has `/responses/compact`; elsewhere the model is asked for a summary. */
  compaction: boolean;
  /** Takes `web_search_options`; `flat_location`: with the members of a place directly in `user_location`. On responses it is a tool. */
  webSearchOptions: boolean | 'flat_location';
  /**
   * Takes what came to chat with OpenAI's fifth models: tools of free text (`type: custom`), a choice of `allowed_tools`, `verbosity`
   * and the members of the prompt cache. Else functions stand for such tools, and the allowed ones alone are sent. All of these are part of
   * responses from its beginning.
   */
  customTools: boolean;
  /** Roles must alternate, with system text only at the beginning. On responses too, whose input becomes the same template's messages. */
  strictAlternation: boolean;
  /** Takes a user's message directly after results of tools; else a word of the assistant is put between. On responses too. */
  userAfterTool: boolean;
  /**
   * Refuses a turn with calls whose first has no signature (Gemini's `extra_content`): a call without one gets the value for "none". Items
   * of responses have no such member.
   */
  thoughtSignatures: boolean;
  /** The member of history messages that takes a model's reasoning back (on responses an item of its own), and for which turns. */
  reasoningField: 'reasoning_content' | 'reasoning';
  replayReasoning: 'never' | 'tool_turns' | 'always';
  /** `mistral`: exactly nine alphanumeric characters. `openai`: at most 40 characters. */
  toolIds: 'any' | 'openai' | 'mistral';
  /** How a message's prompt-cache marks are written on parts. */
  cacheMarks: 'none' | 'prompt_cache_breakpoint' | 'cache_control';
  /** Takes `prompt_cache_key`. */
  cacheKey: boolean;
  /** Top-level members and `messages[].…` or `input[].…` paths that this server refuses: left out and reported. */
  rejectFields: readonly string[];
  /**
   * How thinking is switched on and off. `effort`: by `reasoning_effort` alone, `none` switches it off. All others have a switch, with
   * `reasoning_effort` beside it where `efforts` is not empty: `type` and `adaptive` write `thinking: {type}` with `disabled` and
   * `enabled` or `adaptive`, `enable_thinking` that member, `reasoning_enabled` writes `reasoning: {enabled}`, `template` writes
   * `chat_template_kwargs: {enable_thinking}`. On responses an effort says it all, whatever the form.
   */
  thinkingForm: 'effort' | 'type' | 'adaptive' | 'enable_thinking' | 'reasoning_enabled' | 'template';
  /** The least and the most tokens of `thinking_budget`; empty: that member is not sent. Responses has efforts alone. */
  budgetRange: readonly number[];
  /** Takes the effort `max` on chat, too, and not on other protocols alone. */
  maxEffortOnChat: boolean;
  /** Takes function tools while it thinks: always, or on other protocols alone. */
  toolsWhileThinking: 'always' | 'not_on_chat';
  /** A choice of one tool by its name. Without: the words `none`, `auto` and `required` alone. */
  namedToolChoice: boolean;
  /**
   * What stands for the reasoning of a turn that must have some, and has none: some servers count an empty text as missing. No server is
   * known to demand such an item on responses.
   */
  reasoningFill: string;
  /** Takes content that is a list of texts; else they are joined into one, on responses too. */
  contentLists: boolean;
  /** The role of system text that comes after the first turn, on responses too. `user`: for servers that move system text to the front. */
  lateSystem: 'system' | 'user';

  // -- both wires --
  /** Refuses a conversation with arguments of a call that are no JSON object. Translations always make them one, relays here. */
  strictArguments: boolean;
  /** Takes images by http(s) URL. */
  imageUrl: boolean;
  /** Takes PDFs. */
  pdfInput: boolean;
  /** What it takes as an image's `detail`: nothing, `low`, `high` and `auto`, or (on responses) `original` as well. */
  imageDetail: 'none' | 'usual' | 'original';
  /** The forms of structured output that it takes. */
  responseFormats: readonly ('json_schema' | 'json_object')[];
  /** Takes a form of structured output beside tools. */
  formatsWithTools: boolean;
  /** Takes `json_object` only where the word JSON stands in the messages. */
  jsonWord: boolean;
  /** The most stop sequences it takes; more are emulated. Responses has none: all are. */
  maxStop: number;

  // -- the responses wire --
  /** Takes `additional_tools` items, which bring tools in the course of the conversation; else they join the list of tools. */
  additionalTools: boolean;
  /** Tokens: the least limit of the output that it takes. */
  minOutput: number;

  // -- the messages wire --
  /** Runs web search and the like by itself. */
  serverTools: boolean;
  /** Takes `tags`, which group requests for the reports of their vendor. */
  requestTags: boolean;
  /** `auto`: cache marks are added for chat clients. */
  promptCache: 'auto' | 'off';
  /** Tokens below which a cache mark has no effect. */
  minCacheTokens: number;

  // -- the model --
  /** Refuses temperature, top_p and top_k. */
  rejectsSampling: boolean;
  /** Takes them on messages while it thinks, too; on chat and responses thinking is no reason to refuse them. */
  samplingWhileThinking: boolean;
  /** Refuses temperature together with top_p. */
  oneSamplingParameter: boolean;
  maxTemperature: number;
  /** On messages: a thinking budget in tokens (`thinking.type: enabled`), and `adaptive`. The other wires have efforts. */
  thinkingBudget: boolean;
  thinkingAdaptive: boolean;
  /** Takes thinking switched off: always, only up to effort `high`, never, or (up to `high`) but for that between tool calls. */
  thinkingOff: 'always' | 'up_to_high' | 'between_tools' | 'never';
  /** Without a word from the client it thinks. */
  thinksByDefault: boolean;
  /** The efforts that `output_config.effort` (messages) or `reasoning_effort` (chat) take; empty: the field is not sent. */
  efforts: readonly Effort[];
  /** Takes a tool choice that forces a call: always, only while not thinking, or never. */
  forcedTools: 'always' | 'not_thinking' | 'never';
  /** The root of a tool's parameters. `object`: an object with `type` and `properties` and without a union, else the tool is refused. */
  schemaRoot: 'any' | 'object';
  /** Continues a trailing assistant message. */
  prefill: boolean;
  /** The role of the last message. `user`: a conversation that ends with the assistant is refused, and not only answered anew. */
  lastRole: 'any' | 'user';
  /** messages: takes `role: system` messages in the list. */
  midSystem: boolean;
}

/** Tokens of output that the model can give; where that is not known, no more than its window holds. */
export function mostOutput({ maxOutput, contextWindow }: Traits): number {
  return maxOutput ?? contextWindow ?? Infinity;
}

/** The tolerant defaults: an unknown model on an unknown server. */
export const DEFAULT_TRAITS: Traits = {
  speaks: [],
  maxTokensField: 'max_tokens',
  systemRole: 'system',
  userField: 'user',
  streamUsage: true,
  completionsPath: '/completions',
  compaction: false,
  topK: false,
  webSearchOptions: false,
  customTools: false,
  strictAlternation: false,
  userAfterTool: true,
  thoughtSignatures: false,
  reasoningField: 'reasoning_content',
  replayReasoning: 'never',
  toolIds: 'any',
  cacheMarks: 'none',
  cacheKey: false,
  rejectFields: [],
  thinkingForm: 'effort',
  budgetRange: [],
  maxEffortOnChat: true,
  toolsWhileThinking: 'always',
  namedToolChoice: true,
  reasoningFill: '',
  contentLists: true,
  lateSystem: 'system',
  strictArguments: false,
  imageUrl: true,
  pdfInput: true,
  imageDetail: 'usual',
  responseFormats: ['json_schema', 'json_object'],
  formatsWithTools: true,
  jsonWord: false,
  maxStop: 4,
  additionalTools: false,
  minOutput: 1,
  serverTools: false,
  requestTags: false,
  promptCache: 'off',
  minCacheTokens: 1024,
  rejectsSampling: false,
  samplingWhileThinking: false,
  oneSamplingParameter: false,
  maxTemperature: 2,
  thinkingBudget: true,
  thinkingAdaptive: false,
  thinkingOff: 'always',
  thinksByDefault: false,
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  forcedTools: 'not_thinking',
  schemaRoot: 'any',
  prefill: true,
  lastRole: 'any',
  midSystem: false,
};

/** Abilities and the cache, which change no body that is relayed. */
const NOT_OF_THE_BODY: ReadonlySet<string> = new Set([
  'speaks',
  'vision',
  'documents',
  'audio',
  'tools',
  'structuredOutput',
  'contextWindow',
  'longContextWindow',
  'imageUrl',
  'pdfInput',
  'serverTools',
  'requestTags',
  'promptCache',
  'minCacheTokens',
  'additionalTools',
]);

/** Whether anything is known that a target refuses: nothing of a relayed body is changed on a guess. */
export function refusesSomething(traits: Traits): boolean {
  for (const name in traits) {
    const member = name as keyof Traits;
    if (!NOT_OF_THE_BODY.has(name) && !isDefault(traits[member], DEFAULT_TRAITS[member])) return true;
  }
  return false;
}

/** Lists are joined from several rows, so an empty one is made anew. */
function isDefault(value: unknown, usual: unknown): boolean {
  return value === usual || (Array.isArray(value) && Array.isArray(usual) && value.join() === usual.join());
}

// What a request asks of a model: found while it is validated, compared with what a target can do when it is routed.

export interface Needs {
  image: boolean;
  document: boolean;
  audio: boolean;
  tools: boolean;
  thinking: boolean;
  structuredOutput: boolean;
  serverTools: boolean;
}

export const NO_NEEDS: Needs = {
  image: false,
  document: false,
  audio: false,
  tools: false,
  thinking: false,
  structuredOutput: false,
  serverTools: false,
};
