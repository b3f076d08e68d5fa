// Words of the list of conversations and of one of them.
import type { Conversation } from '../../api.ts';

/** By which people find it, as commands show it. */
export const shortId = (id: string): string => id.replace(/^conv_/, '').slice(0, 8);

export const STOPS: Readonly<Record<NonNullable<Conversation['stopped']>, string>> = {
  conversation: 'stopped: cost',
  repeated_call: 'stopped: repeated call',
  requests_a_prompt: 'stopped: requests of a prompt',
};
