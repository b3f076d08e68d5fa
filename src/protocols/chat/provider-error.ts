// Errors of chat providers: in an answer, in a stream, and in values that should have been an answer.
import type { JsonObject } from '../../canonical/json.ts';
import type { ProviderFailure } from '../../errors.ts';
import { createErrorReader } from '../shared/provider-error.ts';
import type { Frame } from '../sse/frame.ts';
import { strayObject } from '../sse/stray-json.ts';
import { isGiven, strictChunk } from './lenient.ts';

export { malformed, throwFailure } from '../shared/provider-error.ts';

export const NO_ANSWER: ProviderFailure = {
  kind: 'failed',
  reason: 'empty',
  message: 'The provider ended its stream without an answer.',
};
export const BROKEN_OFF: ProviderFailure = {
  kind: 'failed',
  reason: 'truncated',
  message: 'The provider broke off its stream.',
};

export const { decodeError, failureOf, failureOfEvent } = createErrorReader();

/** The error in a strict chunk or reply; undefined: it reports none. */
export function failureIn(value: JsonObject, status?: number): ProviderFailure | undefined {
  const { choices, error } = value;
  if (isGiven(error)) return failureOf(value, status);
  if (Array.isArray(choices) ? choices.length > 0 : isGiven(choices)) return undefined;
  const isBare =
    value.object === 'error' ||
    isGiven(value.detail) ||
    typeof value.message === 'string' ||
    value.success === false;
  return isBare ? failureOf(value, status) : undefined;
}

/** The error that a frame holds beside its data. */
export function failureOfStray(frame: Frame): ProviderFailure | undefined {
  const value = strayObject(frame);
  return value === undefined ? undefined : failureIn(strictChunk(value));
}
