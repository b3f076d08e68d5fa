// The chat-completions protocol, as the gateway uses it.
import type { Protocol } from '../protocol.ts';
import { readEnvelope } from './request/envelope.ts';
import { encodeError, encodeStreamError } from './errors.ts';
import { decodeError } from './provider-error.ts';
import { authHeaders, forwardedHeaders, keyHeaders, limitHeaders } from './headers.ts';
import { hints } from './request/hints.ts';
import { rewrite } from './rewrite.ts';
import { commits, createWatch, isBroken, isQuiet, keepAlive } from './stream/relay.ts';
import { decodeReply, encodeReply, inspectReply } from './reply/reply.ts';
import { decodeRequest, readAsked } from './request/decode.ts';
import { encodeRequest } from './request/encode.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder } from './stream/encoder.ts';
import { historyRules } from './request/server-rules.ts';
import { holds, lossesOfRewriting } from './reply/losses.ts';
import { wirePath } from './field-names.ts';

export const chat: Protocol = {
  name: 'chat',
  client: {
    setup: {
      title: 'chat completions',
      base: '/v1',
      baseVariable: 'OPENAI_BASE_URL',
      keyVariable: 'OPENAI_API_KEY',
    },
    keyHeaders,
    ownHeaders: [],
    // Nothing stands in its bodies alone: what no other protocol recognizes is read as chat.
    recognizes: () => false,
    hints,
    forwardedHeaders,
    asksForLongContext: () => false,
    needsInputEstimate: false,
    hasServerTools: false,
    holds,
    lossesOfRewriting,
  },
  provider: {
    authHeaders,
    requestHeaders: [],
    firstModels: '',
    historyRules,
  },
  relay: { rewrite },
  path: '/chat/completions',
  readEnvelope,
  decodeRequest,
  readAsked,
  wirePath,
  encodeRequest,
  decodeReply,
  createStreamDecoder,
  decodeError,
  inspectReply,
  encodeReply,
  createStreamEncoder,
  encodeError,
  encodeStreamError,
  keepAlive,
  limitHeaders,
  commits,
  createWatch,
  isBroken,
  isQuiet,
};
