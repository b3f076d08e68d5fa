// The forms in which models write a call as text, because their server knows no better: a row a form, with how it begins and how it
// is read. A reader is given all text from the opening on, and may be asked again when there is more of it.
import { isObject, type JsonObject, type JsonValue } from '../canonical/json.ts';
import { fitted, readArguments } from './arguments.ts';
import { endOfJson } from './json-end.ts';
import type { OfferedTool, OfferedTools } from './offered-tools.ts';
import { readTolerant } from './tolerant-json.ts';

export interface WrittenCall {
  tool: OfferedTool;
  /** JSON text. */
  arguments: string;
}

/** `more`: what came so far may be a call. Undefined: it is none. `end`: where the text goes on behind the form. */
export type Read = { calls: readonly WrittenCall[]; end: number } | 'more' | undefined;

export interface TextForm {
  /** Of the answer's log and header. */
  name: string;
  opening: string;
  /** Only with nothing but white space behind it, to the end of the answer. */
  standsLast?: true;
  read(text: string, offered: OfferedTools): Read;
}

/** `body`: how a form without brackets of its own goes on behind the opening. */
type Body = (cursor: Cursor, offered: OfferedTools) => readonly WrittenCall[];

class NotThisForm extends Error {}
class NeedsMore extends Error {}

/** A place in the text. What is not there yet is not known to be missing. */
class Cursor {
  readonly text: string;
  at: number;

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  space(): void {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++;
  }

  /** Whether this stands here; throws NeedsMore where the text ends within it. */
  has(word: string): boolean {
    if (this.text.startsWith(word, this.at)) {
      this.at += word.length;
      return true;
    }
    if (word.startsWith(this.text.slice(this.at))) throw new NeedsMore();
    return false;
  }

  /** One of these, tried in their order. */
  hasOne(words: readonly string[]): string | undefined {
    let isOpen = false;
    const rest = this.text.slice(this.at, this.at + LONGEST_WORD);
    for (const word of words) {
      if (rest.startsWith(word)) {
        this.at += word.length;
        return word;
      }
      isOpen ||= word.startsWith(rest);
    }
    if (isOpen) throw new NeedsMore();
    return undefined;
  }

  need(word: string): void {
    if (!this.has(word)) throw new NotThisForm();
  }

  /** The text before the word, which is passed; at most so many characters. */
  until(word: string, most = Infinity): string {
    const end = this.text.indexOf(word, this.at);
    const length = (end < 0 ? this.text.length : end) - this.at;
    if (length > most) throw new NotThisForm();
    if (end < 0) throw new NeedsMore();
    const text = this.text.slice(this.at, end);
    this.at = end + word.length;
    return text;
  }

  /** A JSON value, as text. */
  json(): string {
    const end = endOfJson(this.text, this.at);
    if (end === undefined) throw new NotThisForm();
    if (end === 'more') throw new NeedsMore();
    const text = this.text.slice(this.at, end);
    this.at = end;
    return text;
  }

  /** The text ends here, as far as it came. */
  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }
}

const LONGEST_WORD = 64;
const LONGEST_NAME = 200;

function form(name: string, opening: string, body: Body): TextForm {
  return {
    name,
    opening,
    read(text, offered) {
      const cursor = new Cursor(text, opening.length);
      try {
        const calls = body(cursor, offered);
        return calls.length === 0 ? undefined : { calls, end: cursor.at };
      } catch (error) {
        if (error instanceof NeedsMore) return 'more';
        if (error instanceof NotThisForm) return undefined;
        throw error;
      }
    },
  };
}

function toolOf(name: string, offered: OfferedTools): OfferedTool {
  const tool = offered.find(name);
  if (tool === undefined) throw new NotThisForm();
  return tool;
}

function callOf(name: string, args: string, offered: OfferedTools): WrittenCall {
  const tool = toolOf(name, offered);
  const value = readArguments(args.trim() === '' ? '{}' : args, true);
  if (value === undefined) throw new NotThisForm();
  return callWith(tool, value);
}

function callWith(tool: OfferedTool, args: JsonObject): WrittenCall {
  return { tool, arguments: JSON.stringify(fitted(args, tool.parameters)) };
}

const NAMES = ['name', 'tool_name', 'tool', 'function', 'action', 'function_name'];
const ARGUMENTS = [
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
const OTHERS = new Set(['id', 'type', 'call_id', 'tool_call_id', 'index']);

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
function callsOfJson(text: string, offered: OfferedTools): WrittenCall[] {
  const value = readArguments(`{"value":${text}}`, true)?.value;
  return (Array.isArray(value) ? value : [value]).map((item) => callOfValue(item, offered));
}

/** JSON values one after the other, separated by white space, commas or semicolons. */
function jsonCalls(cursor: Cursor, offered: OfferedTools): WrittenCall[] {
  const calls: WrittenCall[] = [];
  for (;;) {
    calls.push(...callsOfJson(cursor.json(), offered));
    const { at } = cursor;
    while (/[\s;,]/.test(cursor.text[cursor.at] ?? '')) cursor.at++;
    if (!/[[{]/.test(cursor.text[cursor.at] ?? '')) {
      cursor.at = at;
      return calls;
    }
  }
}

/** What may close the form; nothing, too. Brackets too many are passed. */
function closing(cursor: Cursor, words: readonly string[]): void {
  const { at } = cursor;
  while (/[\s}\]]/.test(cursor.text[cursor.at] ?? '')) cursor.at++;
  if (cursor.isAtEnd) {
    cursor.at = at;
    return;
  }
  if (cursor.hasOne(words) === undefined) cursor.at = at;
}

/** `<tool_call>`: JSON of Hermes and Qwen, XML of Qwen's coders, arguments in pairs of GLM. */
const toolCallTag: Body = (cursor, offered) => {
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
function functionTag(cursor: Cursor, offered: OfferedTools): WrittenCall {
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
function invokes(mark: string, end: string): Body {
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

/** `[TOOL_CALLS]` of Mistral: a list, or name and arguments side by side. */
const mistral: Body = (cursor, offered) => {
  cursor.space();
  if (cursor.isAtEnd) throw new NeedsMore();
  if (/[[{]/.test(cursor.text[cursor.at] ?? '')) return jsonCalls(cursor, offered);
  return [namedCall(cursor, ['[ARGS]', '[CALL_ID]'], offered)];
};

/** A name, directly followed by its arguments. */
function namedCall(cursor: Cursor, marks: readonly string[], offered: OfferedTools): WrittenCall {
  const next = cursor.text.slice(cursor.at, cursor.at + LONGEST_NAME + 1).search(/[[{\s]/);
  if (next < 0 && cursor.text.length - cursor.at > LONGEST_NAME) throw new NotThisForm();
  if (next < 0) throw new NeedsMore();
  const { name } = toolOf(cursor.text.slice(cursor.at, cursor.at + next), offered);
  cursor.at += next;
  cursor.space();
  if (cursor.hasOne(marks) === '[CALL_ID]') cursor.until('[ARGS]', LONGEST_NAME);
  cursor.space();
  if (cursor.isAtEnd) throw new NeedsMore();
  return callOf(name, cursor.json(), offered);
}

/** JSON behind a word of its own: Llama's `<|python_tag|>`, `<|tool_call|>` of Granite and Phi. */
function jsonBehind(closings: readonly string[]): Body {
  return (cursor, offered) => {
    cursor.space();
    if (cursor.isAtEnd) throw new NeedsMore();
    const calls = jsonCalls(cursor, offered);
    closing(cursor, closings);
    return calls;
  };
}

/** gpt-oss: a message of the channel `commentary` to a function. */
const harmony: Body = (cursor, offered) => {
  cursor.space();
  if (!['commentary', 'analysis'].some((channel) => cursor.has(channel))) throw new NotThisForm();
  cursor.space();
  cursor.need('to=');
  const head = cursor.until('<|message|>', LONGEST_NAME);
  const [name = ''] = head.split(/[\s<]/, 1);
  cursor.space();
  if (cursor.isAtEnd) throw new NeedsMore();
  const call = callOf(name, cursor.json(), offered);
  closing(cursor, ['<|call|>', '<|end|>']);
  return [call];
};

const DEEPSEEK = {
  begin: '<｜tool▁calls▁begin｜>',
  call: '<｜tool▁call▁begin｜>',
  separator: '<｜tool▁sep｜>',
  callEnd: '<｜tool▁call▁end｜>',
  end: '<｜tool▁calls▁end｜>',
};

/** DeepSeek: since 3.1 the name and JSON, before that the word `function`, the name, and JSON in a fence. */
const deepseek: Body = (cursor, offered) => {
  const calls: WrittenCall[] = [];
  for (;;) {
    cursor.space();
    const word = cursor.hasOne([DEEPSEEK.call, DEEPSEEK.end]);
    if (word === undefined) throw new NotThisForm();
    if (word === DEEPSEEK.end) return calls;
    calls.push(deepseekCall(cursor, offered));
  }
};

function deepseekCall(cursor: Cursor, offered: OfferedTools): WrittenCall {
  let name = cursor.until(DEEPSEEK.separator, LONGEST_NAME).trim();
  if (name === 'function') name = cursor.until('\n', LONGEST_NAME).trim();
  const { name: known } = toolOf(name, offered);
  cursor.space();
  const isFenced = cursor.has('```json');
  cursor.space();
  if (cursor.isAtEnd) throw new NeedsMore();
  const call = callOf(known, cursor.json(), offered);
  cursor.space();
  if (isFenced) cursor.need('```');
  cursor.space();
  cursor.need(DEEPSEEK.callEnd);
  return call;
}

const KIMI = {
  call: '<|tool_call_begin|>',
  args: '<|tool_call_argument_begin|>',
  end: '<|tool_calls_section_end|>',
};

const kimi: Body = (cursor, offered) => {
  const calls: WrittenCall[] = [];
  for (;;) {
    cursor.space();
    const word = cursor.hasOne([KIMI.call, KIMI.end]);
    if (word === undefined) throw new NotThisForm();
    if (word === KIMI.end) return calls;
    const name = cursor.until(KIMI.args, LONGEST_NAME);
    calls.push(callOf(name, cursor.until('<|tool_call_end|>'), offered));
  }
};

/** The first member's name tells most objects that are no call. */
const FIRST_MEMBER = new RegExp(`^[[{\\s]*["'](?:${[...NAMES, ...ARGUMENTS, ...OTHERS].join('|')})["']\\s*:`);
const LONGEST_FIRST = 64;

/** A call as JSON without anything round it. */
function bareJson(opening: string): TextForm {
  const inner = form('JSON', '', jsonCalls);
  return {
    name: 'JSON',
    opening,
    standsLast: true,
    read(text, offered) {
      if (!FIRST_MEMBER.test(text.slice(0, 2 * LONGEST_FIRST)))
        return mayBecomeFirst(text) ? 'more' : undefined;
      return isOtherName(text, offered) ? undefined : inner.read(text, offered);
    },
  };
}

function mayBecomeFirst(text: string): boolean {
  return text.length < LONGEST_FIRST && /^[[{\s]*(?:["']\w*(?:["']\s*)?)?$/.test(text);
}

/** The name is known, and no tool's: the text need not be held back. */
function isOtherName(text: string, offered: OfferedTools): boolean {
  const [, name] =
    /^[[{\s]*["'](?:name|tool|tool_name|function_name)["']\s*:\s*["']([^"'\\]{0,200})["']/.exec(text) ?? [];
  return name !== undefined && offered.find(name) === undefined;
}

/** The same in a fence that ends the answer. */
function fenced(word: string): TextForm {
  const opening = `\`\`\`${word}\n`;
  const json = bareJson('');
  return {
    name: 'JSON in a fence',
    opening,
    standsLast: true,
    read(text, offered) {
      const read = json.read(text.slice(opening.length), offered);
      if (read === 'more' || read === undefined) return read;
      const cursor = new Cursor(text, opening.length + read.end);
      try {
        cursor.space();
        if (cursor.isAtEnd || !cursor.has('```')) return cursor.isAtEnd ? 'more' : undefined;
        return { calls: read.calls, end: cursor.at };
      } catch (error) {
        if (error instanceof NeedsMore) return 'more';
        throw error;
      }
    },
  };
}

/** In the order in which they are tried where one opening is the beginning of another. */
export const TEXT_FORMS: readonly TextForm[] = [
  form('<tool_call>', '<tool_call>', toolCallTag),
  form('<function=>', '<function=', (cursor, offered) => [functionTag(cursor, offered)]),
  form('[TOOL_CALLS]', '[TOOL_CALLS]', mistral),
  form('<|python_tag|>', '<|python_tag|>', jsonBehind(['<|eom_id|>', '<|eot_id|>'])),
  form('<|tool_call|>', '<|tool_call|>', jsonBehind(['<|/tool_call|>'])),
  form('Harmony', '<|channel|>', harmony),
  form('Harmony', '<|start|>assistant<|channel|>', harmony),
  form('DeepSeek', DEEPSEEK.begin, deepseek),
  form('DSML', '<｜DSML｜function_calls>', invokes('｜DSML｜', '</｜DSML｜function_calls>')),
  form('<minimax:tool_call>', '<minimax:tool_call>', invokes('', '</minimax:tool_call>')),
  form('<function_calls>', '<function_calls>', invokes('', '</function_calls>')),
  form('Kimi', '<|tool_calls_section_begin|>', kimi),
  bareJson('{'),
  bareJson('[{'),
  fenced('json'),
  fenced('tool_call'),
  fenced(''),
];
