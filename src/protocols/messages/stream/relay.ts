// Looks at frames that are relayed as they came. Nearly all of them are deltas, known by their event name: those cost nothing
// more; JSON is parsed only where usage, a stop reason or an error can be.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { ProviderFailure } from '../../../errors.ts';
import type { RelayedFrame, RelayInspector } from '../../protocol.ts';
import type { Frame } from '../../sse/splitter.ts';
import { closesObject, strayObject } from '../../sse/stray-json.ts';
import { failureOfEvent, readFailure } from '../errors.ts';
import { createSpliceWatch, SPLICED } from './message-start.ts';
import { failureOfSilence, failureOfStop, isStop } from '../reply/stop-reason.ts';
import { list, parseObject } from '../wire-types.ts';
import { readUsage, toUsage, type UsageTally } from '../reply/usage.ts';

const NOTHING: RelayedFrame = Object.freeze({});

/** Inside a JSON string the quotes are escaped, so that these match members only. A start is looked at for its id and its stop. */
const MARKS = /"usage"\s*:\s*\{|"stop_reason"\s*:\s*"|"error"|"message_st(?:op|art)"/;

/** The same of several frames, the terminal event and the event `error` included. */
const WORTH_SPLITTING = /usage"\s*:\s*\{|stop_reason"\s*:\s*"|error|message_st/;

export function isQuiet(text: string): boolean {
  return !WORTH_SPLITTING.test(text) && areBlocks(text);
}

/** The beginning of a frame that is part of a block, or a ping. */
const OF_BLOCK = /(?:event: ?|data: ?\{"type": ?")(?:content_block_|ping)/y;
const CLOSE = 125;

/** `event: content_block_`, by three of its characters: a fifth of the time of a comparison. */
function isUsual(text: string, at: number): boolean {
  return text.charCodeAt(at) === 101 && text.charCodeAt(at + 7) === 99 && text.charCodeAt(at + 20) === 95;
}

/** Each frame in `text` is such a one, and ends as an object does. */
function areBlocks(text: string): boolean {
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n\n', at);
    if (text.charCodeAt(end - 1) !== CLOSE) return false;
    if (!isUsual(text, at)) {
      OF_BLOCK.lastIndex = at;
      if (!OF_BLOCK.test(text)) return false;
    }
    at = end + 2;
  }
  return true;
}

/** A ping says nothing, and what an event that is not known here holds is its own matter. */
const MUST_BE_JSON: ReadonlySet<string> = new Set([
  '',
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
]);

/** Data that is no object in a frame that must hold one. Some servers end with chat's last frame, which is no harm. */
export function isUnreadable({ data, event }: Frame): boolean {
  return MUST_BE_JSON.has(event) && data !== '' && data.trim() !== '[DONE]';
}

export function isBroken(frame: Frame): boolean {
  return isUnreadable(frame) && parseObject(frame.data) === undefined;
}

/** With an event's name or without. What an event that is not known here says is its own matter. */
export function isError(value: JsonObject, event: string): boolean {
  const { type, error, detail, message, success } = value;
  if (type === 'error' || (error !== undefined && error !== null)) return true;
  return event === '' && (typeof message === 'string' || Boolean(detail) || success === false);
}

/** The error that a frame holds beside its data. */
export function failureOfStray(frame: Frame): ProviderFailure | undefined {
  const value = strayObject(frame);
  return value !== undefined && isError(value, '') ? readFailure(value) : undefined;
}

/** What a watch remembers of its stream. */
interface Memory {
  tally: UsageTally;
  isSpliced: (message: unknown) => boolean;
}

function sight(value: JsonObject, event: string, { tally, isSpliced }: Memory): RelayedFrame {
  if (isError(value, event)) return { failure: readFailure(value) };
  if (value.type === 'message_stop') return { terminal: true };
  const sighting: RelayedFrame = {};
  const { delta, message } = value;
  if (isSpliced(message)) return { failure: SPLICED };
  const usage = isObject(message) ? message.usage : value.usage;
  if (isObject(usage)) {
    readUsage(tally, usage);
    const told = toUsage(tally);
    if (told !== undefined) sighting.usage = told;
  }
  // An answer that was ready at once stands in its start, with its stop.
  const ended = isObject(message) ? message : delta;
  if (isObject(ended) && isStop(ended.stop_reason)) {
    const failure = failureOfStop(ended.stop_reason);
    if (failure !== undefined) return { ...sighting, failure };
    sighting.stopped = true;
    const silence = hasContent(message) ? undefined : failureOfSilence(ended.stop_reason);
    if (silence !== undefined) sighting.silence = silence;
  }
  return sighting;
}

export const MALFORMED: ProviderFailure = {
  kind: 'failed',
  message: "the provider's stream holds an event that is not JSON",
  reason: 'malformed',
};

/** A frame without a name must be of a block, or is looked into: it may be an error. */
function isHarmless({ text, event }: Frame): boolean {
  if (MARKS.test(text)) return false;
  if (event !== '') return closesObject(text);
  return text.includes('"content_block_') && closesObject(text);
}

function look(frame: Frame, memory: Memory): RelayedFrame {
  const failure = failureOfStray(frame);
  if (failure !== undefined) return { failure };
  if (frame.data === '' || isHarmless(frame)) return NOTHING;
  const value = parseObject(frame.data);
  if (value !== undefined) return sight(value, frame.event, memory);
  return isUnreadable(frame) ? { failure: MALFORMED } : NOTHING;
}

export function createWatch(): RelayInspector {
  const memory: Memory = { tally: {}, isSpliced: createSpliceWatch() };
  return (frame) => {
    switch (frame.event) {
      case 'content_block_delta':
      case 'content_block_start':
      case 'content_block_stop':
        return closesObject(frame.text) || !isBroken(frame) ? NOTHING : { failure: MALFORMED };
      case 'ping':
        return NOTHING;
      case 'message_stop': {
        const failure = failureOfStray(frame);
        return failure === undefined ? { terminal: true } : { failure };
      }
      case 'error':
        return { failure: failureOfEvent(frame.data) };
      default:
        return look(frame, memory);
    }
  };
}

function isEmptyBlock(block: unknown): boolean {
  if (!isObject(block)) return true;
  return (
    (block.type === 'text' && !block.text) ||
    (block.type === 'thinking' && !block.thinking && !block.signature)
  );
}

function hasContent(message: unknown): boolean {
  return isObject(message) && list(message.content).some((block) => !isEmptyBlock(block));
}

function isEmptyDelta(delta: unknown): boolean {
  if (!isObject(delta)) return true;
  return (delta.text ?? delta.thinking ?? delta.partial_json) === '';
}

/** `false` for what is worth nothing before content comes: another target can still answer instead. */
export function commits(frame: Frame): boolean {
  if (frame.event === 'error') return true;
  if (frame.data === '') return false;
  const value = parseObject(frame.data);
  if (value === undefined) return false;
  switch (typeof value.type === 'string' ? value.type : frame.event) {
    case 'message_start':
      return hasContent(value.message) || (isObject(value.message) && isStop(value.message.stop_reason));
    case 'content_block_start':
      return !isEmptyBlock(value.content_block);
    case 'content_block_delta':
      return !isEmptyDelta(value.delta);
    case 'message_delta':
      return isObject(value.delta) && isStop(value.delta.stop_reason);
    default:
      return isError(value, frame.event);
  }
}
