// Conversations that nothing but their beginning names. One that begins like another after a long pause is a new one, so the id has the
// time of the first request in it; which that is, is kept here for the last ones.

/** A conversation without a request for so long has ended. */
const PAUSE_MS = 6 * 3_600_000;
const MOST = 10_000;
/** Enough until the year 2132. */
const SLOT_DIGITS = 3;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

interface Begun {
  slot: string;
  lastAt: number;
}

/** When conversations with this beginning began and went on last, for the other workers of a gateway. */
export type SharedBeginning = Readonly<Begun>;

export interface Beginnings {
  /** When the current conversation began, in base62: two conversations in succession differ. */
  slotOf(begun: string, now: number): string;
  /** What another worker knows. */
  adopt(begun: string, shared: SharedBeginning): void;
}

/** `share`: called when a conversation begins, and now and then while it continues. */
export function createBeginnings(
  share?: (begun: string, shared: SharedBeginning) => void,
  most = MOST,
): Beginnings {
  // In order of last use: the first is forgotten first.
  const known = new Map<string, Begun & { sharedAt: number }>();

  function keep(begun: string, entry: Begun & { sharedAt: number }): void {
    known.delete(begun);
    known.set(begun, entry);
    if (known.size <= most) return;
    for (const oldest of known.keys()) {
      known.delete(oldest);
      return;
    }
  }

  return {
    slotOf(begun, now) {
      const before = known.get(begun);
      if (before !== undefined && now - before.lastAt < REFRESH_MS && now >= before.lastAt)
        return before.slot;
      const goesOn = before !== undefined && now - before.lastAt < PAUSE_MS;
      const slot = goesOn ? before.slot : slotAt(now);
      const isTold = goesOn && now - before.sharedAt < SHARE_MS;
      keep(begun, { slot, lastAt: now, sharedAt: isTold ? before.sharedAt : now });
      if (!isTold) share?.(begun, { slot, lastAt: now });
      return slot;
    },
    adopt(begun, { slot, lastAt }) {
      const before = known.get(begun);
      if (before === undefined || before.lastAt < lastAt) keep(begun, { slot, lastAt, sharedAt: lastAt });
    },
  };
}

/** A request that follows so soon changes nothing. */
const REFRESH_MS = 10_000;
/** How often the other workers hear that a conversation continues. */
const SHARE_MS = PAUSE_MS / 6;

function slotAt(now: number): string {
  let rest = Math.floor(now / PAUSE_MS);
  let text = '';
  while (text.length < SLOT_DIGITS) {
    text = DIGITS.charAt(rest % DIGITS.length) + text;
    rest = Math.floor(rest / DIGITS.length);
  }
  return text;
}
