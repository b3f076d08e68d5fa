// Every wire protocol that the gateway speaks, by name.
import type { ProtocolName } from '../canonical/request.ts';
import { chat } from './chat/index.ts';
import { messages } from './messages/index.ts';
import type { Protocol } from './protocol.ts';

export const protocols: Readonly<Record<ProtocolName, Protocol>> = { chat, messages };
