// The outline of every wire protocol, by name: for routing, lists of models and commands, which then need not load the protocols.
import type { ProtocolName } from '../canonical/request.ts';
import { outline as chat } from './chat/outline.ts';
import { outline as messages } from './messages/outline.ts';
import type { ProtocolOutline } from './protocol.ts';
import { outline as responses } from './responses/outline.ts';

export const outlines: Readonly<Record<ProtocolName, ProtocolOutline>> = { chat, messages, responses };
