// What the gateway reads of a chat request, relayed or not: its envelope, and what routing and recording ask of it. On the path of
// every request: one shallow pass, no schema library. Only what the gateway itself relies on is checked here: all else is the provider's to judge.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { NO_NEEDS, type Needs } from '../../../canonical/traits.ts';
import { ANSWERS_LATER, readModelName, refuse } from '../../shared/client.ts';
import type { Envelope, Hints } from '../../interface/bodies.ts';
import { isName, keptIn } from '../../shared/kept.ts';
import { beginningOf, keyAlone, lastTurn, estimateBody, sessionIn } from '../../shared/hints.ts';
import { steps } from '../steps.ts';

const ROLES: ReadonlySet<unknown> = new Set(['developer', 'system', 'user', 'assistant', 'tool', 'function']);

export function readEnvelope(value: JsonObject): Envelope {
  const model = readModelName(value);
  const needs: Needs = {
    ...NO_NEEDS,
    tools: isFilled(value.tools) || isFilled(value.functions),
    thinking: asksToThink(value),
    structuredOutput: asksForStructure(value.response_format),
    serverTools: isObject(value.web_search_options),
  };
  const found: Found = { needs, kept: keptBeside(value) };
  readMessages(value.messages, found);
  if (Array.isArray(value.modalities) && value.modalities.includes('audio')) needs.audio = true;
  checkOptions(value);
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
const DEFINED_BY_CLIENT: ReadonlySet<unknown> = new Set([undefined, null, 'function', 'custom']);

/** Tools that the provider runs, and a prompt that Gemini keeps. */
function keptBeside({ tools, cached_content: cached, extra_body: extra }: JsonObject): string | undefined {
  if (isName(cached)) return 'cached_content';
  const google = isObject(extra) ? extra.google : undefined;
  if (isObject(google) && isName(google.cached_content)) return 'extra_body.google.cached_content';
  if (!Array.isArray(tools)) return undefined;
  for (let at = 0; at < tools.length; at++) {
    const tool = tools[at];
    if (!isObject(tool) || DEFINED_BY_CLIENT.has(tool.type)) continue;
    const found = keptIn(tool, `tools[${at}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function readMessages(messages: JsonValue | undefined, found: Found): void {
  if (!Array.isArray(messages)) refuse('messages', 'must be an array');
  if (messages.length === 0) refuse('messages', 'must not be empty');
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i];
    if (!isObject(message)) refuse(`messages[${i}]`, 'must be an object');
    if (!ROLES.has(message.role)) {
      refuse(`messages[${i}].role`, `must be one of ${[...ROLES].join(', ')}`);
    }
    const { content, audio } = message;
    if (Array.isArray(content)) readParts(content, found, i);
    else if (typeof content !== 'string') checkNoContent(message, i);
    if (audio === undefined || audio === null) continue;
    found.needs.audio = true;
    // An answer that was spoken, by its name.
    if (isObject(audio) && isName(audio.id)) found.kept ??= `messages[${i}].audio.id`;
  }
}

function checkNoContent(message: JsonObject, i: number): void {
  const where = `messages[${i}].content`;
  const { content } = message;
  if (content !== undefined && content !== null) refuse(where, 'must be a string or an array');
  const instead =
    message.role === 'function' ||
    (message.role === 'assistant' &&
      (isFilled(message.tool_calls) ||
        isObject(message.function_call) ||
        typeof message.refusal === 'string' ||
        isObject(message.audio)));
  if (!instead)
    refuse(
      where,
      'must be a string or an array (null only where the assistant calls tools or refuses, and in a function message)',
    );
}

function readParts(parts: JsonValue[], found: Found, message: number): void {
  const { needs } = found;
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    if (!isObject(part)) continue;
    if (part.type === 'image_url') needs[isPdf(part.image_url) ? 'document' : 'image'] = true;
    else if (part.type === 'file') {
      needs.document = true;
      const file = isObject(part.file) ? part.file : part;
      if (isName(file.file_id)) found.kept ??= `messages[${message}].content[${at}].file.file_id`;
    } else if (part.type === 'input_audio') needs.audio = true;
  }
}

/** Some clients send a PDF in the form of an image. */
function isPdf(image: JsonValue | undefined): boolean {
  const url = isObject(image) ? image.url : image;
  return typeof url === 'string' && url.startsWith('data:application/pdf');
}

function isFilled(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0;
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

function checkOptions(value: JsonObject): void {
  for (const [name, check, message] of OPTIONS) {
    const option = value[name];
    if (option !== undefined && option !== null && !check(option)) refuse(name, message);
  }
}

export function asksForUsage({ stream_options: options }: JsonObject): boolean {
  return isObject(options) && options.include_usage === true;
}

export const hints: Hints = {
  estimate: estimateBody,
  names: (value) => sessionIn(value.metadata) ?? keyAlone(value),
  beginning: ({ messages }) => beginningOf('', messages),
  steps,
  hasOpenToolTurn({ messages }) {
    const last = lastTurn(messages);
    return isObject(last) && (last.role === 'tool' || last.role === 'function');
  },
  asksForUsage,
};
