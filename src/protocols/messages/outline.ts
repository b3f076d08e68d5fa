// What is known of the protocol without its code, which only requests need.
import type { ProtocolOutline } from '../protocol.ts';
import { authHeaders, requestHeaders } from './headers.ts';

export const outline: ProtocolOutline = {
  setup: {
    title: 'messages',
    base: '',
    baseVariable: 'ANTHROPIC_BASE_URL',
    keyVariable: 'ANTHROPIC_API_KEY',
  },
  hasServerTools: true,
  authHeaders,
  requestHeaders,
  firstModels: '?limit=1000',
};
