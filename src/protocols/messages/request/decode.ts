// A client's request as the canonical one. Nothing is defaulted and nothing is lost: what has no canonical name becomes a
// native field with the fate that the ledger gives it.
import { withoutAttribution } from '../../shared/hints.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import {
  type Effort,
  type Message,
  type NativeField,
  type Offer,
  type Reasoning,
  type GenerationRequest,
  type ResponseFormat,
} from '../../../canonical/request.ts';
import { isReordered, keepSource, type ArgumentsPath, type Source } from '../../json/raw-json.ts';
import { isEffort } from '../../shared/effort.ts';
import type { ReplyOptions } from '../../interface/answer.ts';
import type { BodyReading } from '../../interface/bodies.ts';
import { decodeCache, decodeParts } from './decode-content.ts';
import { refuse } from '../../shared/client.ts';
import { addNativeFields, nativeField } from '../fields.ts';
import { addUnlikeInputs } from '../reply/decode.ts';
import { count, list, text } from '../wire-types.ts';
import { toolAdditions } from './envelope.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';

function decodeSystem(system: JsonValue | undefined, native: NativeField[]): Message[] {
  const parts = decodeParts(system, () => 'system', native).flatMap((part) => {
    const rest = part.type === 'text' ? withoutAttribution(part.text) : undefined;
    if (part.type !== 'text' || rest === undefined || rest === part.text) return [part];
    native.push({ ...nativeField('system[]', part.text, 'system'), fate: 'quiet' });
    return rest === '' ? [] : [{ ...part, text: rest }];
  });
  return parts.length === 0 ? [] : [{ role: 'system', parts }];
}

function decodeMessage(value: JsonValue, index: number, native: NativeField[]): Message {
  if (!isObject(value)) return refuse(`messages[${index}]`, 'must be an object');
  const { role } = value;
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    return refuse(`messages[${index}].role`, 'must be "user", "assistant" or "system"');
  }
  addNativeFields(native, value, 'messages[].');
  if (isObject(value.output_config))
    addNativeFields(native, value.output_config, 'messages[].output_config.');
  return { role, parts: decodeParts(value.content, () => `messages[${index}].content`, native) };
}

/** Its text was for the user's turn before it alone: the provider itself no longer shows it to the model. */
function isCleared(turn: JsonValue): boolean {
  return isObject(turn) && turn.role === 'system' && turn.clear_at === 'next_user_message';
}

const MODES = {
  enabled: 'on',
  adaptive: 'adaptive',
  disabled: 'off',
  between_tools: 'between_tools',
} as const satisfies Record<string, Reasoning['mode']>;

function isMode(value: unknown): value is keyof typeof MODES {
  return typeof value === 'string' && Object.hasOwn(MODES, value);
}

function decodeReasoning(value: JsonObject, native: NativeField[]): Reasoning | undefined {
  const { thinking, output_config: output } = value;
  const reasoning: Reasoning = {};
  if (isObject(thinking)) {
    addNativeFields(native, thinking, 'thinking.');
    if (isMode(thinking.type)) reasoning.mode = MODES[thinking.type];
    else native.push(nativeField('thinking', thinking));
    const budget = count(thinking.budget_tokens);
    const display = text(thinking.display);
    if (budget !== undefined) reasoning.budgetTokens = budget;
    if (display !== undefined) reasoning.display = display;
    if (display === 'omitted') reasoning.hidden = true;
  }
  if (isObject(output) && output.effort !== undefined && output.effort !== null) {
    if (isEffort(output.effort)) reasoning.effort = output.effort;
    else native.push(nativeField('output_config.effort', output.effort));
  }
  const later = laterEffort(value.messages);
  if (later !== undefined) reasoning.effort = later;
  // Claude Code sends one budget for all, and beside it the effort that its user chose.
  if (reasoning.effort !== undefined) delete reasoning.budgetTokens;
  return Object.keys(reasoning).length === 0 ? undefined : { ...reasoning, ofAnswer: true };
}

/** System messages change the effort on the way: the newest holds. */
function laterEffort(messages: JsonValue | undefined): Effort | undefined {
  const turn = list(messages).findLast(
    (one) =>
      isObject(one) &&
      one.role === 'system' &&
      isObject(one.output_config) &&
      isEffort(one.output_config.effort),
  );
  const effort = isObject(turn) && isObject(turn.output_config) ? turn.output_config.effort : undefined;
  return effort !== undefined && isEffort(effort) ? effort : undefined;
}

function decodeFormat(value: JsonObject, native: NativeField[]): ResponseFormat | undefined {
  const { output_config: output, output_format: legacy } = value;
  const current = isObject(output) ? output.format : undefined;
  const [format, path] =
    current === undefined || current === null ? [legacy, 'output_format'] : [current, 'output_config.format'];
  if (format === undefined || format === null) return undefined;
  if (isObject(format) && format.type === 'json_schema' && isObject(format.schema)) {
    const result: ResponseFormat = { type: 'json_schema', schema: format.schema, strict: 'open', at: path };
    const name = text(format.name);
    if (name !== undefined) result.name = name;
    const unread: NativeField[] = [];
    addNativeFields(unread, format, 'output_config.format.');
    for (const field of unread) native.push(nativeField(`${path}.${field.name}`, field.value, field.name));
    return result;
  }
  native.push(nativeField(path, format));
  return undefined;
}

function decodeLimits(value: JsonObject, request: GenerationRequest): void {
  const { max_tokens: limit, temperature, top_p: topP, top_k: topK, stop_sequences: stop } = value;
  if (typeof limit === 'number') request.maxOutputTokens = limit;
  if (typeof temperature === 'number') request.temperature = temperature;
  if (typeof topP === 'number') request.topP = topP;
  if (typeof topK === 'number') request.topK = topK;
  const stops = list(stop).filter((item) => typeof item === 'string');
  if (stops.length > 0) request.stop = stops;
}

/** In the words of the other protocols. */
const TIERS: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['standard_only', 'default'],
]);

function decodeOptions(value: JsonObject, request: GenerationRequest): void {
  const { metadata, output_config: output, service_tier: tier } = value;
  if (isObject(metadata)) {
    addNativeFields(request.native, metadata, 'metadata.');
    const user = text(metadata.user_id);
    if (user !== undefined) {
      request.user = user;
      // Agents name their session in it.
      request.cacheKey = { value: user, from: 'session' };
    }
  }
  if (isObject(output)) addNativeFields(request.native, output, 'output_config.');
  if (typeof tier === 'string') {
    const known = TIERS.get(tier);
    if (known === undefined) request.native.push(nativeField('service_tier', tier));
    else request.serviceTier = known;
  }
  const cache = decodeCache(value.cache_control);
  if (cache !== undefined) request.cache = cache;
  const reasoning = decodeReasoning(value, request.native);
  if (reasoning !== undefined) request.reasoning = reasoning;
  const format = decodeFormat(value, request.native);
  if (format !== undefined) request.responseFormat = format;
}

/** Each field once: a hundred blocks with the same unknown member are one report. */
function distinct(fields: NativeField[]): NativeField[] {
  if (fields.length < 2) return fields;
  const seen = new Set<string>();
  return fields.filter((field) => !seen.has(field.path) && seen.add(field.path));
}

export function readAsked({ value }: BodyReading): ReplyOptions {
  const { thinking, output_config, output_format } = value;
  const asked: JsonObject = { thinking, output_config, output_format };
  return {
    includeUsage: true,
    reasoning: decodeReasoning(asked, []),
    responseFormat: decodeFormat(asked, []),
  };
}

export function readOffer(body: BodyReading): Offer {
  const { tools, tool_choice, output_config, output_format } = body.value;
  const messages = toolAdditions(body).map(({ value }) => ({ role: 'user', content: [value] }));
  return decodeRequest({ tools, tool_choice, output_config, output_format, messages });
}

/** Arguments are text from here on: the text that they were sent as. Schemas keep their order. */
function keepWritten(value: JsonObject, source: Source): void {
  const places: ArgumentsPath[] = [];
  const messages = list(value.messages);
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (!isObject(message) || message.role !== 'assistant' || !Array.isArray(message.content)) continue;
    addUnlikeInputs(places, message.content, () => ['messages', index, 'content']);
  }
  for (const [index, tool] of list(value.tools).entries()) {
    if (!isObject(tool) || !isReordered(tool.input_schema)) continue;
    places.push({ holder: tool, name: 'input_schema', steps: ['tools', index] });
  }
  keepSource(source, places);
}

export function decodeRequest(value: JsonObject, source?: Source): GenerationRequest {
  if (source !== undefined) keepWritten(value, source);
  const native: NativeField[] = [];
  addNativeFields(native, value, '');
  const messages = decodeSystem(value.system, native);
  const turns = list(value.messages);
  const lastUser = turns.findLastIndex((turn) => isObject(turn) && turn.role === 'user');
  turns.forEach((turn, index) => {
    if (index > lastUser || !isCleared(turn)) messages.push(decodeMessage(turn, index, native));
  });
  const request: GenerationRequest = {
    protocol: 'messages',
    model: text(value.model) ?? '',
    stream: value.stream === true,
    includeUsage: true,
    messages,
    marksCache: true,
    native,
  };
  decodeLimits(value, request);
  decodeTools(value, request);
  decodeToolChoice(value, request);
  decodeOptions(value, request);
  request.native = distinct(request.native);
  return request;
}
