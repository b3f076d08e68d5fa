// A frame of a chat stream as the chunk that it should hold, or as the failure that it is.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { ProviderFailure } from '../../../errors.ts';
import type { Frame } from '../../sse/splitter.ts';
import { failureIn, failureOf, failureOfEvent, malformed } from '../provider-error.ts';

export type Chunk = { value: JsonObject } | { failure: ProviderFailure };

export function readChunk(frame: Frame): Chunk {
  if (frame.event === 'error') return { failure: failureOfEvent(frame.data) };
  let value: JsonValue;
  try {
    value = JSON.parse(frame.data) as JsonValue;
  } catch {
    return { failure: malformed('The provider sent a frame that is not JSON.') };
  }
  if (Array.isArray(value)) return { failure: failureOf(value) };
  if (!isObject(value)) return { failure: malformed('The provider sent a frame that is not an object.') };
  const failure = failureIn(value);
  return failure ? { failure } : { value };
}
