// Whole replies of the responses protocol.
import type { JsonObject } from '../../../canonical/json.ts';
import type { Reply } from '../../../canonical/reply.ts';
import type { Usage } from '../../../canonical/usage.ts';
import type { ReplyContext } from '../../protocol.ts';

export function inspectReply(_value: unknown): { usage?: Usage } {
  throw new Error('not built yet');
}

export function decodeReply(_value: unknown, _source?: Buffer | string): Reply {
  throw new Error('not built yet');
}

export function encodeReply(_reply: Reply, _context: ReplyContext): JsonObject {
  throw new Error('not built yet');
}
