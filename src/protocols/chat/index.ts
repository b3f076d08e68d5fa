// The chat-completions protocol, as the gateway uses it.
import type { ClientSide, Protocol, ProviderSide, Relay } from '../protocol.ts';
import { readEnvelope, hints } from './request/envelope.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { authHeaders, forwardedHeaders, keyHeaders, limitHeaders } from './headers.ts';
import { rewrite, createClassifier, keepAlive } from './relay.ts';
import { decodeReply, inspectReply } from './reply/decode.ts';
import { encodeReply, holds, lossesOfRewriting } from './reply/encode.ts';
import { decodeRequest, readAsked } from './request/decode.ts';
import { encodeRequest } from './request/encode.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder } from './stream/encoder.ts';
import { historyRules } from './request/server-rules.ts';
import { wirePath } from './fields.ts';

const path = '/chat/completions';

const client: ClientSide = {
  path,
  setup: {
    title: 'chat completions',
    base: '/v1',
    baseVariable: 'OPENAI_BASE_URL',
    keyVariable: 'OPENAI_API_KEY',
  },
  keyHeaders,
  ownHeaders: [],
  // No member identifies a chat body: a body that no other protocol recognises is read as chat.
  recognizes: () => false,
  readEnvelope,
  hints,
  forwardedHeaders,
  decodeRequest,
  readAsked,
  wirePath,
  hasServerTools: false,
  encodeReply,
  createStreamEncoder,
  needsInputEstimate: false,
  holds,
  lossesOfRewriting,
  encodeError,
  encodeStreamError,
  keepAlive,
  limitHeaders,
};

const provider: ProviderSide = {
  path,
  authHeaders,
  requestHeaders: [],
  firstModels: '',
  historyRules,
  encodeRequest,
  decodeReply,
  createStreamDecoder,
  decodeError,
};

const relay: Relay = { rewrite, inspectReply, createClassifier };

export const chat: Protocol = { name: 'chat', client, provider, relay };
