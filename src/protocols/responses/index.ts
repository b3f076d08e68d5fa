// The responses protocol (POST /v1/responses), as the gateway uses it.
import type { ClientSide, Protocol, ProviderSide, Relay } from '../interface/protocol.ts';
import { endpoints } from './endpoints.ts';
import { decodeError, encodeError, encodeStreamError, errorHead } from './errors.ts';
import { wirePath } from './fields.ts';
import { codexHeaders } from './limit-headers.ts';
import { forwardedHeaders, keyHeaders, limitHeaders, returnedHeaders, outline } from './outline.ts';
import { holds, lossesOfRewriting, encodeReply } from './reply/encode.ts';
import { decodeReply } from './reply/decode.ts';
import { decodeRequest, readAsked, readOffer } from './request/decode.ts';
import { encodeRequest, historyRules } from './request/encode.ts';
import { hints, recognizes } from './request/envelope.ts';
import { readMarks } from './reply/marks.ts';
import { inspectReply, rewrite, createClassifier, keepAlive } from './relay.ts';
import { ORDER_RULES, RELAY_RULES } from './relay-rules.ts';
import { stored } from './stored/index.ts';
import { prompt } from './request/prompt.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder } from './stream/encoder.ts';

const { path, setup, hasServerTools } = outline;

const client: ClientSide = {
  path,
  endpoints,
  setup,
  hasServerTools,
  keyHeaders,
  ownHeaders: [],
  recognizes,
  hints,
  prompt,
  forwardedHeaders,
  returnedHeaders,
  decodeRequest,
  readAsked,
  wirePath,
  stored,
  encodeReply,
  createStreamEncoder,
  needsInputEstimate: false,
  holds,
  lossesOfRewriting,
  encodeError,
  errorHead,
  encodeStreamError,
  cutsBrokenStreams: false,
  keepAlive,
  limitHeaders,
  screen: { unasked: true, headers: codexHeaders },
};

const provider: ProviderSide = {
  ...outline,
  framing: 'sse',
  historyRules,
  encodeRequest,
  decodeReply,
  createStreamDecoder,
  decodeError,
};

const relay: Relay = {
  rewrite,
  rules: [RELAY_RULES, ORDER_RULES],
  readOffer,
  inspectReply,
  readMarks,
  createClassifier,
};

export const responses: Protocol = {
  name: 'responses',
  spoken: 'responses',
  permission: 'responses',
  client,
  provider,
  relay,
};
