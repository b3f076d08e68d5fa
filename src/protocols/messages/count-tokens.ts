// POST /messages/count_tokens: how many tokens a request has, without an answer to it.
import { isObject } from '../../canonical/json.ts';
import type { TokenCounting } from '../protocol.ts';
import { readCountEnvelope } from './request/envelope.ts';

export const tokenCounting: TokenCounting = {
  path: '/messages/count_tokens',
  readEnvelope: readCountEnvelope,
  isCount: (value) => isObject(value) && typeof value.input_tokens === 'number',
  encode: (tokens) => ({ input_tokens: tokens }),
};
