// The messages protocol (POST /v1/messages) as the gateway knows protocols.
import type { Protocol } from '../protocol.ts';
import { tokenCounting } from './count-tokens.ts';
import { hints, recognizes } from './request/hints.ts';
import { rewrite } from './rewrite.ts';
import { readEnvelope } from './request/envelope.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import {
  asksForLongContext,
  authHeaders,
  forwardedHeaders,
  keyHeaders,
  limitHeaders,
  ownHeaders,
  requestHeaders,
} from './headers.ts';
import { pauseTurn } from './pause-turn.ts';
import { commits, createWatch, isBroken, isQuiet } from './stream/relay.ts';
import { decodeReply, encodeReply, inspectReply } from './reply/reply.ts';
import { decodeRequest, readAsked } from './request/decode.ts';
import { encodeRequest } from './request/encode.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder, PING } from './stream/encoder.ts';
import { historyRules } from './request/encode-messages.ts';
import { holds, lossesOfRewriting } from './reply/losses.ts';
import { wirePath } from './field-names.ts';

export { readCountEnvelope } from './request/envelope.ts';

export const messages: Protocol = {
  name: 'messages',
  client: {
    setup: {
      title: 'messages',
      base: '',
      baseVariable: 'ANTHROPIC_BASE_URL',
      keyVariable: 'ANTHROPIC_API_KEY',
    },
    keyHeaders,
    ownHeaders,
    recognizes,
    hints,
    forwardedHeaders,
    asksForLongContext,
    needsInputEstimate: true,
    hasServerTools: true,
    holds,
    lossesOfRewriting,
    counting: tokenCounting,
  },
  provider: {
    authHeaders,
    requestHeaders,
    firstModels: '?limit=1000',
    historyRules,
  },
  relay: { rewrite },
  path: '/messages',
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
  keepAlive: PING,
  limitHeaders,
  commits,
  createWatch,
  isBroken,
  isQuiet,
  pausing: pauseTurn,
};
