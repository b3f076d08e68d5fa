// Resolves references of a request to stored answers and items of its account, and opens blobs that were sealed for the account. The
// store is read once, before a target is asked.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Config, ProviderConfig } from '../../config/config.ts';
import { GatewayError } from '../../errors.ts';
import type { AnswerMemory } from '../exchange.ts';
import type { Logger } from '../../log.ts';
import type { References, ResolvedBody, StoredAnswers } from '../../protocols/interface/features.ts';
import { ItemsTooLarge, type SealedItems } from '../../store/items/sealed-items.ts';
import { plural } from '../../plural.ts';
import { readRequest, type Inbound } from './read-request.ts';

interface ItemDeps {
  items: SealedItems;
  log: Logger;
}

const NOTHING_FOUND: ReadonlyMap<string, string> = new Map();

/** undefined: the body refers to nothing. Rejects with GatewayError `unavailable` if the store cannot be read. */
export function resolveReferences(
  inbound: Inbound,
  answers: StoredAnswers,
  accountId: number,
  { items, log, current: { config } }: ItemDeps & { current: { config: Config } },
  memory?: AnswerMemory,
): Promise<StoredReferences> | undefined {
  const referred = answers.references(inbound);
  if (!referred.refers) return undefined;
  const { limits, responses } = config;
  return readable(log, async () => {
    const near = memory?.find([...referred.ids, ...referred.bare]) ?? NOTHING_FOUND;
    const far = near.size === 0 ? referred : without(referred, near);
    const stored = responses.store
      ? await textsOf(far, accountId, limits.maxBody, { items, log })
      : NOTHING_FOUND;
    const texts = near.size === 0 ? stored : new Map([...stored, ...near]);
    const opened = new Map<string, string>();
    for (const blob of referred.sealed) {
      const text = items.unseal(accountId, blob);
      if (text !== undefined) opened.set(blob, text);
    }
    const resolved = answers.resolve(inbound, { texts, opened }, limits);
    for (const _ of resolved.prepare()) await yieldToOthers();
    return new StoredReferences(inbound, resolved, texts.size > 0);
  });
}

function without({ ids, bare, ...rest }: References, found: ReadonlyMap<string, string>): References {
  const isFar = (id: string): boolean => !found.has(id);
  return { ...rest, ids: ids.filter(isFar), bare: bare.filter(isFar) };
}

async function textsOf(
  { ids, bare }: References,
  accountId: number,
  most: number,
  { items, log }: ItemDeps,
): Promise<ReadonlyMap<string, string>> {
  const all = [...ids, ...bare];
  if (all.length === 0) return NOTHING_FOUND;
  try {
    // Later requests of the conversation refer to the same items.
    return await items.find(accountId, 'answer', all, { most, keep: true });
  } catch (error) {
    if (error instanceof ItemsTooLarge) throw tooLarge(most);
    if (ids.length > 0) throw error;
    // The request can do without: the model thinks less.
    log.warn('stored thinking could not be read', { reason: String(error) });
    return NOTHING_FOUND;
  }
}

function tooLarge(most: number): GatewayError {
  const message = `the stored items that the request refers to have more than ${plural(most, 'byte')} (limits.max_body); refer to fewer, or begin anew`;
  return new GatewayError('too_large', message, { param: 'input' });
}

/** The text stored under an id; undefined: none. Throws as `resolveReferences` does. */
export function findStored(
  id: string,
  accountId: number,
  { items, log }: ItemDeps,
): Promise<string | undefined> {
  return readable(log, async () => (await items.find(accountId, 'answer', [id])).get(id));
}

export async function deleteStored(
  ids: readonly string[],
  accountId: number,
  { items, log }: ItemDeps,
): Promise<void> {
  await readable(log, () => items.delete(accountId, 'answer', ids));
}

async function readable<Value>(log: Logger, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    log.error('stored items cannot be read', { reason: String(cause) });
    const message = 'stored answers cannot be read now; try again';
    throw new GatewayError('unavailable', message, { retryAfter: 1, cause });
  }
}

/** A request as a provider of its own protocol gets it. */
interface Relayed {
  inbound: Inbound;
  /** Something was left out because it is not stored. */
  lost: boolean;
}

/** A body with references, and the bodies that have them resolved. */
export class StoredReferences {
  readonly #inbound: Inbound;
  readonly #resolved: ResolvedBody;
  readonly #found: boolean;
  #translated: Inbound | GatewayError | undefined;
  /** The last one: a request is seldom relayed to two providers. */
  #relayed: (Relayed & { provider: ProviderConfig }) | undefined;

  /** `found`: some of what it refers to is stored. */
  constructor(inbound: Inbound, resolved: ResolvedBody, found: boolean) {
    this.#inbound = inbound;
    this.#resolved = resolved;
    this.#found = found;
  }

  /** The body to translate. Throws GatewayError for a reference to an id that is not stored, and for a body that grows too large. */
  get translated(): Inbound {
    const known = (this.#translated ??= this.#translate());
    if (known instanceof GatewayError) throw known;
    return known;
  }

  /** To be relayed to this provider, with references to what it holds for the account alone. Throws GatewayError as `translated` does. */
  relayedTo(provider: ProviderConfig): Relayed {
    if (this.#relayed?.provider === provider) return this.#relayed;
    const resolved = this.#resolved.relayedTo(provider.name, provider.sharedIds);
    const relayed: Relayed =
      resolved === undefined
        ? { inbound: this.#inbound, lost: false }
        : { inbound: readRequest(this.#inbound, resolved.bytes), lost: resolved.lost };
    this.#relayed = { provider, ...relayed };
    return relayed;
  }

  /** The request that an answer is stored with; undefined: it cannot be given without references. */
  get toStore(): Inbound | undefined {
    return this.#whole();
  }

  /** What routing goes by: the body with what was found, so that its images and its length count. undefined: the body alone. */
  get routed(): Inbound | undefined {
    return this.#found ? this.#whole() : undefined;
  }

  #whole(): Inbound | undefined {
    try {
      return this.translated;
    } catch (error) {
      if (error instanceof GatewayError) return undefined;
      throw error;
    }
  }

  /** A refusal is kept: what it took to find it is not done again. */
  #translate(): Inbound | GatewayError {
    try {
      const bytes = this.#resolved.translated();
      return bytes === this.#inbound.bytes ? this.#inbound : readRequest(this.#inbound, bytes);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
  }

  release(): void {
    if (!(this.#translated instanceof GatewayError)) this.#translated?.release();
    this.#relayed?.inbound.release();
  }
}
