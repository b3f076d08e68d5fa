// The chat-completions protocol, as the gateway uses it.
import type { ClientSide, Protocol, ProviderSide, Relay } from '../interface/protocol.ts';
import { hints } from './request/envelope.ts';
import { endpoints } from './endpoints.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { forwardedHeaders, keyHeaders, limitHeaders, outline } from './outline.ts';
import { readMarks } from './reply/marks.ts';
import { inspectReply, rewrite, createClassifier, keepAlive } from './relay.ts';
import { ORDER_RULES, RELAY_RULES } from './relay-rules.ts';
import { decodeReply } from './reply/decode.ts';
import { encodeReply, holds, lossesOfRewriting } from './reply/encode.ts';
import { decodeRequest, readAsked, readOffer } from './request/decode.ts';
import { encodeRequest } from './request/encode.ts';
import { prompt } from './request/prompt.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder } from './stream/encoder.ts';
import { historyRules } from './request/server-rules.ts';
import { wirePath } from './fields.ts';

const { path, setup, hasServerTools } = outline;

const client: ClientSide = {
  path,
  endpoints,
  setup,
  hasServerTools,
  keyHeaders,
  ownHeaders: [],
  // No member identifies a chat body: a body that no other protocol recognises is read as chat.
  recognizes: () => false,
  hints,
  prompt,
  forwardedHeaders,
  decodeRequest,
  readAsked,
  wirePath,
  encodeReply,
  createStreamEncoder,
  needsInputEstimate: false,
  holds,
  lossesOfRewriting,
  encodeError,
  encodeStreamError,
  cutsBrokenStreams: true,
  keepAlive,
  limitHeaders,
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

export const chat: Protocol = { name: 'chat', spoken: 'chat', permission: 'chat', client, provider, relay };
