// The workers of a gateway: starts them, starts a worker again that ended, with a growing pause, replaces all of them one after the
// other, and ends them together. It knows nothing of processes: `launch` makes one.
import type { Clock } from '../../../../clock.ts';
import type { Logger } from '../../../../log.ts';

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: string | null;
}

/** One process, from its start on. */
export interface Launched<Ready> {
  readonly pid: number;
  /** Resolves when it serves, rejects if it cannot. */
  readonly ready: Promise<Ready>;
  readonly exited: Promise<Exit>;
  /** `retire`: another one takes its place. Resolves when it has ended its requests. */
  stop(how: 'stop' | 'retire'): Promise<void>;
  /** From now on it does what is done once for all. */
  lead(): void;
  kill(): void;
}

export interface Member<Process> {
  readonly number: number;
  readonly process: Process;
  state: 'starting' | 'serving' | 'stopping';
  /** On the clock that never jumps. */
  readonly startedAt: number;
}

export interface Pool<Ready, Process> {
  /** Resolves when all serve. Rejects if one cannot; then none is left. */
  start(): Promise<Ready>;
  /** Those that are ending included. */
  readonly members: readonly Member<Process>[];
  /** The one that does what is done once for all. */
  readonly leader: Member<Process> | undefined;
  readonly isReplacing: boolean;
  /** Starts a new worker beside each, one after the other; the old one then ends its requests. Gives the reason why a new one does not
   *  serve; then the old ones stay. */
  replaceAll(): Promise<string | undefined>;
  stop(): Promise<void>;
  kill(): void;
}

/** A worker that served for this time did not end because of its start. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/** The pause before the next start, after so many ends in a row: none, 1 s, doubling to 30 s. */
export function pauseAfter(ends: number): number {
  return ends <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(ends - 2, 10), LONGEST_PAUSE_MS);
}

export function createPool<Ready, Process extends Launched<Ready>>(options: {
  count: number;
  launch: (number: number, leads: boolean) => Process;
  /** How long a worker may take to end its requests; then it is killed. */
  endMs: () => number;
  clock: Clock;
  log: Logger;
  /** Called when a worker is added. */
  onAdded?: (member: Member<Process>) => void;
}): Pool<Ready, Process> {
  const { count, launch, endMs, clock, log, onAdded } = options;
  const members = new Set<Member<Process>>();
  /** Ends in a row, by number. */
  const ends = new Map<number, number>();
  const pauses = new Map<number, () => void>();
  let leader: Member<Process> | undefined;
  let started = false;
  let stopping = false;
  let replacing: Promise<unknown> = Promise.resolve();
  /** It has not begun. */
  let nextReplacement: Promise<string | undefined> | undefined;
  let replacements = 0;

  function add(number: number, leads: boolean): Member<Process> {
    const process = launch(number, leads);
    const member: Member<Process> = { number, process, state: 'starting', startedAt: clock.monotonic() };
    members.add(member);
    if (leads) leader = member;
    void process.exited.then((exit) => ended(member, exit));
    process.ready.then(
      () => {
        if (member.state === 'starting') member.state = 'serving';
        appoint();
      },
      () => undefined,
    );
    onAdded?.(member);
    return member;
  }

  function appoint(): void {
    if (leader !== undefined && members.has(leader) && leader.state !== 'stopping') return;
    const serving = [...members].filter(({ state }) => state === 'serving');
    leader = serving.sort((a, b) => a.number - b.number)[0];
    leader?.process.lead();
  }

  function ended(member: Member<Process>, { code, signal }: Exit): void {
    const wasStopping = member.state === 'stopping' || stopping;
    members.delete(member);
    appoint();
    if (wasStopping || !started) return;
    const { number, startedAt } = member;
    const row = clock.monotonic() - startedAt >= STEADY_MS ? 1 : (ends.get(number) ?? 0) + 1;
    ends.set(number, row);
    const pauseMs = pauseAfter(row);
    const how = signal === null ? { code } : { signal };
    log.error('a worker ended: it is started again', {
      worker: number,
      pid: member.process.pid,
      ...how,
      pause_ms: pauseMs,
    });
    const again = (): void => {
      pauses.delete(number);
      const next = add(number, false);
      next.process.ready.catch((error: unknown) => {
        log.error('a worker does not start', { worker: number, reason: reasonOf(error) });
        next.process.kill();
      });
    };
    if (pauseMs === 0) again();
    else pauses.set(number, clock.after(pauseMs, again));
  }

  /** One that hangs does not hear of it. */
  async function end(member: Member<Process>, how: 'stop' | 'retire'): Promise<void> {
    const { number, process } = member;
    member.state = 'stopping';
    const cancel = clock.after(endMs(), () => {
      log.error('a worker did not end in time: it is killed', { worker: number, pid: process.pid });
      process.kill();
    });
    process.stop(how).catch(() => undefined);
    await process.exited;
    cancel();
  }

  function retire(member: Member<Process>): void {
    void end(member, 'retire');
    appoint();
  }

  /** Gives the reason why the new worker does not serve. */
  async function replace(number: number): Promise<string | undefined> {
    const old = [...members].filter((member) => member.number === number);
    pauses.get(number)?.();
    pauses.delete(number);
    const next = add(number, false);
    // An end before it serves is reported here, not as the end of a worker.
    next.state = 'stopping';
    try {
      await next.process.ready;
    } catch (error) {
      next.process.kill();
      return reasonOf(error);
    }
    if (stopping) return 'the gateway is stopping';
    next.state = 'serving';
    ends.delete(number);
    for (const member of old) retire(member);
    return undefined;
  }

  async function replaceEach(): Promise<string | undefined> {
    for (let number = 1; number <= count; number += 1) {
      const fault = stopping ? 'the gateway is stopping' : await replace(number);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  async function begin(): Promise<string | undefined> {
    replacements += 1;
    const done = replacing.then(() => {
      nextReplacement = undefined;
      return replaceEach();
    });
    replacing = done;
    try {
      return await done;
    } finally {
      replacements -= 1;
    }
  }

  function kill(): void {
    stopping = true;
    for (const cancel of pauses.values()) cancel();
    for (const { process } of members) process.kill();
  }

  return {
    get members() {
      return [...members];
    },
    get leader() {
      return leader;
    },
    get isReplacing() {
      return replacements > 0;
    },
    async start() {
      const all = Array.from({ length: count }, (_, at) => add(at + 1, at === 0));
      try {
        const [first] = await Promise.all(all.map(({ process }) => process.ready));
        started = true;
        return first as Ready;
      } catch (error) {
        kill();
        await Promise.all(all.map(({ process }) => process.exited));
        throw error;
      }
    },
    replaceAll() {
      // One that has not begun does for all who ask meanwhile.
      return (nextReplacement ??= begin());
    },
    async stop() {
      stopping = true;
      for (const cancel of pauses.values()) cancel();
      const all = [...members];
      const ended = all.map((member) => {
        if (member.state !== 'starting') return end(member, 'stop');
        member.process.kill();
        return member.process.exited;
      });
      await Promise.all(ended);
    },
    kill,
  };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
