// Reads names, arguments and JSON values as calls of offered tools.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { fitted, readArguments } from '../arguments.ts';
import type { OfferedTool, OfferedTools } from '../offered-tools.ts';
import { NeedsMore, NotThisForm, type Cursor } from './cursor.ts';
import type { WrittenCall } from './form.ts';

export const LONGEST_NAME = 200;

export function toolOf(name: string, offered: OfferedTools): OfferedTool {
  const tool = offered.find(name);
  if (tool === undefined) throw new NotThisForm();
  return tool;
}

export function callOf(name: string, args: string, offered: OfferedTools): WrittenCall {
  const tool = toolOf(name, offered);
  const value = readArguments(args.trim() === '' ? '{}' : args, true);
  if (value === undefined) throw new NotThisForm();
  return callWith(tool, value);
}

export function callWith(tool: OfferedTool, args: JsonObject): WrittenCall {
  return { tool, arguments: JSON.stringify(fitted(args, tool.parameters)) };
}

export const NAMES = ['name', 'tool_name', 'tool', 'function', 'action', 'function_name'];
export const ARGUMENTS = [
  'arguments',
  'parameters',
  'args',
  'input',
  'tool_input',
  'action_input',
  'params',
  'kwargs',
];
/** Beside name and arguments. */
export const OTHERS = new Set(['id', 'type', 'call_id', 'tool_call_id', 'index']);

/** A call as a JSON value; throws NotThisForm for any other value. */
function callOfValue(value: JsonValue | undefined, offered: OfferedTools): WrittenCall {
  if (!isObject(value)) throw new NotThisForm();
  const own = NAMES.find((name) => value[name] !== undefined);
  const given = own === undefined ? undefined : value[own];
  if (isObject(given)) return callOfValue(given, offered);
  if (own === undefined || typeof given !== 'string') throw new NotThisForm();
  const tool = toolOf(given, offered);
  const member = ARGUMENTS.find((name) => value[name] !== undefined);
  const known = (name: string): boolean => name === own || name === member || OTHERS.has(name);
  if (!Object.keys(value).every(known)) throw new NotThisForm();
  const args = member === undefined ? {} : value[member];
  const object = typeof args === 'string' ? readArguments(args, true) : args;
  if (!isObject(object)) throw new NotThisForm();
  return callWith(tool, object);
}

/** One call or a list of them. */
export function callsOfJson(text: string, offered: OfferedTools): WrittenCall[] {
  const value = readArguments(`{"value":${text}}`, true)?.value;
  return (Array.isArray(value) ? value : [value]).map((item) => callOfValue(item, offered));
}

/** JSON values one after the other, separated by white space, commas or semicolons. */
export function jsonCalls(cursor: Cursor, offered: OfferedTools): WrittenCall[] {
  const calls: WrittenCall[] = [];
  for (;;) {
    calls.push(...callsOfJson(cursor.json(), offered));
    const { at } = cursor;
    while (/[\s;,]/.test(cursor.text[cursor.at] ?? '')) cursor.at++;
    // Another call may stand behind a mark that separates them.
    if (cursor.isAtEnd && /[;,]/.test(cursor.text.slice(at))) throw new NeedsMore();
    if (!/[[{]/.test(cursor.text[cursor.at] ?? '')) {
      cursor.at = at;
      return calls;
    }
  }
}

/** What may close the form; nothing, too. Brackets too many are passed. */
export function closing(cursor: Cursor, words: readonly string[]): void {
  const { at } = cursor;
  while (/[\s}\]]/.test(cursor.text[cursor.at] ?? '')) cursor.at++;
  if (cursor.isAtEnd) {
    cursor.at = at;
    return;
  }
  if (cursor.hasOne(words) === undefined) cursor.at = at;
}
