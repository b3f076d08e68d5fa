// JSON in a stream without `data:` before it. Readers of events ignore such lines, but servers that fail in mid-stream write their
// errors in this form, some with `error:` before it.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { Frame } from './frame.ts';

const BRACE = 123;
const FIELD = 'error:';
/** Where the stream goes on as it should. */
const NEXT_FIELD = /^(?:data|event|id|retry):/m;

/** One look at the first character for every frame that is not like that. */
export function strayObject(frame: Frame): JsonObject | undefined {
  const { text } = frame;
  const hasField = text.startsWith(FIELD);
  if (!hasField && text.charCodeAt(0) !== BRACE) return undefined;
  const [stray = ''] = frame.bytes.toString('utf8', hasField ? FIELD.length : 0).split(NEXT_FIELD);
  try {
    const value: unknown = JSON.parse(stray);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the data of a frame ends as an object does. */
export function closesObject(text: string): boolean {
  return text.charCodeAt(text.length - 3) === 125 || text.trimEnd().endsWith('}');
}
