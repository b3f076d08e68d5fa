// Calls between special tokens that a server did not read: Mistral, Llama, Granite, Phi, gpt-oss, DeepSeek, Kimi.
import type { OfferedTools } from '../offered-tools.ts';
import { LONGEST_NAME, callOf, closing, jsonCalls, toolOf } from './calls.ts';
import { NeedsMore, NotThisForm, type Cursor } from './cursor.ts';
import type { Body, WrittenCall } from './form.ts';

/** `[TOOL_CALLS]` of Mistral: a list, or name and arguments side by side. */
export const mistral: Body = (cursor, offered) => {
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
export function jsonBehind(closings: readonly string[]): Body {
  return (cursor, offered) => {
    cursor.space();
    if (cursor.isAtEnd) throw new NeedsMore();
    const calls = jsonCalls(cursor, offered);
    closing(cursor, closings);
    return calls;
  };
}

/** gpt-oss: a message of the channel `commentary` to a function. */
export const harmony: Body = (cursor, offered) => {
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

export const DEEPSEEK = {
  begin: '<｜tool▁calls▁begin｜>',
  call: '<｜tool▁call▁begin｜>',
  separator: '<｜tool▁sep｜>',
  callEnd: '<｜tool▁call▁end｜>',
  end: '<｜tool▁calls▁end｜>',
};

/** DeepSeek: since 3.1 the name and JSON, before that the word `function`, the name, and JSON in a fence. */
export const deepseek: Body = (cursor, offered) => {
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

export const kimi: Body = (cursor, offered) => {
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
