// Turns what compatible servers send into chat's own form before a decoder reads it: usage and errors in a vendor's member,
// reasoning under several names, zero values instead of absent members. If nothing is odd, the same object is returned.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { ProviderFailure } from '../../errors.ts';
import { type Frame, strayObject } from '../sse/frame.ts';
import { failureOf } from './errors.ts';
import { readItems, type ReasoningPiece } from './reply/reasoning.ts';
import { decodeUsage } from './reply/ending.ts';

/** Levels that are searched: no server's zero value is deeper. */
const DEPTH = 8;

/** Whether it holds anything but empty texts, 0 and false: servers written in Go send such values for members that they don't have. */
export function isFilled(value: JsonValue | undefined, depth = DEPTH): boolean {
  if (Array.isArray(value)) return depth === 0 || value.some((item) => isFilled(item, depth - 1));
  if (!isObject(value)) return Boolean(value);
  return depth === 0 || Object.values(value).some((member) => isFilled(member, depth - 1));
}

/** Whether a member is there: some servers send each of these instead of leaving it out. */
function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}

/** A chunk of a stream. Its choices have a `delta`. */
export function strictChunk(chunk: JsonObject): JsonObject {
  return strictAnswer(chunk, 'delta');
}

/** A whole reply. Its choices have a `message`. */
export function strictReply(reply: JsonObject): JsonObject {
  return strictAnswer(reply, 'message');
}

/** The error in a strict chunk or reply; undefined: it reports none. */
export function failureIn(value: JsonObject, status?: number): ProviderFailure | undefined {
  const { choices, error } = value;
  if (isGiven(error)) return failureOf(value, status);
  if (Array.isArray(choices) ? choices.length > 0 : isGiven(choices)) return undefined;
  const isBare =
    value.object === 'error' ||
    isGiven(value.detail) ||
    typeof value.message === 'string' ||
    value.success === false ||
    (isObject(value.base_resp) && isGiven(value.base_resp.status_code) && value.base_resp.status_code !== 0);
  return isBare ? failureOf(value, status) : undefined;
}

/** The error that a frame holds beside its data. */
export function failureOfStray(frame: Frame): ProviderFailure | undefined {
  const value = strayObject(frame);
  return value === undefined ? undefined : failureIn(strictChunk(value));
}

type Content = 'delta' | 'message';

function strictAnswer(value: JsonObject, content: Content): JsonObject {
  const { x_groq: vendor, error, choices } = value;
  // Groq stops a stream early with its reason there.
  if (isObject(vendor) && isGiven(vendor.error) && !isGiven(error)) return { error: vendor.error ?? null };
  const usage = misplacedUsage(value);
  const strict = usage === undefined ? value : { ...value, usage };
  if (!Array.isArray(choices)) return strict;
  const list = strictChoices(choices, content);
  return list === choices ? strict : { ...strict, choices: list };
}

/** Usage under Groq's own name, or in a choice (Moonshot's streams), if the standard member is absent. */
function misplacedUsage({ usage, x_groq: vendor, choices }: JsonObject): JsonValue | undefined {
  const [choice] = Array.isArray(choices) ? choices : [];
  const places = [
    isObject(vendor) ? vendor.usage : undefined,
    isObject(choice) ? choice.usage : undefined,
  ] as const;
  if ((!places[0] && !places[1]) || decodeUsage(usage) !== undefined) return undefined;
  return places.find((place) => decodeUsage(place) !== undefined);
}

function strictChoices(choices: JsonValue[], content: Content): JsonValue[] {
  let strict: JsonValue[] | undefined;
  for (let index = 0; index < choices.length; index++) {
    const choice = choices[index];
    if (!isObject(choice)) continue;
    const changed = strictChoice(choice, content);
    if (changed !== choice) (strict ??= [...choices])[index] = changed;
  }
  return strict ?? choices;
}

function strictChoice(choice: JsonObject, content: Content): JsonObject {
  // Some servers send an empty reason with every chunk.
  const strict = choice.finish_reason === '' ? { ...choice, finish_reason: null } : choice;
  const source = content === 'delta' ? (choice.delta ?? choice.message) : choice.message;
  if (!isObject(source)) return strict;
  const message = strictMessage(source);
  return message === choice[content] ? strict : { ...strict, [content]: message };
}

function strictMessage(message: JsonObject): JsonObject {
  const strict = strictReasoning(message);
  const zeros = ZEROS.filter((name) => isZero(message[name]));
  const { tool_calls: calls } = message;
  const hasZeroCalls = Array.isArray(calls) && calls.some(hasZeroCustom);
  if (zeros.length === 0 && !hasZeroCalls) return strict;
  const copy = without(strict, zeros);
  return hasZeroCalls ? { ...copy, tool_calls: calls.map(strictCall) } : copy;
}

const ZEROS = ['images', 'audio', 'extra_content', 'function_call'] as const;

function isZero(value: JsonValue | undefined): boolean {
  return typeof value === 'object' && value !== null && !isFilled(value);
}

function hasZeroCustom(call: JsonValue): boolean {
  return isObject(call) && isZero(call.custom);
}

function strictCall(call: JsonValue): JsonValue {
  return isObject(call) && isZero(call.custom) ? without(call, ['custom']) : call;
}

function without(value: JsonObject, names: readonly string[]): JsonObject {
  const copy = { ...value };
  for (const name of names) delete copy[name];
  return copy;
}

/** Plain text in `reasoning_content`, signed and sealed items in `reasoning_details`: also of a message in a request's history. */
export function strictReasoning(message: JsonObject): JsonObject {
  const {
    reasoning,
    thinking_blocks: blocks,
    reasoning_content: content,
    reasoning_details: details,
  } = message;
  if (!reasoning && !blocks) return message;
  const strict = without(message, ['reasoning', 'thinking_blocks']);
  const plain = content || reasoning;
  if (typeof plain === 'string') strict.reasoning_content = plain;
  if (blocks && isFuller(readItems(blocks), readItems(details))) strict.reasoning_details = blocks;
  return strict;
}

/** Some readers of streams keep the last pieces alone of what they don't know: the list with more seals is the one to read. */
function isFuller(blocks: readonly ReasoningPiece[], details: readonly ReasoningPiece[]): boolean {
  const more = seals(blocks) - seals(details);
  return more > 0 || (more === 0 && details.length === 0);
}

function seals(items: readonly ReasoningPiece[]): number {
  return items.filter(({ signature, redacted }) => signature !== undefined || redacted !== undefined).length;
}
