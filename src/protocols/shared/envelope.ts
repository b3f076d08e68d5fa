// What every protocol checks alike before it reads a request, and how it refuses one.
import type { JsonObject } from '../../canonical/json.ts';
import { wellFormed } from '../../canonical/surrogates.ts';
import { GatewayError } from '../../errors.ts';

/** A 400 that names the field, in its message and as `param`. `path` undefined: no field of the client's is at fault. */
export function refuse(path: string | undefined, problem: string, details?: Record<string, unknown>): never {
  if (path === undefined) throw new GatewayError('invalid_request', problem, { details });
  throw new GatewayError('invalid_request', `${path}: ${problem}`, { param: path, details });
}

/** Characters: a model's name stands in headers, in the log and in the database. */
const LONGEST_NAME = 256;

/** Why no model can have this name; undefined: it can. */
export function faultOfModelName(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return `must have at most ${LONGEST_NAME} characters`;
  return wellFormed(name) === name ? undefined : 'must not hold half of a surrogate pair';
}

export function readModelName({ model }: JsonObject): string {
  if (typeof model !== 'string' || model === '') refuse('model', 'must be a non-empty string');
  const fault = faultOfModelName(model);
  if (fault !== undefined) refuse('model', fault);
  return model;
}
