// POST /responses/input_tokens: how many tokens a request has, without an answer to it.
import { isObject } from '../../canonical/json.ts';
import type { TokenCounting } from '../protocol.ts';
import { readEnvelope } from './request/envelope.ts';

export const tokenCounting: TokenCounting = {
  path: '/responses/input_tokens',
  readEnvelope,
  isCount: (value) => isObject(value) && typeof value.input_tokens === 'number',
  encode: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};
