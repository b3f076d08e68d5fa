// What a server takes of a history, and the form that it insists on once it is written: few cache marks, roles in turn.
import type { HistoryRules } from '../../../canonical/history.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { encryptedInSignature } from '../../../canonical/thinking-signature.ts';
import { mendArguments } from '../../../repair/damaged-arguments.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { isMarked } from './encode-content.ts';

export const historyRules: HistoryRules = {
  // Which turns those are, the encoder knows. A summary of what another provider keeps encrypted is not what a model thought.
  takesBack: ({ signature, redacted }, traits) =>
    traits.replayReasoning !== 'never' &&
    redacted === undefined &&
    encryptedInSignature(signature ?? '') === undefined,
  blankIsSilent: false,
  mendArguments,
};

/** The mark of a whole request stands on the last part that can bear one, where the messages protocol sets it too. */
export function markLast(messages: readonly JsonObject[], mark: JsonObject): void {
  if (!isMarked(mark)) return;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at];
    const parts = message?.content ? asParts(message.content) : [];
    const last = parts.at(-1);
    if (message === undefined || !isObject(last)) continue;
    message.content = [...parts.slice(0, -1), { ...last, ...mark }];
    return;
  }
}

/** OpenAI writes four breakpoints a request, one of them its own; marks of the other form are four. */
const MOST_MARKS = { none: 0, prompt_cache_breakpoint: 3, cache_control: 4 } as const;

/** Too many: the first (the longest-lived prefix) and the newest stay. */
export function limitMarks(messages: JsonObject[], encoding: EncodeContext): void {
  const most = MOST_MARKS[encoding.traits.cacheMarks];
  if (most === 0) return;
  const marked: JsonObject[] = [];
  for (const { content } of messages) {
    for (const part of Array.isArray(content) ? content : []) {
      if (typeof part === 'object' && part !== null && !Array.isArray(part) && isMarked(part))
        marked.push(part);
    }
  }
  if (marked.length <= most) return;
  for (const part of marked.slice(1, marked.length - most + 1)) {
    delete part.cache_control;
    delete part.prompt_cache_breakpoint;
  }
  encoding.warn('changed', 'messages.cache', `the provider takes ${most} cache marks`);
}

function asParts(content: JsonValue | undefined): JsonValue[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content ?? '' }];
}

export function merge(first: JsonValue | undefined, second: JsonValue | undefined): JsonValue {
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n${second}`;
  return [...asParts(first), ...asParts(second)];
}

/** For templates that insist: one system message, then user and assistant in turn, the user first. */
export function alternate(messages: JsonObject[]): JsonObject[] {
  const out: JsonObject[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    const isCall = message.tool_calls !== undefined || last?.tool_calls !== undefined;
    if (last && last.role === message.role && message.role !== 'tool' && !isCall) {
      last.content = merge(last.content, message.content);
    } else {
      if (message.role === 'assistant' && (!last || isSystem(last))) out.push({ ...OPENING });
      out.push({ ...message });
    }
  }
  return out;
}

/** For servers that take one string: a list of texts alone is joined. */
export function joinTexts(messages: readonly JsonObject[]): void {
  for (const message of messages) {
    const { content } = message;
    if (!Array.isArray(content)) continue;
    const texts = content.map((part) => (isObject(part) && part.type === 'text' ? part.text : undefined));
    if (texts.every((text) => typeof text === 'string')) message.content = texts.join('\n\n');
  }
}

/** Appends to the system text; adds a system message if needed. */
export function addSystemText(body: JsonObject, text: string, { systemRole }: Traits): void {
  const messages = Array.isArray(body.messages) ? body.messages : [];
  const [first, ...rest] = messages;
  if (!isObject(first) || !isSystem(first))
    body.messages = [{ role: systemRole, content: text }, ...messages];
  else {
    const { content } = first;
    const longer =
      typeof content === 'string' ? `${content}\n\n${text}` : [...asParts(content), { type: 'text', text }];
    body.messages = [{ ...first, content: longer }, ...rest];
  }
}

export const BRIDGE: JsonObject = { role: 'assistant', content: 'I have read the results.' };
/** Where the user has to speak first, and last. */
export const OPENING: JsonObject = { role: 'user', content: '.' };
export const CONTINUE: JsonObject = { role: 'user', content: 'Continue.' };

/** For servers on which only the assistant may speak after a tool. */
export function bridgeTools(messages: readonly JsonObject[], encoding: EncodeContext): JsonObject[] {
  return messages.flatMap((message, at) => {
    if (message.role !== 'user' || messages[at - 1]?.role !== 'tool') return [message];
    encoding.warn('changed', 'messages', 'a word of the assistant was put between a tool and the user');
    return [{ ...BRIDGE }, message];
  });
}

function isSystem(message: JsonObject): boolean {
  return message.role === 'system' || message.role === 'developer';
}
