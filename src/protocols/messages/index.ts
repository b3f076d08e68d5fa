// The messages protocol (POST /v1/messages) as the gateway knows protocols.
import type { Protocol } from '../protocol.ts';
import { cleanBody } from './clean-body.ts';
import { readEnvelope } from './envelope.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { limitHeaders } from './limit-headers.ts';
import { pausing } from './pausing.ts';
import { commits, createWatch, isBroken, isQuiet } from './relay.ts';
import { decodeReply, encodeReply, inspectReply } from './reply.ts';
import { decodeRequest, readAsked } from './request-decode.ts';
import { encodeRequest } from './request-encode.ts';
import { createStreamDecoder } from './stream-decoder.ts';
import { createStreamEncoder, PING } from './stream-encoder.ts';
import { wirePath } from './wire-path.ts';

export { readCountEnvelope } from './envelope.ts';

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
  pausing,
};
