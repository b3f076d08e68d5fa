// Names a turn of tool calls by what it calls. The id of a call is not enough: many servers number their calls, so that every
// conversation has a `call_0`.
import { hash } from 'node:crypto';
import type { JsonValue } from '../../canonical/json.ts';
import type { Part, ToolCallPart } from '../../canonical/request.ts';
import { bareId } from '../../canonical/tool-pairing.ts';
import { likeness } from '../../protocols/json/raw-json.ts';

export type TurnCall = Pick<ToolCallPart, 'id' | 'name' | 'arguments'>;

/**
 * The same for an answer and for the history that a client makes of it: the first call's id, and the names, arguments and number of
 * the calls. Undefined without a call.
 */
export function turnKey(calls: readonly TurnCall[]): string | undefined {
  const [first] = calls;
  if (first === undefined) return undefined;
  let text = JSON.stringify([bareId(first.id), calls.length]);
  for (const { name, arguments: written } of calls) text += JSON.stringify([name, sameText(written)]);
  return hash('sha256', text, 'base64url');
}

export function callsOf(parts: readonly Part[]): ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool_call');
}

/** Arguments as every client would write them: programs parse them and write them anew, some with sorted names. */
export function sameText(written: string): string {
  const text = written.trim();
  if (text === '') return '{}';
  try {
    const value = JSON.parse(text) as JsonValue;
    return likeness(value) === 'deep' ? text : sameValue(value);
  } catch {
    return text;
  }
}

/**
 * A value whose depth is known to be bounded, with the names of its members sorted. Members stand as pairs: an object would bring names
 * that look like numbers to the front, and `__proto__` nowhere. Conversations have hundreds of calls, for which a replacer of
 * JSON.stringify takes four times as long.
 */
export function sameValue(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sameValue).join(',')}]`;
  const names = Object.keys(value).sort();
  const pairs = names.map((name) => `[${JSON.stringify(name)},${sameValue(value[name] ?? null)}]`);
  return `[${pairs.join(',')}]`;
}
