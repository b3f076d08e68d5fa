// The messages protocol (POST /v1/messages) as the gateway knows protocols.
import type { Protocol } from '../protocol.ts';
import { cleanBody } from './request/clean-body.ts';
import { readEnvelope } from './request/envelope.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { limitHeaders } from './headers.ts';
import { pauseTurn } from './pause-turn.ts';
import { commits, createWatch, isBroken, isQuiet } from './stream/relay.ts';
import { decodeReply, encodeReply, inspectReply } from './reply/reply.ts';
import { decodeRequest, readAsked } from './request/decode.ts';
import { encodeRequest } from './request/encode.ts';
import { createStreamDecoder } from './stream/decoder.ts';
import { createStreamEncoder, PING } from './stream/encoder.ts';
import { wirePath } from './field-names.ts';

export { readCountEnvelope } from './request/envelope.ts';

export const messages: Protocol = {
  name: 'messages',
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
  cleanBody,
  pausing: pauseTurn,
};
