// What is known of the protocol without its code, which only requests need.
import type { ProtocolOutline } from '../protocol.ts';
import { authHeaders } from './headers.ts';

export const outline: ProtocolOutline = {
  setup: {
    title: 'responses',
    base: '/v1',
    baseVariable: 'OPENAI_BASE_URL',
    keyVariable: 'OPENAI_API_KEY',
  },
  hasServerTools: true,
  authHeaders,
  requestHeaders: [],
  firstModels: '',
};
