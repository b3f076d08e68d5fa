// The body of a relayed responses request: every byte stays but the model's name, and reasoning that its provider can't read.
import { isObject } from '../../../canonical/json.ts';
import { cutsOf, rangesOf, splice } from '../../json/splice.ts';
import { rewriteBody } from '../../json/request-bytes.ts';
import type { RelayedBody, RelayTarget, RewrittenBody } from '../../protocol.ts';

export function rewrite(body: RelayedBody, target: RelayTarget): RewrittenBody {
  return rewriteBody(
    body,
    target,
    target.withoutThinking === undefined ? {} : { cleaned: withoutReasoning(body) },
  );
}

/** If nothing would be left, the body stays: the provider says what is wrong with it. */
function withoutReasoning({ bytes, members, value }: RelayedBody): Buffer {
  const { input } = value;
  const list = members.get('input');
  if (!Array.isArray(input) || list === undefined) return bytes;
  const indexes = input.flatMap((item, index) =>
    isObject(item) && item.type === 'reasoning' ? [index] : [],
  );
  if (indexes.length === 0 || indexes.length === input.length) return bytes;
  const cuts = cutsOf(rangesOf(bytes, list.start, list.end), indexes);
  return splice(
    bytes,
    cuts.map((span) => ({ ...span, text: '' })),
  );
}
