// Decodes a chat request into the canonical form. No field disappears: one without a canonical name is carried as a native field, with
// the fate that the ledger assigns to it.
import { isObject, listed, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import {
  LOCATION_MEMBERS,
  type GenerationRequest,
  type Offer,
  type ResponseFormat,
} from '../../../canonical/request.ts';
import { isReordered, keepSource, type ArgumentsPath, type Source } from '../../json/raw-json.ts';
import { cacheMark } from './decode-content.ts';
import { addNativeFields, nativeField } from '../fields.ts';
import { decodeMessages } from './decode-messages.ts';
import { decodeReasoning, readsReasoning } from './reasoning.ts';
import type { ReplyOptions } from '../../interface/answer.ts';
import type { BodyReading } from '../../interface/bodies.ts';
import { addUnlikeArguments } from '../stream/tool-calls.ts';
import { applyLegacy, isLegacy, decodeToolChoice, decodeTools } from './decode-tools.ts';

/** Reads one member into the request; `false`: it can't be understood and is carried as a native field. */
type Reader = (value: JsonValue, request: GenerationRequest, root: JsonObject) => boolean;

const already: Reader = () => true;

function readNumber(put: (request: GenerationRequest, value: number) => void): Reader {
  return (value, request) => {
    if (typeof value !== 'number') return false;
    put(request, value);
    return true;
  };
}

function readText(put: (request: GenerationRequest, value: string) => void): Reader {
  return (value, request) => {
    if (typeof value !== 'string') return false;
    put(request, value);
    return true;
  };
}

/** An empty name counts as absent. */
function readName(put: (request: GenerationRequest, value: string) => void): Reader {
  return readText((request, value) => {
    if (value !== '') put(request, value);
  });
}

const readStop: Reader = (value, request) => {
  const stop = (Array.isArray(value) ? value : [value]).filter(
    (text): text is string => typeof text === 'string' && text !== '',
  );
  if (stop.length > 0) request.stop = stop;
  return true;
};

const readStreamOptions: Reader = (value, request) => {
  if (!isObject(value)) return false;
  addNativeFields(request.native, value, 'stream_options.');
  return true;
};

/** Members of an object that were not read, or that have the wrong type, are carried as native fields. */
function leave(
  source: JsonObject,
  path: string,
  read: Readonly<Record<string, (value: JsonValue) => boolean>>,
  request: GenerationRequest,
): void {
  for (const name in source) {
    const value = source[name];
    if (value === null || value === undefined) continue;
    if (Object.hasOwn(read, name) && read[name]?.(value) === true) continue;
    request.native.push(nativeField(`${path}.${name}`, value));
  }
}

const isText = (value: JsonValue): boolean => typeof value === 'string';
const SCHEMA_MEMBERS = {
  name: isText,
  description: isText,
  schema: isObject,
  strict: (value: JsonValue) => typeof value === 'boolean',
};

const FORMAT = 'response_format';
const JSON_OBJECT: ResponseFormat = { type: 'json_object', at: FORMAT };

function readSchema(source: JsonObject, schema: JsonObject): ResponseFormat {
  const format: ResponseFormat = { type: 'json_schema', schema, at: FORMAT };
  if (typeof source.name === 'string') format.name = source.name;
  if (typeof source.description === 'string') format.description = source.description;
  if (typeof source.strict === 'boolean') format.strict = source.strict;
  return format;
}

const readResponseFormat: Reader = (value, request) => {
  if (!isObject(value)) return false;
  const { type, json_schema: source } = value;
  if (type === 'json_schema' && isObject(source)) {
    // Without a schema all that is asked for is an object.
    request.responseFormat = isObject(source.schema) ? readSchema(source, source.schema) : JSON_OBJECT;
    leave(source, `${FORMAT}.json_schema`, SCHEMA_MEMBERS, request);
    leave(value, FORMAT, { type: isText, json_schema: isObject }, request);
    return true;
  }
  if (type !== 'json_object' && type !== 'text') return false;
  if (type === 'json_object') request.responseFormat = JSON_OBJECT;
  leave(value, FORMAT, { type: isText }, request);
  return true;
};

const PLACE_MEMBERS = {
  type: isText,
  ...Object.fromEntries(LOCATION_MEMBERS.map((name) => [name, isText])),
};

/** The official form nests them, some clients don't. */
function readPlace(place: JsonObject, request: GenerationRequest): JsonObject | undefined {
  const path = 'web_search_options.user_location';
  const nested = place.approximate;
  const source = isObject(nested) ? nested : place;
  const location: JsonObject = {};
  for (const name of LOCATION_MEMBERS) if (isText(source[name] ?? null)) location[name] = source[name];
  leave(source, source === place ? path : `${path}.approximate`, PLACE_MEMBERS, request);
  if (source !== place) leave(place, path, { type: isText, approximate: isObject }, request);
  return Object.keys(location).length === 0 ? undefined : location;
}

const readWebSearch: Reader = (value, request) => {
  if (!isObject(value)) return false;
  request.webSearch = {};
  const { search_context_size: size, user_location: place } = value;
  if (typeof size === 'string') request.webSearch.contextSize = size;
  const location = isObject(place) ? readPlace(place, request) : undefined;
  if (location !== undefined) request.webSearch.location = location;
  leave(value, 'web_search_options', { search_context_size: isText, user_location: isObject }, request);
  return true;
};

/** Keyed by wire name; members that are read together are marked where the first of them is. */
export const READERS: Readonly<Record<string, Reader | undefined>> = {
  model: already,
  messages: already,
  stream: already,
  stream_options: readStreamOptions,
  max_completion_tokens: readNumber((request, value) => (request.maxOutputTokens = value)),
  max_tokens: readNumber((request, value) => (request.maxOutputTokens ??= value)),
  temperature: readNumber((request, value) => (request.temperature = value)),
  top_p: readNumber((request, value) => (request.topP = value)),
  top_k: readNumber((request, value) => (request.topK = value)),
  stop: readStop,
  tools: already,
  functions: already,
  tool_choice: (value, request) => {
    request.toolChoice = decodeToolChoice(value);
    return true;
  },
  function_call: already,
  parallel_tool_calls: (value, request) => {
    if (typeof value !== 'boolean') return false;
    request.parallelToolCalls = value;
    return true;
  },
  reasoning_effort: already,
  reasoning: already,
  thinking: already,
  enable_thinking: already,
  chat_template_kwargs: already,
  thinking_budget: already,
  think: already,
  include_reasoning: already,
  cache_control: (value, request) => {
    const mark = cacheMark({ cache_control: value });
    if (mark === undefined) return false;
    request.cache = mark;
    return true;
  },
  response_format: readResponseFormat,
  safety_identifier: readName((request, value) => (request.user = value)),
  user: readName((request, value) => (request.user ??= value)),
  service_tier: readText((request, value) => (request.serviceTier = value)),
  prompt_cache_key: readText((request, value) => (request.cacheKey = { value, from: 'asked' })),
  web_search_options: readWebSearch,
};

export function readAsked({ value }: BodyReading): ReplyOptions {
  const { stream_options: options } = value;
  const asked: ReplyOptions = { includeUsage: isObject(options) && options.include_usage === true };
  if (isLegacy(value)) asked.legacyFunctions = true;
  const { reasoning } = decodeReasoning(value);
  if (reasoning) asked.reasoning = reasoning;
  if (readsReasoning(value)) asked.readsReasoning = true;
  return asked;
}

/** Arguments that are sent as objects are text from here on: the text that they were sent as. Schemas keep their order. */
function keepWritten({ messages, tools, functions }: JsonObject, source: Source): void {
  const places: ArgumentsPath[] = [];
  for (const [index, message] of listed(messages)) {
    if (message.role === 'assistant') addUnlikeArguments(places, message, () => ['messages', index]);
  }
  for (const [index, { function: func }] of listed(tools)) {
    if (!isObject(func) || !isReordered(func.parameters)) continue;
    places.push({ holder: func, name: 'parameters', steps: ['tools', index, 'function'] });
  }
  for (const [index, func] of listed(functions)) {
    if (!isReordered(func.parameters)) continue;
    places.push({ holder: func, name: 'parameters', steps: ['functions', index] });
  }
  keepSource(source, places);
}

export function readOffer({ value }: BodyReading): Offer {
  const { tools, functions, tool_choice, function_call, response_format } = value;
  return decodeRequest({ messages: [], tools, functions, tool_choice, function_call, response_format });
}

export function decodeRequest(value: JsonObject, source?: Source): GenerationRequest {
  if (source !== undefined) keepWritten(value, source);
  const options = value.stream_options;
  const request: GenerationRequest = {
    protocol: 'chat',
    model: typeof value.model === 'string' ? value.model : '',
    stream: value.stream === true,
    includeUsage: isObject(options) && options.include_usage === true,
    messages: decodeMessages(value.messages),
    native: [],
  };
  const tools = decodeTools(value.tools ?? null, value.functions);
  if (tools.length > 0) request.tools = tools;
  for (const name in value) {
    const member = value[name];
    if (member === null || member === undefined) continue;
    const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
    if (!read?.(member, request, value)) request.native.push(nativeField(name, member));
  }
  applyLegacy(value, request);
  const { reasoning, rest } = decodeReasoning(value);
  if (reasoning) request.reasoning = reasoning;
  if (readsReasoning(value)) request.readsReasoning = true;
  for (const [path, left] of rest) request.native.push(nativeField(path, left));
  return request;
}
