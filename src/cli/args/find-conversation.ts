// The conversation that a person names by the beginning of its id.
import { findConversations, type FoundConversation } from '../../accounts/conversation-report.ts';
import { CliError } from '../../cli-error.ts';
import type { StoreReader } from '../../store/reader.ts';

/** Ids that an error names. */
const MOST_NAMED = 3;

/** Throws CliError if there is none, or several. */
export async function findConversation(
  text: string,
  store: Pick<StoreReader, 'conversationParts' | 'listStops'>,
): Promise<FoundConversation> {
  const found = await findConversations(text, store);
  const [first] = found;
  const shown = JSON.stringify(text);
  if (first === undefined)
    throw new CliError(`no conversation's id begins with ${shown}; see: gateway conversations`);
  if (found.length === 1) return first;
  const some = found
    .slice(0, MOST_NAMED)
    .map(({ id }) => id)
    .join(', ');
  throw new CliError(`several conversations begin with ${shown}: ${some}; give more of the id`);
}
