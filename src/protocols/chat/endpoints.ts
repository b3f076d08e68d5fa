// The endpoints of the chat protocol.
import type { ClientSide } from '../interface/protocol.ts';
import { outline } from './outline.ts';
import { completions } from './relayed/completions.ts';
import { embeddings } from './relayed/embeddings.ts';
import { readEnvelope } from './request/envelope.ts';

export const endpoints: ClientSide['endpoints'] = [
  { does: 'generate', method: 'POST', path: outline.path, keyless: 'unsigned', readEnvelope },
  completions,
  embeddings,
];
