// The form that a server insists on once the input is written: roles in turn, texts as one, further system text.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';

const item = (role: string, content: string): JsonObject => ({ type: 'message', role, content });

export const BRIDGE = item('assistant', 'I have read the results.');
export const OPENING = item('user', '.');
export const CONTINUE = item('user', 'Continue.');

export const isSystem = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer';

export const isResult = ({ type }: JsonObject): boolean =>
  type === 'function_call_output' || type === 'custom_tool_call_output';

/** The input after a first text of the system. An input of text alone is one message of the user. */
export function withFirst(input: JsonValue | undefined, text: string, { systemRole }: Traits): JsonValue[] {
  const first = item(systemRole, text);
  if (Array.isArray(input)) return [first, ...input];
  return typeof input === 'string' ? [first, item('user', input)] : [first];
}

export function addInstructions(body: JsonObject, text: string): void {
  body.instructions = typeof body.instructions === 'string' ? `${body.instructions}\n\n${text}` : text;
}

/** Contents of two messages of one role. */
export function merge(first: JsonValue, second: JsonValue, { role }: JsonObject): JsonValue {
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n${second}`;
  const type = role === 'assistant' ? 'output_text' : 'input_text';
  const parts = (content: JsonValue): JsonValue[] =>
    Array.isArray(content) ? content : [{ type, text: content }];
  return [...parts(first), ...parts(second)];
}

/** For servers whose template insists: user and assistant in turn, the user first; and no user directly after a tool. */
export function inOrder(items: JsonObject[], encoding: EncodeContext): JsonObject[] {
  const { strictAlternation, userAfterTool, contentLists } = encoding.traits;
  if (!contentLists) joinTexts(items);
  if (!strictAlternation && userAfterTool) return items;
  const out: JsonObject[] = [];
  for (const next of items) {
    const last = out.at(-1);
    if (strictAlternation && last?.role !== undefined && last.role === next.role) {
      last.content = merge(last.content ?? '', next.content ?? '', last);
      continue;
    }
    const opens = next.role === 'assistant' && (last === undefined || isSystem(last));
    if (strictAlternation && opens) out.push({ ...OPENING });
    if (!userAfterTool && next.role === 'user' && last !== undefined && isResult(last)) {
      out.push({ ...BRIDGE });
      encoding.warn('changed', 'messages', 'a word of the assistant was put between a tool and the user');
    }
    out.push({ ...next });
  }
  return out;
}

/** For servers that take one string: a list of texts alone is joined. */
function joinTexts(items: readonly JsonObject[]): void {
  for (const one of items) {
    const text = one.role === undefined ? undefined : textsIn(one.content);
    if (text !== undefined) one.content = text;
  }
}

/** Undefined: it is no list, or holds something else. */
export function textsIn(content: JsonValue | undefined): string | undefined {
  if (!Array.isArray(content) || content.length === 0) return undefined;
  const texts = content.map((part) => (isObject(part) && isText(part) ? part.text : undefined));
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : undefined;
}

function isText({ type }: JsonObject): boolean {
  return type === 'input_text' || type === 'output_text';
}
