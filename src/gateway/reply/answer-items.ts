// What is stored of an answer, so that later requests may refer to it.
import type { JsonObject } from '../../canonical/json.ts';
import { parseJson } from '../../protocols/json/values.ts';
import type { HiddenTexts, ReplyIds } from '../../protocols/interface/answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Target } from '../../routing/catalog.ts';
import type { NewItem } from '../../store/items/sealed-items.ts';
import type { Inbound } from '../inbound/read-request.ts';
import type { StoredReferences } from '../inbound/stored-references.ts';
import type { ProviderAnswer } from '../outbound/fallback.ts';
import type { RespondDeps } from './reply-context.ts';
import type { OpenedStream } from './silence.ts';

export interface AnsweredRequest {
  inbound: Inbound;
  opened: OpenedStream | undefined;
  references: StoredReferences | undefined;
  answer: ProviderAnswer;
  exchange: Pick<Exchange, 'memory'>;
}

export function joined(
  answer: readonly NewItem[] | undefined,
  signed: readonly NewItem[] | undefined,
): readonly NewItem[] | undefined {
  return answer && signed ? [...answer, ...signed] : (answer ?? signed);
}

/** The complete answer as the client has it, also as JSON; undefined: it is not stored. */
export interface Answered {
  answer: JsonObject | string | undefined;
  hidden?: HiddenTexts;
  replyIds?: ReplyIds;
}

/** Undefined: the answer is not stored. The connection remembers it, if it can. */
export function itemsToStore(
  { answer, hidden, replyIds }: Answered,
  options: AnsweredRequest,
  deps: RespondDeps,
): readonly NewItem[] | undefined {
  const { inbound, references, opened, answer: given, exchange } = options;
  const { memory } = exchange;
  const { stored } = inbound.protocol.client;
  const isStored = inbound.storing && deps.current.config.responses.store;
  if (stored === undefined || answer === undefined || (!isStored && memory === undefined)) return undefined;
  const request = references === undefined ? inbound : references.toStore;
  const { crossing, target } = given.request;
  const value = typeof answer === 'string' ? (parseJson(answer) as JsonObject) : answer;
  const keeper = crossing || !isStored ? undefined : keeperOf(value, target);
  const theirs = opened === undefined ? undefined : replyIds?.theirs;
  const items = stored.toStore({
    request,
    answer: value,
    holder: opened === undefined ? keeper : undefined,
    keptAt: keeper === undefined || theirs === undefined ? undefined : { provider: keeper, id: theirs },
    hidden,
  });
  memory?.keep(items);
  if (!isStored) return undefined;
  return items.map(({ id, text, size }) => ({ kind: 'answer', id, text, size }));
}

/** The provider, unless it says that it stores nothing, or is the built-in one. */
function keeperOf({ store }: JsonObject, { provider }: Target): string | undefined {
  return store === false || provider.source === 'builtin' ? undefined : provider.name;
}
