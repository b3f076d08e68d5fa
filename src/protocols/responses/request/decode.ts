// A responses request as the canonical one. Nothing is defaulted and nothing is lost: what has no canonical name becomes a native
// field with the fate that the ledger gives it.
import { isObject, type JsonObject, type JsonValue, nonEmpty } from '../../../canonical/json.ts';
import type {
  GenerationRequest,
  Message,
  NativeField,
  Offer,
  Reasoning,
  ResponseFormat,
} from '../../../canonical/request.ts';
import { isReordered, keepSource, mayDiffer, type ArgumentsPath, type Source } from '../../json/raw-json.ts';
import type { ReplyOptions } from '../../interface/answer.ts';
import type { BodyReading } from '../../interface/bodies.ts';
import { isEffort } from '../../shared/effort.ts';
import { addNativeFields, nativeField } from '../fields.ts';
import { decodeInput } from './decode-input.ts';
import { decodeToolChoice, decodeTools, decodeWebSearch } from './decode-tools.ts';
import { bringsTools, hasToolItems, directoryOf, itemsWithTools, readToolLists } from './tools.ts';

/** Arguments that are sent as objects are text from here on: the text that they were sent as. Schemas keep their order. */
function keepWritten({ tools, input }: JsonObject, source: Source): void {
  const places: ArgumentsPath[] = [];
  addSchemas(places, tools, ['tools']);
  for (const [index, item] of (Array.isArray(input) ? input : []).entries()) {
    if (!isObject(item)) continue;
    const steps = ['input', index];
    if (mayDiffer(item.arguments)) places.push({ holder: item, name: 'arguments', steps });
    addSchemas(places, item.tools, [...steps, 'tools']);
  }
  keepSource(source, places);
}

/** Of tools and of the tools of namespaces. */
function addSchemas(
  places: ArgumentsPath[],
  tools: JsonValue | undefined,
  steps: ArgumentsPath['steps'],
): void {
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries()) {
    if (!isObject(tool)) continue;
    const way = [...steps, index];
    if (isReordered(tool.parameters)) places.push({ holder: tool, name: 'parameters', steps: way });
    addSchemas(places, tool.tools, [...way, 'tools']);
  }
}

export function decodeRequest(value: JsonObject, source?: Source): GenerationRequest {
  if (source !== undefined) keepWritten(value, source);
  const native: NativeField[] = [];
  addNativeFields(native, value, '');
  const lists = readToolLists(value);
  const directory = directoryOf(lists.own);
  const request: GenerationRequest = {
    protocol: 'responses',
    model: nonEmpty(value.model) ?? '',
    stream: value.stream === true,
    includeUsage: true,
    messages: [...decodeInstructions(value), ...decodeInput(value, directory, native)],
    asked: askedOf(value, itemsWithTools(value.input)),
    native,
  };
  decodeLimits(value, request);
  decodeTools(lists, directory, request);
  decodeWebSearch(lists, value, request);
  decodeToolChoice(value.tool_choice, lists, directory, request);
  decodeIdentity(value, request);
  if (isObject(value.stream_options)) addNativeFields(native, value.stream_options, 'stream_options.');
  const reasoning = decodeReasoning(value.reasoning, native);
  if (reasoning !== undefined) request.reasoning = reasoning;
  const format = decodeText(value.text, native);
  if (format !== undefined) request.responseFormat = format;
  request.native = distinct(native);
  return request;
}

/** Each field once: a hundred items with the same unknown member are one report. */
function distinct(fields: NativeField[]): NativeField[] {
  if (fields.length < 2) return fields;
  const seen = new Set<string>();
  return fields.filter(({ path }) => !seen.has(path) && seen.add(path));
}

/** The items of the input that bring tools. */
function toolItems(body: BodyReading): JsonValue[] {
  if (!hasToolItems(body.types)) return [];
  const items = body.list('input') ?? [];
  return items.filter((item) => bringsTools(item.textOf('type'))).map(({ value }) => value);
}

export function readOffer(body: BodyReading): Offer {
  const { tools, tool_choice, text } = body.value;
  return decodeRequest({ tools, tool_choice, text, input: toolItems(body) });
}

function decodeInstructions({ instructions }: JsonObject): Message[] {
  const text = nonEmpty(instructions);
  return text === undefined ? [] : [{ role: 'system', parts: [{ type: 'text', text }] }];
}

function decodeLimits(value: JsonObject, request: GenerationRequest): void {
  const { max_output_tokens: limit, temperature, top_p: topP, parallel_tool_calls: parallel } = value;
  if (typeof limit === 'number') request.maxOutputTokens = limit;
  if (typeof temperature === 'number') request.temperature = temperature;
  if (typeof topP === 'number') request.topP = topP;
  if (typeof parallel === 'boolean') request.parallelToolCalls = parallel;
}

function decodeIdentity(value: JsonObject, request: GenerationRequest): void {
  const user = nonEmpty(value.safety_identifier) ?? nonEmpty(value.user);
  const tier = nonEmpty(value.service_tier);
  const key = nonEmpty(value.prompt_cache_key);
  if (user !== undefined) request.user = user;
  if (tier !== undefined) request.serviceTier = tier;
  if (key !== undefined) request.cacheKey = { value: key, from: 'routine' };
}

/** A wish for a summary alone leaves the effort to the model. */
function decodeReasoning(value: JsonValue | undefined, native: NativeField[]): Reasoning | undefined {
  if (!isObject(value)) return undefined;
  addNativeFields(native, value, 'reasoning.');
  const { effort } = value;
  if (isEffort(effort)) return effort === 'none' ? { effort, mode: 'off' } : { effort };
  if (effort !== undefined && effort !== null) native.push(nativeField('reasoning.effort', effort));
  return undefined;
}

const FORMAT = 'text.format';

function decodeText(value: JsonValue | undefined, native: NativeField[]): ResponseFormat | undefined {
  if (!isObject(value)) return undefined;
  addNativeFields(native, value, 'text.');
  const { format } = value;
  if (!isObject(format)) return undefined;
  const { type, name, description, schema, strict } = format;
  if (type === 'text') return undefined;
  if (type !== 'json_object' && (type !== 'json_schema' || !isObject(schema))) {
    native.push(nativeField(FORMAT, format));
    return undefined;
  }
  addNativeFields(native, format, `${FORMAT}.`);
  if (type === 'json_object' || !isObject(schema)) return { type: 'json_object', at: FORMAT };
  const read: ResponseFormat = { type: 'json_schema', schema, at: FORMAT };
  if (typeof name === 'string') read.name = name;
  if (typeof description === 'string') read.description = description;
  if (typeof strict === 'boolean') read.strict = strict;
  return read;
}

/** What a Response repeats of its request. */
const REPEATED: ReadonlySet<string> = new Set([
  'background',
  'frequency_penalty',
  'include',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
]);

/** With the items of the input that bring tools: a directory can be made of it, as of the request. */
function askedOf(value: JsonObject, items: JsonValue[]): JsonObject {
  const asked: JsonObject = {};
  for (const name in value) if (REPEATED.has(name)) asked[name] = value[name];
  if (items.length > 0) asked.input = items;
  return asked;
}

export function readAsked(body: BodyReading): ReplyOptions {
  const { value } = body;
  const native: NativeField[] = [];
  return {
    includeUsage: true,
    reasoning: decodeReasoning(value.reasoning, native),
    responseFormat: decodeText(value.text, native),
    asked: askedOf(value, toolItems(body)),
  };
}
