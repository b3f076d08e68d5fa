// A provider's reply that is one body of JSON: checked before it is parsed, parsed once.
import { isAscii } from 'node:buffer';
import type { Usage } from '../../canonical/reply.ts';
import { FailureError, type ProviderFailure } from '../../errors.ts';
import { plural } from '../../plural.ts';
import { MAX_LEVELS } from '../../protocols/json/raw-json.ts';
import { measureJson } from '../../protocols/json/splice.ts';
import type { BuiltRequest } from './build-request.ts';

export interface WholeReply {
  kind: 'whole';
  /** As it came. */
  body: Buffer | string;
  value: unknown;
  usage: Usage | undefined;
}

/** Throws FailureError for bytes that are no answer, or one of more than `maxValues` JSON values. */
export function readWholeReply(bytes: Buffer, { protocol }: BuiltRequest, maxValues: number): WholeReply {
  const ascii = isAscii(bytes);
  const text = bytes.toString(ascii ? 'latin1' : 'utf8');
  const failure = unparsable(bytes, maxValues, ascii ? text : undefined);
  if (failure !== undefined) throw new FailureError(failure);
  const value = parseReply(text);
  const { usage } = protocol.relay.inspectReply(value);
  // A string leaves in one write with its head; other bytes than ASCII go on as they came.
  return { kind: 'whole', body: ascii ? text : bytes, value, usage };
}

function parseReply(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const reason = text === '' ? 'empty' : 'malformed';
    const message =
      reason === 'empty' ? 'the provider sent an empty answer' : 'the provider sent no valid JSON';
    throw new FailureError({ kind: 'failed', message, reason });
  }
}

/** No shorter JSON has more than MAX_LEVELS levels: each takes two brackets. */
const SHORT = 2 * MAX_LEVELS;

/**
 * Why a provider's JSON must not be parsed; undefined: it may be. Bytes within their limit can hold millions of values or levels,
 * each of which takes a hundred times its bytes in memory. `ascii`: the bytes as text, if they are ASCII.
 */
export function unparsable(bytes: Buffer, maxValues: number, ascii?: string): ProviderFailure | undefined {
  // Each value takes a character, and a separator after it.
  if (bytes.length <= SHORT && bytes.length <= 2 * maxValues) return undefined;
  const { tooDeep, values } = measureJson(bytes, MAX_LEVELS, ascii);
  if (tooDeep) return tooLarge(`is nested deeper than ${MAX_LEVELS} levels`);
  return values > maxValues ? tooLarge(`holds more than ${plural(maxValues, 'JSON value')}`) : undefined;
}

function tooLarge(how: string): ProviderFailure {
  return { kind: 'failed', message: `the provider's answer ${how}`, reason: 'too_large' };
}
