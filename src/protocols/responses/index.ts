// The responses protocol (POST /v1/responses), as the gateway uses it.
import type { ClientSide, Protocol, ProviderSide, Relay } from '../protocol.ts';
import { decodeError, encodeError, encodeStreamError, errorHead } from './errors.ts';
import { wirePath } from './fields.ts';
import { authHeaders, forwardedHeaders, keyHeaders, limitHeaders, returnedHeaders } from './headers.ts';
import { holds, lossesOfRewriting } from './reply/losses.ts';
import { decodeReply, inspectReply } from './reply/decode.ts';
import { encodeReply } from './reply/encode.ts';
import { tokenCounting } from './count-tokens.ts';
import { decodeRequest, readAsked } from './request/decode.ts';
import { encodeRequest, historyRules } from './request/encode.ts';
import { readEnvelope } from './request/envelope.ts';
import { hints, recognizes } from './request/hints.ts';
import { rewrite } from './request/rewrite.ts';
import { stored } from './stored.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder } from './stream/encoder.ts';
import { createClassifier, keepAlive } from './stream/relay.ts';

const path = '/responses';

const client: ClientSide = {
  path,
  setup: {
    title: 'responses',
    base: '/v1',
    baseVariable: 'OPENAI_BASE_URL',
    keyVariable: 'OPENAI_API_KEY',
  },
  keyHeaders,
  ownHeaders: [],
  recognizes,
  readEnvelope,
  hints,
  forwardedHeaders,
  returnedHeaders,
  decodeRequest,
  readAsked,
  wirePath,
  hasServerTools: true,
  counting: tokenCounting,
  stored,
  relayedPaths: ['/responses/compact'],
  encodeReply,
  createStreamEncoder,
  needsInputEstimate: false,
  holds,
  lossesOfRewriting,
  encodeError,
  errorHead,
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

export const responses: Protocol = { name: 'responses', client, provider, relay };
