// What the gateway reads of a chat request, relayed or not: its envelope, and what routing and recording ask of it. On the path of
// every request: one shallow pass, no schema library. Only what the gateway itself relies on is checked here: all else is the provider's to judge.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { NO_NEEDS, type Needs } from '../../../canonical/traits.ts';
import { ANSWERS_LATER, readModelName, refuse } from '../../shared/client.ts';
import type { BodyReading, Envelope, Hints } from '../../interface/bodies.ts';
import type { JsonNode } from '../../json/body.ts';
import { isName, keptIn, typeOf } from '../../shared/kept.ts';
import { beginningOf, keyAlone, lastTurn, estimateBody, sessionIn } from '../../shared/hints.ts';
import { steps } from '../steps.ts';

const ROLES: ReadonlySet<unknown> = new Set(['developer', 'system', 'user', 'assistant', 'tool', 'function']);

export function readEnvelope(body: BodyReading): Envelope {
  const { value } = body;
  const model = readModelName(value);
  const needs: Needs = {
    ...NO_NEEDS,
    tools: isFilled(body.member('tools')) || isFilled(body.member('functions')),
    thinking: asksToThink(value),
    structuredOutput: asksForStructure(value.response_format),
    serverTools: isObject(value.web_search_options),
  };
  const found: Found = { needs, kept: keptBeside(body) };
  readMessages(body, found);
  if (Array.isArray(value.modalities) && value.modalities.includes('audio')) needs.audio = true;
  checkOptions(body);
  // xAI answers with a number under which the answer can be fetched later.
  if (value.deferred === true) refuse('deferred', ANSWERS_LATER);
  return { model, stream: value.stream === true, needs, kept: found.kept };
}

/** What is noted while the body is read. */
interface Found {
  needs: Needs;
  /** The path of the first member that names what a provider keeps. */
  kept: string | undefined;
}

/** Their schemas may have members of any name. */
const DEFINED_BY_CLIENT: ReadonlySet<unknown> = new Set([undefined, 'function', 'custom']);

/** Tools that the provider runs, and a prompt that Gemini keeps. */
function keptBeside(body: BodyReading): string | undefined {
  const { cached_content: cached, extra_body: extra } = body.value;
  if (isName(cached)) return 'cached_content';
  const google = isObject(extra) ? extra.google : undefined;
  if (isObject(google) && isName(google.cached_content)) return 'extra_body.google.cached_content';
  for (const [at, tool] of body.list('tools')?.entries() ?? []) {
    if (!tool.isObject || DEFINED_BY_CLIENT.has(typeOf(tool))) continue;
    const found = keptIn(tool.value, `tools[${at}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Types of parts that say what is needed; all others are skipped. */
const TELLING = ['image_url', 'file', 'input_audio'];

function readMessages(body: BodyReading, found: Found): void {
  const messages = body.list('messages');
  if (messages === undefined) refuse('messages', 'must be an array');
  if (messages.length === 0) refuse('messages', 'must not be empty');
  const isTelling = TELLING.some((type) => body.types.has(type));
  const isSpoken = body.hasName('audio');
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i];
    if (message?.isObject !== true) refuse(`messages[${i}]`, 'must be an object');
    const role = message.textOf('role');
    if (!ROLES.has(role)) {
      refuse(`messages[${i}].role`, `must be one of ${[...ROLES].join(', ')}`);
    }
    const content = message.get('content');
    if (content?.isList === true) {
      if (isTelling) readParts(content.items(), found, i);
    } else if (content?.isText !== true) checkNoContent(message, content, i);
    const audio = isSpoken ? message.get('audio') : undefined;
    if (audio === undefined || audio.isNull) continue;
    found.needs.audio = true;
    // An answer that was spoken, by its name.
    if (isName(audio.get('id')?.value)) found.kept ??= `messages[${i}].audio.id`;
  }
}

function checkNoContent(message: JsonNode, content: JsonNode | undefined, i: number): void {
  const where = `messages[${i}].content`;
  if (content !== undefined && !content.isNull) refuse(where, 'must be a string or an array');
  const role = message.textOf('role');
  const instead =
    role === 'function' ||
    (role === 'assistant' &&
      (isFilled(message.get('tool_calls')) ||
        message.get('function_call')?.isObject === true ||
        message.get('refusal')?.isText === true ||
        message.get('audio')?.isObject === true));
  if (!instead)
    refuse(
      where,
      'must be a string or an array (null only where the assistant calls tools or refuses, and in a function message)',
    );
}

function readParts(parts: readonly JsonNode[], found: Found, message: number): void {
  const { needs } = found;
  for (const [at, part] of parts.entries()) {
    const type = part.textOf('type');
    if (type === 'image_url') needs[isPdf(part.get('image_url')) ? 'document' : 'image'] = true;
    else if (type === 'file') {
      needs.document = true;
      const inner = part.get('file');
      const file = inner?.isObject === true ? inner : part;
      if (isName(file.get('file_id')?.value))
        found.kept ??= `messages[${message}].content[${at}].file.file_id`;
    } else if (type === 'input_audio') needs.audio = true;
  }
}

/** Some clients send a PDF in the form of an image. */
function isPdf(image: JsonNode | undefined): boolean {
  const url = image?.isObject === true ? image.get('url') : image;
  return url?.startsWith('data:application/pdf') === true;
}

function isFilled(list: JsonNode | undefined): boolean {
  return list?.isList === true && !list.isEmpty;
}

function asksForStructure(format: JsonValue | undefined): boolean {
  return isObject(format) && (format.type === 'json_schema' || format.type === 'json_object');
}

/** Any form of a client's request for thinking. */
function asksToThink(value: JsonObject): boolean {
  const { reasoning_effort: effort, reasoning, thinking, chat_template_kwargs: kwargs } = value;
  if (typeof effort === 'string') return effort !== 'none';
  if (isObject(effort)) return effort.effort !== 'none';
  if (isObject(reasoning)) return reasoning.enabled !== false && reasoning.effort !== 'none';
  if (isObject(thinking)) return thinking.type !== 'disabled';
  if (value.enable_thinking === true) return true;
  if (value.think === true || (typeof value.think === 'string' && value.think !== 'none')) return true;
  if (typeof value.thinking_budget === 'number') return value.enable_thinking !== false;
  return isObject(kwargs) && kwargs.enable_thinking === true;
}

type Check = (value: JsonValue) => boolean;

function between(low: number, high: number): Check {
  return (value) => typeof value === 'number' && value >= low && value <= high;
}

const isWholePositive: Check = (value) => Number.isInteger(value) && Number(value) >= 1;

const OPTIONS: readonly (readonly [name: string, check: Check, message: string])[] = [
  ['stream', (value) => typeof value === 'boolean', 'must be true or false'],
  ['tools', Array.isArray, 'must be an array'],
  ['tool_choice', (value) => typeof value === 'string' || isObject(value), 'must be a string or an object'],
  ['top_p', between(0, 1), 'must be a number from 0 to 1'],
  ['temperature', between(0, 2), 'must be a number from 0 to 2'],
  ['frequency_penalty', between(-2, 2), 'must be a number from -2 to 2'],
  ['presence_penalty', between(-2, 2), 'must be a number from -2 to 2'],
  ['max_tokens', isWholePositive, 'must be a whole number, at least 1'],
  ['max_completion_tokens', isWholePositive, 'must be a whole number, at least 1'],
  ['n', isWholePositive, 'must be a whole number, at least 1'],
  [
    'stop',
    (value) =>
      typeof value === 'string' || (Array.isArray(value) && value.every((stop) => typeof stop === 'string')),
    'must be a string or an array of strings',
  ],
];

function checkOptions(body: BodyReading): void {
  for (const [name, check, message] of OPTIONS) {
    const option = name === 'tools' && body.list(name) !== undefined ? [] : body.value[name];
    if (option !== undefined && option !== null && !check(option)) refuse(name, message);
  }
}

export function asksForUsage({ stream_options: options }: JsonObject): boolean {
  return isObject(options) && options.include_usage === true;
}

export const hints: Hints = {
  estimate: estimateBody,
  names: (value) => sessionIn(value.metadata) ?? keyAlone(value),
  beginning: (body) => beginningOf('', body.list('messages')),
  steps,
  hasOpenToolTurn(body) {
    const role = lastTurn(body.list('messages'))?.textOf('role');
    return role === 'tool' || role === 'function';
  },
  asksForUsage,
};
