// Whether a history ends with one call and one result again and again. Looks at each step once, and compares from the end: mostly the
// last two calls differ.
import { createHash } from 'node:crypto';
import type { JsonValue } from '../../../canonical/json.ts';
import type { Step } from '../../../protocols/interface/steps.ts';
import { resultText } from '../../../protocols/shared/tools/history-steps.ts';
import { sameText, sameValue } from '../turn-key.ts';

/** Equal calls with equal results at the end of a history, in a row. */
export interface Run {
  /** The same for later requests of this run, and for no other run of the conversation. */
  id: string;
  name: string;
  calls: number;
}

interface Call {
  name: string;
  arguments: JsonValue;
  result: Extract<Step, { type: 'result' }> | undefined;
}

/** undefined: fewer than `least`. What a user wrote ends a run. */
export function runAtEnd(steps: Iterable<Step>, least: number): Run | undefined {
  let calls: Call[] = [];
  let before = 0;
  const byId = new Map<string, Call>();
  for (const step of steps) {
    if (step.type === 'text') {
      before += calls.length;
      calls = [];
      byId.clear();
    } else if (step.type === 'call') {
      const call = { name: step.name, arguments: step.arguments, result: undefined };
      calls.push(call);
      byId.set(step.id, call);
    } else if (step.type === 'result') {
      const call = byId.get(step.id);
      if (call !== undefined) call.result ??= step;
    }
  }
  const last = calls.at(-1);
  if (last === undefined || calls.length < least) return undefined;
  let start = calls.length - 1;
  const isLast = likeness(last);
  while (start > 0 && isLast(calls[start - 1])) start -= 1;
  const length = calls.length - start;
  if (length < least || last.result === undefined) return undefined;
  const hash = createHash('sha256').update(JSON.stringify([last.name, argumentsOf(last), resultOf(last)]));
  const id = `${before + start}:${hash.digest('base64url').slice(0, HASH_DIGITS)}`;
  return { id, name: last.name, calls: length };
}

const HASH_DIGITS = 16;

/** Whether a call is like this one. What is compared of this one is made once. */
function likeness(one: Call): (other: Call | undefined) => boolean {
  let given: string | undefined;
  let result: string | undefined;
  return (other) =>
    other !== undefined &&
    other.name === one.name &&
    one.result !== undefined &&
    other.result?.failed === one.result.failed &&
    (other.arguments === one.arguments || argumentsOf(other) === (given ??= argumentsOf(one))) &&
    (other.result.content === one.result.content || resultOf(other) === (result ??= resultOf(one)));
}

const argumentsOf = ({ arguments: given }: Call): string =>
  typeof given === 'string' ? sameText(given) : sameValue(given);

const resultOf = ({ result }: Call): string => resultText(result?.content ?? null);
