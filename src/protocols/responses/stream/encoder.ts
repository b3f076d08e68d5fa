// Canonical events as the stream that a responses client reads.
import type { ReplyContext, StreamEncoder } from '../../protocol.ts';

export function createStreamEncoder(_context: ReplyContext): StreamEncoder {
  throw new Error('not built yet');
}
