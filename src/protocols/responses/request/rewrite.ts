// The body of a relayed responses request: every byte stays but the model's name.
import type { RelayedBody, RelayTarget, RewrittenBody } from '../../protocol.ts';
import { rewriteBody } from '../../json/request-bytes.ts';

export function rewrite(body: RelayedBody, target: RelayTarget): RewrittenBody {
  return rewriteBody(body, target, {});
}
