// Calls in tags: `<tool_call>`, `<function=>` and `<invoke>`, with arguments as JSON or as XML.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { fitted } from '../arguments.ts';
import { endOfJson } from '../json-end.ts';
import type { OfferedTool, OfferedTools } from '../offered-tools.ts';
import { readTolerant } from '../tolerant-json.ts';
import { LONGEST_NAME, callOf, callWith, callsOfJson, closing, jsonCalls, toolOf } from './calls.ts';
import { NeedsMore, NotThisForm, type Cursor } from './cursor.ts';
import type { Body, WrittenCall } from './form.ts';

/** `<tool_call>`: JSON of Hermes and Qwen, XML of Qwen's coders, arguments in pairs of GLM. */
export const toolCallTag: Body = (cursor, offered) => {
  cursor.space();
  if (cursor.isAtEnd) throw new NeedsMore();
  const first = cursor.text[cursor.at] ?? '';
  if (/[[{]/.test(first)) return taggedJson(cursor, offered);
  if (first === '<') {
    cursor.need('<function=');
    const calls = [functionTag(cursor, offered)];
    closing(cursor, ['</tool_call>']);
    return calls;
  }
  return [glmCall(cursor, offered)];
};

/** JSON within the tag; where a bracket is missing the closing tag ends it, unless it stands in a string. */
function taggedJson(cursor: Cursor, offered: OfferedTools): WrittenCall[] {
  const close = cursor.text.indexOf('</tool_call>', cursor.at);
  const end = endOfJson(cursor.text, cursor.at);
  const isUnclosed = end === 'more' || (end !== undefined && end > close);
  if (close >= 0 && isUnclosed) {
    const text = cursor.text.slice(cursor.at, close);
    if (readTolerant(text)?.cut === 'brackets') {
      cursor.at = close + '</tool_call>'.length;
      return callsOfJson(text, offered);
    }
  }
  const calls = jsonCalls(cursor, offered);
  closing(cursor, ['</tool_call>']);
  return calls;
}

function glmCall(cursor: Cursor, offered: OfferedTools): WrittenCall {
  const next = cursor.text.slice(cursor.at, cursor.at + LONGEST_NAME + 1).search(/[<\s]/);
  if (next < 0 && cursor.text.length - cursor.at > LONGEST_NAME) throw new NotThisForm();
  if (next < 0) throw new NeedsMore();
  const tool = toolOf(cursor.text.slice(cursor.at, cursor.at + next), offered);
  cursor.at += next;
  const raw: [string, string][] = [];
  for (;;) {
    cursor.space();
    const word = cursor.hasOne(['<arg_key>', '</tool_call>']);
    if (word === undefined) throw new NotThisForm();
    if (word === '</tool_call>') return callWith(tool, objectOf(raw, tool));
    const key = cursor.until('</arg_key>', LONGEST_NAME);
    cursor.space();
    cursor.need('<arg_value>');
    raw.push([key.trim(), cursor.until('</arg_value>')]);
  }
}

/** Behind `<function=`: parameters as XML (Qwen), or JSON (Llama). */
export function functionTag(cursor: Cursor, offered: OfferedTools): WrittenCall {
  const tool = toolOf(unquoted(cursor.until('>', LONGEST_NAME)), offered);
  cursor.space();
  if (cursor.isAtEnd) throw new NeedsMore();
  if (cursor.text[cursor.at] === '{') {
    const call = callOf(tool.name, cursor.json(), offered);
    closing(cursor, ['</function>']);
    return call;
  }
  const raw: [string, string][] = [];
  for (;;) {
    cursor.space();
    const word = cursor.hasOne(['<parameter=', '</function>', '</tool_call>']);
    if (word === undefined) throw new NotThisForm();
    if (word !== '<parameter=') return callWith(tool, objectOf(raw, tool));
    const key = unquoted(cursor.until('>', LONGEST_NAME));
    raw.push([key, trimLines(cursor.until('</parameter>'))]);
  }
}

/** `<invoke name="…">` with parameters as XML: MiniMax, DeepSeek's DSML, older Claudes; `mark` stands before each tag's name. */
export function invokes(mark: string, end: string): Body {
  return (cursor, offered) => {
    const calls: WrittenCall[] = [];
    for (;;) {
      cursor.space();
      const word = cursor.hasOne([`<${mark}invoke name=`, end]);
      if (word === undefined) throw new NotThisForm();
      if (word === end) return calls;
      calls.push(invoke(cursor, mark, offered));
    }
  };
}

function invoke(cursor: Cursor, mark: string, offered: OfferedTools): WrittenCall {
  const tool = toolOf(unquoted(cursor.until('>', LONGEST_NAME)), offered);
  const raw: [string, string][] = [];
  const texts = new Set<string>();
  for (;;) {
    cursor.space();
    const word = cursor.hasOne([`<${mark}parameter name=`, `</${mark}invoke>`]);
    if (word === undefined) throw new NotThisForm();
    if (word.startsWith('</')) return callWith(tool, objectOf(raw, tool, texts));
    const head = cursor.until('>', LONGEST_NAME);
    const [, name = ''] = /^["']?([^"'\s]+)/.exec(head) ?? [];
    if (/string=["']?true/.test(head)) texts.add(name);
    raw.push([name, trimLines(cursor.until(`</${mark}parameter>`))]);
  }
}

function unquoted(text: string): string {
  return text.trim().replace(/^["']|["']$/g, '');
}

/** The line breaks that only the form brought. */
function trimLines(text: string): string {
  return text.replace(/^\r?\n/, '').replace(/\r?\n$/, '');
}

/** Values that were written as text, each as its schema asks; without a schema, what reads as JSON is JSON. */
function objectOf(
  raw: readonly [string, string][],
  tool: OfferedTool,
  texts?: ReadonlySet<string>,
): JsonObject {
  const { properties } = tool.parameters ?? {};
  const schemas = isObject(properties) ? properties : {};
  return Object.fromEntries(
    raw.map(([name, text]) => {
      const isKnown = Object.hasOwn(schemas, name) && isObject(schemas[name]);
      if (isKnown) return [name, fitted(text, schemas[name])];
      return [name, texts?.has(name) === true ? text : guessed(text)];
    }),
  );
}

function guessed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
