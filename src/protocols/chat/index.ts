// The chat-completions protocol, as the gateway uses it.
import type { Protocol } from '../protocol.ts';
import { readEnvelope } from './request/envelope.ts';
import { encodeError, encodeStreamError } from './errors.ts';
import { decodeError } from './provider-error.ts';
import { commits, createWatch, isBroken, isQuiet, keepAlive, limitHeaders } from './stream/relay.ts';
import { decodeReply, encodeReply, inspectReply } from './reply/reply.ts';
import { decodeRequest, readAsked } from './request/decode.ts';
import { encodeRequest } from './request/encode.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder } from './stream/encoder.ts';
import { wirePath } from './field-names.ts';

export const chat: Protocol = {
  name: 'chat',
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
  // A chat history holds nothing that its own kind of provider refuses.
  cleanBody: (bytes) => bytes,
};
