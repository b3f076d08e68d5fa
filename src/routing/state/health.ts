// The health of targets: cool-downs after rate limits, circuit breakers, times to first byte. It refuses no request; routing orders
// targets by it, and the gateway calls `begin` before it contacts a target.
import type { Clock } from '../../clock.ts';
import type { ProviderFailure } from '../../errors.ts';
import { FAILURES } from '../../failures.ts';

/** One contact with a target. The first statement about the target counts, further ones do nothing. */
export interface HealthTicket {
  /** A frame or a reply with content arrived. `firstByteMs`: from the contact to it. The target answers until `ended`. */
  succeeded(firstByteMs: number): void;
  failed(failure: ProviderFailure): void;
  /** The client left, or the gateway ended the request: no statement about the target. */
  abandoned(): void;
  /** After `succeeded`: the answer is over, however it ended. */
  ended(): void;
}

export interface TargetState {
  /** `half_open`: the next contact is a probe. */
  breaker: 'closed' | 'open' | 'half_open';
  /** A probe is under way. */
  probing: boolean;
  /** Milliseconds left of a cool-down. */
  coolingMs: number;
  /** Milliseconds until a probe is due. */
  openMs: number;
  /** Failures in a row. */
  failures: number;
  /** Recent time to first byte; undefined: none measured lately. */
  firstByteMs: number | undefined;
  /** Contacts, each until the end of its answer. */
  inFlight: number;
}

/** What other workers of the gateway adopt of a target. Milliseconds from now. */
export interface SharedHealth {
  failures: number;
  open: boolean;
  openMs: number;
  opened: number;
  coolMs: number;
  cooled: number;
}

export interface Health {
  state(key: string): TargetState;
  /** Every target that was contacted. */
  states(): [string, TargetState][];
  /** For the strategy `fastest`: less is better. A target that was not measured lately comes first, until a request is under way to it. */
  pace(key: string): number;
  /** Before a contact. undefined: another request is this target's probe, try the next. `lone`: never refused. */
  begin(key: string, lone?: boolean): HealthTicket | undefined;
  /** Takes over what another worker learnt of a target. */
  adopt(key: string, shared: SharedHealth): void;
  /** Ends cool-downs and closes breakers of targets that pass `test`. Requests under way stay counted. */
  reset(test: (key: string) => boolean): void;
  /** Forgets targets that pass `test`: those of a provider that is gone or was changed. */
  forget(test: (key: string) => boolean): void;
}

/** Failures in a row that open a breaker. */
const OPENS_AFTER = 3;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** The longest wait that a provider can ask for. */
const LONGEST_ASKED_MS = 3_600_000;
/** A first-byte time counts as recent for this time. */
const RECENT_MS = 300_000;
/** Weight of the newest first-byte time. */
const NEWEST = 0.3;
const MOST_TARGETS = 4096;

/** 1 s, doubling to 30 s. */
export function coolDown(times: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** Math.min(times, 10), LONGEST_WAIT_MS);
}

/** Times are of the clock that never jumps; `…Turn` are places in the order of what happened, since much happens in one millisecond. */
interface Vitals {
  /** The target's. */
  key: string;
  inFlight: number;
  /** The contacts without a first byte. */
  waiting: number;
  failures: number;
  open: boolean;
  openUntil: number;
  openedTurn: number;
  opened: number;
  probe: object | undefined;
  coolUntil: number;
  cooledTurn: number;
  cooled: number;
  firstByteMs: number | undefined;
  measuredAt: number;
}

interface Time {
  now(): number;
  turn(): number;
}

/** `onChange`: called after failures, and after a success that followed them. */
export function createHealth(
  clock: Clock,
  onChange: (key: string, shared: SharedHealth) => void = () => undefined,
): Health {
  const records = new Map<string, Vitals>();
  let turn = 0;
  const time: Time = { now: () => clock.monotonic(), turn: () => ++turn };
  const changed = (record: Vitals): void => onChange(record.key, sharedOf(record, time.now()));

  function recordOf(key: string): Vitals {
    let record = records.get(key);
    if (record === undefined) {
      if (records.size >= MOST_TARGETS) evict(records, clock.monotonic());
      record = fresh(key);
      records.set(key, record);
    }
    return record;
  }

  return {
    state(key) {
      return stateOf(records.get(key), clock.monotonic());
    },
    states() {
      const now = clock.monotonic();
      return [...records].map(([key, record]) => [key, stateOf(record, now)]);
    },
    pace(key) {
      const record = records.get(key);
      if (record === undefined) return 0;
      if (record.firstByteMs !== undefined && clock.monotonic() - record.measuredAt < RECENT_MS)
        return record.firstByteMs;
      return record.waiting === 0 ? 0 : (record.firstByteMs ?? Infinity);
    },
    begin(key, lone = false) {
      const record = recordOf(key);
      if (record.open && record.probe !== undefined && !lone) return undefined;
      return new Contact(record, time, changed);
    },
    adopt(key, shared) {
      adopt(recordOf(key), shared, time);
    },
    reset(test) {
      for (const [key, record] of records) if (test(key)) heal(record);
    },
    forget(test) {
      for (const key of records.keys()) if (test(key)) records.delete(key);
    },
  };
}

/** A class, as all that is made for each request is: it costs least. */
class Contact implements HealthTicket {
  readonly #record: Vitals;
  readonly #time: Time;
  readonly #changed: (record: Vitals) => void;
  readonly #began: number;
  #judged = false;
  #ended = false;

  constructor(record: Vitals, time: Time, changed: (record: Vitals) => void) {
    this.#record = record;
    this.#time = time;
    this.#changed = changed;
    this.#began = time.turn();
    record.inFlight++;
    record.waiting++;
    if (record.open) record.probe ??= this;
  }

  succeeded(firstByteMs: number): void {
    if (!this.#judge()) return;
    const record = this.#record;
    record.firstByteMs =
      record.firstByteMs === undefined
        ? firstByteMs
        : record.firstByteMs + NEWEST * (firstByteMs - record.firstByteMs);
    record.measuredAt = this.#time.now();
    if (record.failures === 0 && !record.open && record.cooled === 0) return;
    // A contact from before a failure proves nothing about the time after it.
    if (this.#began > record.openedTurn) close(record);
    if (this.#began > record.cooledTurn) warm(record);
    this.#changed(record);
  }

  failed(failure: ProviderFailure): void {
    this.ended();
    if (!this.#judge()) return;
    const effect = FAILURES[failure.kind].health;
    if (effect === 'cools') cool(this.#record, this.#began, this.#time, failure.retryAfterMs);
    else if (effect === 'counts') count(this.#record, this.#began, this.#time);
    if (effect !== 'neither') this.#changed(this.#record);
  }

  abandoned(): void {
    this.#judge();
    this.ended();
  }

  ended(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#record.inFlight--;
  }

  /** False where a statement was made before. */
  #judge(): boolean {
    if (this.#judged) return false;
    this.#judged = true;
    this.#record.waiting--;
    if (this.#record.probe === this) this.#record.probe = undefined;
    return true;
  }
}

function close(record: Vitals): void {
  record.failures = 0;
  record.open = false;
  record.opened = 0;
}

function warm(record: Vitals): void {
  record.coolUntil = -Infinity;
  record.cooled = 0;
}

/** The next failure is the first one again. */
function heal(record: Vitals): void {
  close(record);
  warm(record);
  record.openedTurn = 0;
  record.cooledTurn = 0;
}

/** Many requests that are refused at once are one cool-down, not many: it doubles only by a contact that began after it. */
function cool(record: Vitals, began: number, time: Time, askedMs: number | undefined): void {
  const same = began < record.cooledTurn;
  if (!same) {
    record.cooled++;
    record.cooledTurn = time.turn();
  }
  const wait =
    askedMs !== undefined && askedMs > 0 ? Math.min(askedMs, LONGEST_ASKED_MS) : coolDown(record.cooled - 1);
  const until = time.now() + wait;
  record.coolUntil = same ? Math.max(record.coolUntil, until) : until;
}

function count(record: Vitals, began: number, time: Time): void {
  record.failures++;
  if (record.open ? began < record.openedTurn : record.failures < OPENS_AFTER) return;
  record.open = true;
  record.openedTurn = time.turn();
  record.openUntil = time.now() + coolDown(record.opened);
  record.opened++;
}

function sharedOf(record: Vitals, now: number): SharedHealth {
  const { failures, open, openUntil, opened, coolUntil, cooled } = record;
  const left = (until: number): number => Math.max(until - now, 0);
  return { failures, open, openMs: left(openUntil), opened, coolMs: left(coolUntil), cooled };
}

/** Failures add to what this worker knows; a target that is healthy again is so here, too. */
function adopt(record: Vitals, shared: SharedHealth, time: Time): void {
  const now = time.now();
  if (shared.failures === 0) close(record);
  else record.failures = Math.max(record.failures, shared.failures);
  if (shared.open) {
    record.open = true;
    record.openedTurn = time.turn();
    record.openUntil = Math.max(record.openUntil, now + shared.openMs);
    record.opened = Math.max(record.opened, shared.opened);
  }
  if (shared.cooled === 0) warm(record);
  else {
    record.cooledTurn = time.turn();
    record.coolUntil = Math.max(record.coolUntil, now + shared.coolMs);
    record.cooled = Math.max(record.cooled, shared.cooled);
  }
}

function stateOf(record: Vitals | undefined, now: number): TargetState {
  if (record === undefined) return UNKNOWN;
  const openMs = record.open ? Math.max(record.openUntil - now, 0) : 0;
  return {
    breaker: !record.open ? 'closed' : openMs > 0 ? 'open' : 'half_open',
    probing: record.probe !== undefined,
    coolingMs: Math.max(record.coolUntil - now, 0),
    openMs,
    failures: record.failures,
    firstByteMs: now - record.measuredAt < RECENT_MS ? record.firstByteMs : undefined,
    inFlight: record.inFlight,
  };
}

function fresh(key: string): Vitals {
  return {
    key,
    inFlight: 0,
    waiting: 0,
    failures: 0,
    open: false,
    openUntil: -Infinity,
    openedTurn: 0,
    opened: 0,
    probe: undefined,
    coolUntil: -Infinity,
    cooledTurn: 0,
    cooled: 0,
    firstByteMs: undefined,
    measuredAt: -Infinity,
  };
}

const UNKNOWN: TargetState = stateOf(fresh(''), 0);

/** Removes the oldest record that is idle and healthy, else the oldest. */
function evict(records: Map<string, Vitals>, now: number): void {
  let oldest: string | undefined;
  for (const [key, record] of records) {
    oldest ??= key;
    if (record.inFlight > 0 || record.open || record.coolUntil > now) continue;
    records.delete(key);
    return;
  }
  if (oldest !== undefined) records.delete(oldest);
}
