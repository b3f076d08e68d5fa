// The first frame of a stream. Nearly always it holds no content; an answer that was ready at once (programmatic tool calling
// gives it so) stands in it whole, with its stop.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import { list, text } from '../wire-types.ts';
import { isStop } from '../reply/ending.ts';
import { faulty } from '../../../failures.ts';

/** The same content as separate frames: an empty start, the blocks, the stop. */
export function unfoldStart(value: JsonObject): JsonObject[] {
  const message = isObject(value.message) ? value.message : {};
  const { stop_reason, stop_sequence = null, stop_details = null, container = null } = message;
  const content = list(message.content);
  const frames: JsonObject[] = [{ ...value, message: { ...message, content: [], stop_reason: null } }];
  content.forEach((block, index) => {
    frames.push({ type: 'content_block_start', index, content_block: block });
  });
  if (isStop(stop_reason)) {
    frames.push({ type: 'message_delta', delta: { stop_reason, stop_sequence, stop_details, container } });
  }
  return frames;
}

/** Checks for each start whether its message differs from the first one that had an id. */
export function createSpliceWatch(): (message: unknown) => boolean {
  let first: string | undefined;
  return (message) => {
    const id = isObject(message) ? text(message.id) : undefined;
    if (!id) return false;
    first ??= id;
    return id !== first;
  };
}

/** Some servers send the start of a message twice; the start of another message means two answers in one stream. */
export const SPLICED = faulty('malformed', "the provider's stream holds a second message");
