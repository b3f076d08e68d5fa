// A chat request as the canonical one. Nothing is lost: what has no canonical name rides along with the fate that the ledger gives it.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { Request, ResponseFormat } from '../../canonical/request.ts';
import { nativeField } from './ledger.ts';
import { decodeMessages } from './messages-decode.ts';
import { decodeReasoning } from './reasoning.ts';
import type { Asked } from '../protocol.ts';
import { applyLegacy, isLegacy, decodeToolChoice, decodeTools } from './tools.ts';

/** Reads one member into the request; `false`: it can't be understood, so that it goes on as a native field. */
type Reader = (value: JsonValue, request: Request, root: JsonObject) => boolean;

const already: Reader = () => true;

function readNumber(put: (request: Request, value: number) => void): Reader {
  return (value, request) => {
    if (typeof value !== 'number') return false;
    put(request, value);
    return true;
  };
}

function readText(put: (request: Request, value: string) => void): Reader {
  return (value, request) => {
    if (typeof value !== 'string') return false;
    put(request, value);
    return true;
  };
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
  for (const name in value) {
    const option = value[name];
    if (option === null || option === undefined || name === 'include_usage') continue;
    request.native.push(nativeField(`stream_options.${name}`, option));
  }
  return true;
};

function readFormat(value: JsonObject): ResponseFormat | undefined {
  if (value.type === 'json_object') return { type: 'json_object' };
  const source = value.json_schema;
  if (value.type !== 'json_schema' || !isObject(source)) return undefined;
  const format: ResponseFormat = {
    type: 'json_schema',
    schema: isObject(source.schema) ? source.schema : {},
  };
  if (typeof source.name === 'string') format.name = source.name;
  if (typeof source.description === 'string') format.description = source.description;
  if (typeof source.strict === 'boolean') format.strict = source.strict;
  return format;
}

const readResponseFormat: Reader = (value, request) => {
  if (!isObject(value)) return false;
  if (value.type === 'text') return true;
  const format = readFormat(value);
  if (format) request.responseFormat = format;
  return format !== undefined;
};

/** Where the user is comes in the members that both protocols have: `city`, `country`, `region`, `timezone`. */
const readWebSearch: Reader = (value, request) => {
  if (!isObject(value)) return false;
  request.webSearch = {};
  const { search_context_size: size, user_location: place, ...others } = value;
  if (typeof size === 'string') request.webSearch.contextSize = size;
  if (isObject(place)) {
    const flat: JsonObject = isObject(place.approximate) ? { ...place.approximate } : { ...place };
    delete flat.type;
    if (Object.keys(flat).length > 0) request.webSearch.location = flat;
  }
  for (const name in others) {
    const option = others[name];
    if (option === null || option === undefined) continue;
    request.native.push(nativeField(`web_search_options.${name}`, option));
  }
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
  response_format: readResponseFormat,
  safety_identifier: readText((request, value) => (request.user = value)),
  user: readText((request, value) => (request.user ??= value)),
  service_tier: readText((request, value) => (request.serviceTier = value)),
  prompt_cache_key: readText((request, value) => (request.cacheKey = value)),
  web_search_options: readWebSearch,
};

export function readAsked(value: JsonObject): Asked {
  const { stream_options: options } = value;
  const asked: Asked = { includeUsage: isObject(options) && options.include_usage === true };
  if (isLegacy(value)) asked.legacyFunctions = true;
  const { reasoning } = decodeReasoning(value);
  if (reasoning) asked.reasoning = reasoning;
  return asked;
}

export function decodeRequest(value: JsonObject): Request {
  const options = value.stream_options;
  const request: Request = {
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
  for (const [path, left] of rest) request.native.push(nativeField(path, left));
  return request;
}
