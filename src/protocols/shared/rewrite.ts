// A body for a provider of the same protocol: the client's own bytes, with what differs for this target spliced in.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import { scanMembers, splice, type Edit, type Members } from '../json/splice.ts';
import type { RelayedBody, RelayTarget, RewrittenBody } from '../protocol.ts';

/** `cleaned`: the bytes without what no provider takes back. `ask`: what the gateway itself adds. */
export function rewriteBody(
  { bytes, members, value }: RelayedBody,
  target: RelayTarget,
  { cleaned = bytes, ask }: { cleaned?: Buffer; ask?: (members: Members) => Edit | undefined },
): RewrittenBody {
  const withoutThinking = target.withoutThinking === true;
  const places = cleaned === bytes ? members : scanMembers(cleaned, Infinity);
  const edits: Edit[] = [];
  const model = places.get('model');
  if (model !== undefined && value.model !== target.upstream) {
    edits.push({ start: model.start, end: model.end, text: JSON.stringify(target.upstream) });
  }
  const question = ask?.(places);
  if (question !== undefined) edits.push(question);
  // A turn that begins without thinking can't go on with it, where it can be switched off.
  const thinking = withoutThinking && asksForThinking(value, target) ? places.get('thinking') : undefined;
  if (thinking !== undefined) {
    edits.push({ start: thinking.start, end: thinking.end, text: '{"type":"disabled"}' });
  }
  return {
    bytes: edits.length === 0 ? cleaned : splice(cleaned, edits),
    thinkingCut: thinking !== undefined || (withoutThinking && cleaned !== bytes),
  };
}

/** Whether it asks for thinking that can be switched off: some models take that only up to an effort, some never. */
function asksForThinking({ thinking, output_config: output }: JsonObject, { traits }: RelayTarget): boolean {
  if (!isObject(thinking) || thinking.type === 'disabled') return false;
  if (traits.thinkingOff !== 'up_to_high') return traits.thinkingOff === 'always';
  return !isObject(output) || (output.effort !== 'xhigh' && output.effort !== 'max');
}
