// The conversation that a person names by the beginning of its id.
import { CliError } from '../../cli-error.ts';
import { readConversationId } from '../../conversations/names.ts';
import type { ConversationPart } from '../../store/conversation-parts.ts';
import type { Stopped } from '../../store/holds/brakes.ts';
import type { StoreReader } from '../../store/reader.ts';

/** Ids that an error names. */
const MOST_NAMED = 3;

/** Its requests, and the stop by a brake; one of them may be missing. */
interface FoundConversation {
  id: string;
  parts: ConversationPart[];
  stop: Stopped | undefined;
}

/** Throws CliError if there is none, or several. */
export async function findConversation(
  text: string,
  store: Pick<StoreReader, 'conversationParts' | 'listStops'>,
): Promise<FoundConversation> {
  const prefix = readConversationId(text.trim());
  const query = prefix === undefined ? undefined : { prefix, limit: MOST_NAMED + 1 };
  const parts = query === undefined ? [] : await store.conversationParts(query);
  const stops = query === undefined ? [] : await store.listStops(query);
  const ids = [...new Set([...parts, ...stops].map(({ conversation }) => conversation))];
  const [id] = ids;
  const shown = JSON.stringify(text);
  if (id === undefined)
    throw new CliError(`no conversation's id begins with ${shown}; see: gateway conversations`);
  if (ids.length === 1) return { id, parts, stop: stops[0] };
  const some = ids.slice(0, MOST_NAMED).join(', ');
  throw new CliError(`several conversations begin with ${shown}: ${some}; give more of the id`);
}
