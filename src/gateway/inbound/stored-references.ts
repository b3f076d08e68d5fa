// Resolves references of a request to stored answers and items of its account, and opens blobs that were sealed for the account. The
// store is read once, before a target is asked.
import type { JsonObject } from '../../canonical/json.ts';
import { GatewayError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { References, StoredAnswers } from '../../protocols/protocol.ts';
import type { SealedItems } from '../../store/sealed-items.ts';
import { readRequest, type Inbound } from './read-request.ts';

type Found = Parameters<StoredAnswers['inline']>[1];

const NOTHING_FOUND: ReadonlyMap<string, string> = new Map();

/** undefined: the body refers to nothing. Rejects with GatewayError `unavailable` if the store cannot be read. */
export function resolveReferences(
  inbound: Inbound,
  stored: StoredAnswers,
  accountId: number,
  { items, log }: { items: SealedItems; log: Logger },
): Promise<StoredReferences> | undefined {
  const { ids, bare, sealed } = stored.references(inbound.value);
  if (ids.length === 0 && bare.length === 0 && sealed.length === 0) return undefined;
  return readable(log, async () => {
    const texts = await textsOf({ ids, bare }, accountId, { items, log });
    const opened = new Map<string, string>();
    for (const blob of sealed) {
      const text = items.unseal(accountId, blob);
      if (text !== undefined) opened.set(blob, text);
    }
    const holder = stored.heldBy([...ids, ...bare.filter((id) => texts.has(id))], texts);
    return new StoredReferences(inbound, stored, { texts, opened }, sealed.length > 0, holder);
  });
}

async function textsOf(
  { ids, bare }: Pick<References, 'ids' | 'bare'>,
  accountId: number,
  { items, log }: { items: SealedItems; log: Logger },
): Promise<ReadonlyMap<string, string>> {
  const all = [...ids, ...bare];
  if (all.length === 0) return NOTHING_FOUND;
  try {
    const texts = await items.find(accountId, 'answer', all);
    // Later requests of the conversation refer to the same items.
    if (texts.size > 0) await items.extend(accountId, 'answer', [...texts.keys()]);
    return texts;
  } catch (error) {
    if (ids.length > 0) throw error;
    // The request can do without: the model thinks less.
    log.warn('stored thinking could not be read', { reason: String(error) });
    return NOTHING_FOUND;
  }
}

/** The text stored under an id; undefined: none. Throws as `resolveReferences` does. */
export function findStored(
  id: string,
  accountId: number,
  { items, log }: { items: SealedItems; log: Logger },
): Promise<string | undefined> {
  return readable(log, async () => (await items.find(accountId, 'answer', [id])).get(id));
}

export async function deleteStored(
  ids: readonly string[],
  accountId: number,
  { items, log }: { items: SealedItems; log: Logger },
): Promise<void> {
  await readable(log, () => items.delete(accountId, 'answer', ids));
}

async function readable<Value>(log: Logger, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (cause) {
    log.error('stored items cannot be read', { reason: String(cause) });
    const message = 'stored answers cannot be read now; try again';
    throw new GatewayError('unavailable', message, { retryAfter: 1, cause });
  }
}

/** A body with references, and the bodies in which they are resolved. */
export class StoredReferences {
  readonly #inbound: Inbound;
  readonly #stored: StoredAnswers;
  readonly #found: Found;
  readonly #hasSealed: boolean;
  readonly #holder: string | undefined;
  #translated: Inbound | undefined;
  #relayed: Inbound | undefined;

  constructor(
    inbound: Inbound,
    stored: StoredAnswers,
    found: Found,
    hasSealed: boolean,
    holder: string | undefined,
  ) {
    this.#inbound = inbound;
    this.#stored = stored;
    this.#found = found;
    this.#hasSealed = hasSealed;
    this.#holder = holder;
  }

  /** The body to translate. Throws GatewayError for a reference to an id that is not stored. */
  get translated(): Inbound {
    return (this.#translated ??= this.#read('translated'));
  }

  /**
   * To be relayed to this provider: as the client wrote it where the provider can resolve its references, or where nobody here
   * can. Throws GatewayError as `translated` does.
   */
  relayedTo(provider: string): Inbound {
    const known = this.#found.texts.size > 0 && provider !== this.#holder;
    return known || this.#hasSealed ? (this.#relayed ??= this.#read('relayed')) : this.#inbound;
  }

  /** The request that an answer is stored with; undefined: it cannot be given without references. */
  get toStore(): JsonObject | undefined {
    return this.#whole()?.value;
  }

  /** What routing goes by: the body with what was found, so that its images and its length count. undefined: the body alone. */
  get routed(): Inbound | undefined {
    return this.#found.texts.size > 0 ? this.#whole() : undefined;
  }

  #whole(): Inbound | undefined {
    try {
      return this.translated;
    } catch (error) {
      if (error instanceof GatewayError) return undefined;
      throw error;
    }
  }

  release(): void {
    this.#translated?.release();
    this.#relayed?.release();
  }

  #read(use: 'translated' | 'relayed'): Inbound {
    return readRequest(this.#inbound.protocol, this.#stored.inline(this.#inbound, this.#found, use));
  }
}
