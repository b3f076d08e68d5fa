// The conversation as turns: roles that alternate, results of calls first, system text where it stood.
import type { HistoryRules } from '../../../canonical/history.ts';
import { isSealedForMessages } from '../../../canonical/thinking-signature.ts';
import { append as extend, type JsonObject } from '../../../canonical/json.ts';
import type { Message } from '../../../canonical/request.ts';
import { mendArguments } from '../../../repair/damaged-arguments.ts';
import { encodeParts } from './encode-content.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import type { WireTurn } from '../wire-types.ts';

/** Sealed thinking alone, by way of whichever protocol it was handed out; blank text is refused. */
export const historyRules: HistoryRules = {
  takesBack: (part) => isSealedForMessages(part),
  blankIsSilent: true,
  mendArguments,
};

/** System text in mid-conversation, for models that take it only in a user's turn. The text is constant, since prompt caches compare bytes. */
const TAG = ['<system_message>\n', '\n</system_message>'] as const;
/** Says nothing: for turns that must not be missing. */
const PLACEHOLDER = '.';

function textBlock(text: string): JsonObject {
  return { type: 'text', text };
}

function isResult(block: JsonObject): boolean {
  return block.type === 'tool_result';
}

function tagged(blocks: readonly JsonObject[]): JsonObject[] {
  return blocks.map((block) =>
    typeof block.text === 'string' ? { ...block, text: TAG[0] + block.text + TAG[1] } : block,
  );
}

/** How many messages at the beginning are system text. */
function leadingSystem(messages: readonly Message[]): number {
  const first = messages.findIndex((message) => message.role !== 'system');
  return first < 0 ? messages.length : first;
}

/** Documents want a text beside them. */
function accompany(content: JsonObject[]): void {
  const alone =
    content.some((block) => block.type === 'document') && !content.some((block) => block.type === 'text');
  if (alone) content.push(textBlock(PLACEHOLDER));
}

/** Puts results of tools first, where they nearly always stand already. */
function finishTurn(turn: WireTurn): void {
  if (turn.role !== 'user') return;
  const { content } = turn;
  const last = content.findLastIndex(isResult);
  const other = content.findIndex((block) => !isResult(block));
  if (other !== -1 && other < last) {
    turn.content = [...content.filter(isResult), ...content.filter((block) => !isResult(block))];
  }
  if (other !== -1) accompany(turn.content);
}

/** Adds to the last turn of that role, so that turns alternate; `content` was made for it. */
function append(turns: WireTurn[], role: WireTurn['role'], content: JsonObject[]): void {
  if (content.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) for (const block of content) last.content.push(block);
  else turns.push({ role, content });
}

/** A system message stands right after a user turn; elsewhere, and for models without it, its text joins a user turn. */
function appendSystem(turns: WireTurn[], content: JsonObject[], encoding: EncodeContext): void {
  if (content.length === 0) return;
  if (encoding.traits.midSystem && turns.at(-1)?.role !== 'assistant' && turns.length > 0) {
    append(turns, 'system', content);
    return;
  }
  encoding.warn('changed', 'messages', 'system text in mid-conversation was put into a user turn, tagged');
  append(turns, 'user', tagged(content));
}

/** With system turns between, two turns of one role are no longer neighbours in the list but are for the model. */
function encodeTurns(messages: readonly Message[], encoding: EncodeContext): WireTurn[] {
  const turns: WireTurn[] = [];
  for (const message of messages) {
    if (message.name !== undefined)
      encoding.warn('dropped', 'messages.name', 'messages have no author names');
    encoding.leaveOut(message.native);
    const content = encodeParts(message.parts, message.role, encoding);
    if (message.role === 'system') appendSystem(turns, content, encoding);
    else append(turns, message.role, content);
  }
  return turns;
}

/** A model that can do so continues a trailing assistant turn (its text must not end in white space); others are asked to. */
function finishPrefill(turns: WireTurn[], prefill: boolean, encoding: EncodeContext): void {
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return;
  if (!prefill) {
    if (encoding.request.messages.at(-1)?.prefix === true) {
      encoding.warn('dropped', 'messages.prefix', 'this model does not go on from a turn of its own');
    }
    encoding.warn(
      'changed',
      'messages',
      'the conversation ended with the assistant: a user turn "Continue." was added',
    );
    turns.push({ role: 'user', content: [textBlock('Continue.')] });
    return;
  }
  const block = last.content.at(-1);
  if (typeof block?.text === 'string')
    last.content = [...last.content.slice(0, -1), { ...block, text: block.text.trimEnd() }];
}

interface EncodedTurns {
  system: JsonObject[];
  turns: WireTurn[];
}

export function encodeMessages(encoding: EncodeContext): EncodedTurns {
  const { messages } = encoding.request;
  const split = leadingSystem(messages);
  const system: JsonObject[] = [];
  for (const message of messages.slice(0, split)) {
    if (message.name !== undefined)
      encoding.warn('dropped', 'messages.name', 'messages have no author names');
    encoding.leaveOut(message.native);
    extend(system, encodeParts(message.parts, 'system', encoding));
  }
  return { system, turns: encodeTurns(messages.slice(split), encoding) };
}

/** Steps that depend on whether the model may continue a turn of its own. */
export function finishTurns(turns: WireTurn[], prefill: boolean, encoding: EncodeContext): void {
  turns.forEach(finishTurn);
  if (turns[0]?.role !== 'user') {
    if (turns.length > 0) encoding.warn('changed', 'messages', 'a user turn was put before the first turn');
    turns.unshift({ role: 'user', content: [textBlock(PLACEHOLDER)] });
  }
  finishPrefill(turns, prefill, encoding);
}

function isThinking(block: JsonObject | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

/** The open tool turn (its results are the newest turn) must begin with thinking when thinking is on. */
export function lacksThinking(turns: readonly WireTurn[]): boolean {
  const newest = turns.findLastIndex((turn) => turn.role !== 'system');
  const last = turns[newest];
  const isBefore = (turn: WireTurn, index: number): boolean => index < newest && turn.role !== 'system';
  const before = last?.role === 'assistant' ? last : turns.findLast(isBefore);
  if (before?.role !== 'assistant' || !before.content.some((block) => block.type === 'tool_use'))
    return false;
  return !isThinking(before.content[0]);
}

/** With thinking off, thinking in the last assistant turn is refused. */
export function stripLastThinking(turns: WireTurn[], encoding: EncodeContext): void {
  const index = turns.findLastIndex((turn) => turn.role === 'assistant');
  const turn = turns[index];
  if (turn === undefined || !turn.content.some(isThinking)) return;
  encoding.warn('quiet', 'messages.reasoning', 'thinking is off: the last turn goes without its own');
  turn.content = turn.content.filter((block) => !isThinking(block));
  if (turn.content.length === 0) turns.splice(index, 1);
}
