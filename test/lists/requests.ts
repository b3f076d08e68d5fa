// Requests of each protocol with one long list.
import type { ProtocolName } from '../../src/canonical/request.ts';
import { CHAT } from './chat.ts';
import { MESSAGES } from './messages.ts';
import type { Make } from './orders.ts';
import { RESPONSES } from './responses.ts';

export const REQUESTS: Record<ProtocolName, readonly [string, Make][]> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
};
