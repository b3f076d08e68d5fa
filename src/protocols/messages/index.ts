// The messages protocol (POST /v1/messages), as the gateway uses it.
import type { ClientSide, Protocol, ProviderSide, Relay } from '../interface/protocol.ts';
import { hints, recognizes } from './request/envelope.ts';
import { readMarks } from './reply/marks.ts';
import { inspectReply, rewrite, createClassifier } from './relay.ts';
import { endpoints } from './endpoints.ts';
import { fitHeaders, RELAY_RULES } from './relay-rules.ts';
import { decodeError, encodeError, encodeStreamError, errorHead } from './errors.ts';
import { forwardedHeaders, keyHeaders, limitHeaders, ownHeaders, outline } from './outline.ts';
import { pauseTurn } from './pause-turn.ts';
import { decodeReply } from './reply/decode.ts';
import { encodeReply, holds, lossesOfRewriting } from './reply/encode.ts';
import { decodeRequest, readAsked, readOffer } from './request/decode.ts';
import { encodeRequest } from './request/encode.ts';
import { prompt } from './request/prompt.ts';
import { screenHeaders } from './screen/limit-headers.ts';
import { screenUsage, USAGE_PATH } from './screen/usage.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder, PING } from './stream/encoder.ts';
import { historyRules } from './request/encode-messages.ts';
import { wirePath } from './fields.ts';

const { path, setup, hasServerTools } = outline;

const client: ClientSide = {
  path,
  endpoints,
  setup,
  hasServerTools,
  keyHeaders,
  ownHeaders,
  recognizes,
  hints,
  prompt,
  forwardedHeaders,
  decodeRequest,
  readAsked,
  wirePath,
  encodeReply,
  createStreamEncoder,
  needsInputEstimate: true,
  holds,
  lossesOfRewriting,
  encodeError,
  errorHead,
  encodeStreamError,
  cutsBrokenStreams: true,
  keepAlive: PING,
  limitHeaders,
  screen: { unasked: false, headers: screenHeaders, usage: { path: USAGE_PATH, body: screenUsage } },
};

const provider: ProviderSide = {
  ...outline,
  framing: 'sse',
  historyRules,
  encodeRequest,
  decodeReply,
  createStreamDecoder,
  decodeError,
  pausing: pauseTurn,
};

const relay: Relay = {
  rewrite,
  rules: [RELAY_RULES],
  fitHeaders,
  readOffer,
  inspectReply,
  readMarks,
  createClassifier,
};

export const messages: Protocol = {
  name: 'messages',
  spoken: 'messages',
  permission: 'messages',
  client,
  provider,
  relay,
};
