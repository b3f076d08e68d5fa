// The body of a relayed messages request, without thinking that no provider signed: a real one refuses it, and the gateway itself
// hands it out for models of other protocols and for its own. Every other byte stays, since prompt caches go by bytes.
import { append, isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { isGatewaySignature } from '../../../canonical/thinking-signature.ts';
import { cutsOf, rangesOf, scanMembers, splice, type Range } from '../../json/splice.ts';
import type { RelayedBody, RelayTarget, RewrittenBody } from '../../protocol.ts';
import { rewriteBody } from '../../json/request-bytes.ts';
import { hints } from './hints.ts';

export function rewrite(body: RelayedBody, target: RelayTarget): RewrittenBody {
  const { withoutThinking } = target;
  const cut = withoutThinking === undefined ? 'unsigned' : 'all';
  const thinks = withoutThinking === 'refused' && !hints.hasOpenToolTurn(body.value);
  return rewriteBody(body, target, { cleaned: cleanBody(body.bytes, body.value, cut), thinks });
}

function isThinking(block: JsonValue | undefined): boolean {
  return isObject(block) && (block.type === 'thinking' || block.type === 'redacted_thinking');
}

/** Without a seal, or with one that only the gateway knows. */
function isUnsigned(block: JsonValue | undefined): boolean {
  if (!isObject(block) || !isThinking(block)) return false;
  const seal = block.type === 'thinking' ? block.signature : block.data;
  return typeof seal !== 'string' || seal === '' || isGatewaySignature(seal);
}

function blocksToCut(turn: JsonValue, cut: (block: JsonValue | undefined) => boolean): number[] {
  if (!isObject(turn) || turn.role !== 'assistant' || !Array.isArray(turn.content)) return [];
  const found: number[] = [];
  for (let index = 0; index < turn.content.length; index++) if (cut(turn.content[index])) found.push(index);
  return found;
}

function member(bytes: Buffer, object: Range, name: string): Range | undefined {
  return rangesOf(bytes, object.start, object.end).findLast((item) => item.name === name);
}

/**
 * Without thinking that is unsigned or the gateway's own, or without all of it. A turn of nothing else goes whole: providers refuse an empty turn, and join the user turns around it.
 * If no turn would be left, the body is unchanged, and the provider reports the error.
 */
export function cleanBody(bytes: Buffer, value: JsonObject, thinking: 'unsigned' | 'all'): Buffer {
  const cut = thinking === 'all' ? isThinking : isUnsigned;
  const { messages } = value;
  if (!Array.isArray(messages)) return bytes;
  const dirty: { turn: number; blocks: number[]; whole: boolean }[] = [];
  for (let turn = 0; turn < messages.length; turn++) {
    const message = messages[turn];
    const blocks = message === undefined ? [] : blocksToCut(message, cut);
    if (blocks.length === 0) continue;
    dirty.push({
      turn,
      blocks,
      whole: isObject(message) && blocks.length === (message.content as JsonValue[]).length,
    });
  }
  const wholeTurns = dirty.filter((item) => item.whole).map((item) => item.turn);
  if (dirty.length === 0 || wholeTurns.length === messages.length) return bytes;
  const list = scanMembers(bytes, Infinity).get('messages');
  if (list === undefined) return bytes;
  const turns = rangesOf(bytes, list.start, list.end);
  const spans = cutsOf(turns, wholeTurns);
  for (const { turn, blocks, whole } of dirty) {
    const span = turns[turn];
    const content = whole || span === undefined ? undefined : member(bytes, span, 'content');
    if (content !== undefined) append(spans, cutsOf(rangesOf(bytes, content.start, content.end), blocks));
  }
  return splice(
    bytes,
    spans.map((span) => ({ ...span, text: '' })),
  );
}
