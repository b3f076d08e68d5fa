// The headers of this protocol, and what else is known of it without its code, which only requests need. None of a client's headers is
// meant for a provider.
import type { KeyHeader, ProtocolOutline } from '../interface/outline.ts';
import {
  API_KEY,
  BEARER,
  bearerHeaders as authHeaders,
  noneForwarded,
  requestLimitHeaders,
} from '../shared/client.ts';

export { authHeaders, noneForwarded as forwardedHeaders, requestLimitHeaders as limitHeaders };

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];

export const outline: ProtocolOutline = {
  path: '/chat/completions',
  setup: {
    title: 'chat completions',
    base: '/v1',
    baseVariable: 'OPENAI_BASE_URL',
    keyVariable: 'OPENAI_API_KEY',
  },
  hasServerTools: false,
  authHeaders,
  requestHeaders: [],
  firstModels: '',
};
