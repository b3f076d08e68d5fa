// Streams of each protocol with one long list, from their first event to their last.
import type { ProtocolName } from '../../src/canonical/request.ts';
import { CHAT, CHAT_END } from './chat-streams.ts';
import { MESSAGES, MESSAGES_END, MESSAGES_START } from './messages-streams.ts';
import { completed, LAST_ALONE, RESPONSES, RESPONSES_START, said } from './responses-streams.ts';
import type { MakeStream } from './stages.ts';

type Streams = readonly [string, MakeStream][];

const within = (streams: Streams, before: string[], after: string[]): Streams =>
  streams.map(([name, make]) => [name, (items) => [...before, ...make(items), ...after]]);

export const STREAMS: Record<ProtocolName, Streams> = {
  chat: within(CHAT, [], CHAT_END),
  messages: within(MESSAGES, MESSAGES_START, MESSAGES_END),
  responses: [
    ...within(RESPONSES, RESPONSES_START, [completed([said(0, 'a')])]),
    ...within(LAST_ALONE, RESPONSES_START, []),
  ],
};
