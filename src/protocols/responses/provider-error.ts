// What went wrong at a responses provider: as an error answer, as an `error` event, or as the `error` of a failed Response.
import { isObject } from '../../canonical/json.ts';
import type { ProviderFailure } from '../../errors.ts';
import { createErrorReader } from '../shared/provider-error.ts';
import type { Frame } from '../sse/splitter.ts';
import { strayObject } from '../sse/stray-json.ts';

const reader = createErrorReader();

export const { decodeError, failureOfEvent } = reader;

/** Inside a stream and a Response no header says how long to wait: the words do. */
const WAIT = /try again in (\d+(?:\.\d+)?) ?(m?s)\b/i;

/** A parsed value that is known to be an error. */
export function failureOf(value: unknown): ProviderFailure {
  const failure = reader.failureOf(value);
  const [, digits, unit] = WAIT.exec(failure.message.slice(0, 2000)) ?? [];
  if (digits !== undefined) failure.retryAfterMs = Math.ceil(Number(digits) * (unit === 'ms' ? 1 : 1000));
  return failure;
}

/** The error that a frame holds beside its data. */
export function failureOfStray(frame: Frame): ProviderFailure | undefined {
  const value = strayObject(frame);
  return isObject(value?.error) ? failureOf(value) : undefined;
}
