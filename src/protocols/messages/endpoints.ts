// The endpoints of the messages protocol.
import { hasInputTokens } from '../interface/endpoint.ts';
import type { ClientSide } from '../interface/protocol.ts';
import { outline } from './outline.ts';
import { readCountEnvelope, readEnvelope } from './request/envelope.ts';

export const endpoints: ClientSide['endpoints'] = [
  { does: 'generate', method: 'POST', path: outline.path, readEnvelope },
  {
    does: 'count',
    method: 'POST',
    path: `${outline.path}/count_tokens`,
    readEnvelope: readCountEnvelope,
    isCount: hasInputTokens,
    encode: (tokens) => ({ input_tokens: tokens }),
  },
];
