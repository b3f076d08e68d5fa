// The endpoints of the responses protocol. Those of stored answers are for the account that got the answer.
import { hasInputTokens } from '../interface/endpoint.ts';
import type { ClientSide } from '../interface/protocol.ts';
import { compaction } from './compaction.ts';
import { outline } from './outline.ts';
import { inspectReply } from './relay.ts';
import { readEnvelope } from './request/envelope.ts';
import { dialect } from './stream/socket.ts';
import { stored } from './stored/index.ts';
import { show, showInput } from './stored/show.ts';

const { path } = outline;
const COMPACT = `${path}/compact`;

export const endpoints: ClientSide['endpoints'] = [
  { does: 'generate', method: 'POST', path, readEnvelope },
  { does: 'converse', method: 'GET', path, dialect },
  {
    does: 'relay',
    method: 'POST',
    path: COMPACT,
    at: { pathOf: (traits) => (traits.compaction ? COMPACT : undefined), ability: 'compact conversations' },
    readEnvelope,
    inspectReply,
    instead: compaction,
  },
  {
    does: 'count',
    method: 'POST',
    path: `${path}/input_tokens`,
    readEnvelope,
    isCount: hasInputTokens,
    encode: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
  { does: 'show_stored', method: 'GET', path: `${path}/{id}`, stored, show },
  { does: 'delete_stored', method: 'DELETE', path: `${path}/{id}`, stored },
  { does: 'show_stored', method: 'GET', path: `${path}/{id}/input_items`, stored, show: showInput },
];
