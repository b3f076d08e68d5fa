// Looks at frames that are relayed as they came. Nearly all of them are deltas, known by their event name: those cost nothing
// more; JSON is parsed only where usage, a stop reason or an error can be.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { Sighting, Watch } from '../protocol.ts';
import type { Frame } from '../sse.ts';
import { readFailure } from './errors.ts';
import { readUsage, toUsage, type UsageTally } from './usage.ts';

const NOTHING: Sighting = Object.freeze({});

/** Inside a JSON string the quotes are escaped, so that these match members only. */
const MARKS = /"usage"\s*:\s*\{|"stop_reason"\s*:\s*"|"error"|"message_stop"/;

/** The same of several frames, the terminal event and the event `error` included. */
const WORTH_SPLITTING = /usage"\s*:\s*\{|stop_reason"\s*:\s*"|error|message_stop/;

export function isQuiet(text: string): boolean {
  return !WORTH_SPLITTING.test(text);
}

function parse(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function sight(value: JsonObject, tally: UsageTally): Sighting {
  if (value.type === 'error' || (value.error !== undefined && value.error !== null))
    return { failure: readFailure(value) };
  if (value.type === 'message_stop') return { terminal: true };
  const sighting: Sighting = {};
  const { delta, message } = value;
  const usage = isObject(message) ? message.usage : value.usage;
  if (isObject(usage)) {
    readUsage(tally, usage);
    const told = toUsage(tally);
    if (told !== undefined) sighting.usage = told;
  }
  if (isObject(delta) && typeof delta.stop_reason === 'string') sighting.stopped = true;
  return sighting;
}

export function createWatch(): Watch {
  const tally: UsageTally = {};
  return (frame) => {
    switch (frame.event) {
      case 'content_block_delta':
      case 'content_block_start':
      case 'content_block_stop':
      case 'ping':
        return NOTHING;
      case 'message_stop':
        return { terminal: true };
      default: {
        if (frame.data === '' || (frame.event !== 'error' && !MARKS.test(frame.text))) return NOTHING;
        const value = parse(frame.data);
        if (value !== undefined) return sight(value, tally);
        return frame.event === 'error' ? { failure: readFailure(frame.data) } : NOTHING;
      }
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

function isEmptyDelta(delta: unknown): boolean {
  if (!isObject(delta)) return true;
  return (delta.text ?? delta.thinking ?? delta.partial_json) === '';
}

/** `false` for what is worth nothing before content comes: another target can still answer instead. */
export function commits(frame: Frame): boolean {
  if (frame.data === '') return false;
  const value = parse(frame.data);
  const type = typeof value?.type === 'string' ? value.type : frame.event;
  switch (type) {
    case 'message_start':
    case 'ping':
    case 'content_block_stop':
      return false;
    case 'content_block_start':
      return !isEmptyBlock(value?.content_block);
    case 'content_block_delta':
      return !isEmptyDelta(value?.delta);
    default:
      return true;
  }
}
