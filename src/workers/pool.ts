// The workers of a gateway. The pool starts them, starts a worker that ended again after a growing pause, replaces all of them one
// after the other, and ends them together. It does not depend on processes: `launch` makes one.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { SILENT_MS, watchHeartbeat } from './heartbeat.ts';
import { messageOf } from '../errors.ts';

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: string | null;
}

/** A process that was started. */
export interface Launched<Ready> {
  readonly pid: number;
  /** Resolves when the process serves; rejects if it cannot serve. */
  readonly ready: Promise<Ready>;
  readonly exited: Promise<Exit>;
  /** `retire`: another worker takes its place. Resolves when the process has ended its requests. */
  stop(how: 'stop' | 'retire'): Promise<void>;
  /** Makes this worker the leader: it does the work that one worker does for all. */
  lead(): void;
  /** Resolves when the process answers. */
  beat(): Promise<unknown>;
  kill(): void;
}

export interface Member<Process> {
  readonly number: number;
  readonly process: Process;
  state: 'starting' | 'serving' | 'stopping';
  /** Time on the monotonic clock; undefined: the worker has not served. */
  servedFrom: number | undefined;
}

export interface Pool<Ready, Process> {
  /** Resolves when all workers serve. If one cannot serve, rejects after all have ended. */
  start(): Promise<Ready>;
  /** Includes workers that are ending. */
  readonly members: readonly Member<Process>[];
  /** The worker that does the work which one does for all. */
  readonly leader: Member<Process> | undefined;
  readonly isReplacing: boolean;
  /** Starts a new worker beside each old one, one after the other; the old worker then ends its requests. If a new worker does not
   *  serve, the old ones stay, and the result is the reason. */
  replaceAll(): Promise<string | undefined>;
  stop(): Promise<void>;
  kill(): void;
}

/** A worker that does not serve after this time hangs. */
const START_MS = 30_000;
/** If a worker served for this time, its start is not the reason of its end. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/** The pause before the next start. `ends`: how many times in a row the worker ended. No pause, then 1 s, doubled up to 30 s. */
export function pauseAfter(ends: number): number {
  return ends <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(ends - 2, 10), LONGEST_PAUSE_MS);
}

interface PoolOptions<Process> {
  count: number;
  launch: (number: number, leads: boolean) => Process;
  /** Milliseconds that a worker may take to end its requests; then it is killed. */
  endMs: () => number;
  clock: Clock;
  log: Logger;
  /** Called when a worker is added. */
  onAdded?: (member: Member<Process>) => void;
}

export function createPool<Ready, Process extends Launched<Ready>>(
  options: PoolOptions<Process>,
): Pool<Ready, Process> {
  return new WorkerPool<Ready, Process>(options);
}

interface Started<Ready, Process> {
  member: Member<Process>;
  /** `ready` of the process; also rejects if the start takes too long. */
  ready: Promise<Ready>;
}

class WorkerPool<Ready, Process extends Launched<Ready>> implements Pool<Ready, Process> {
  readonly #options: PoolOptions<Process>;
  readonly #members = new Set<Member<Process>>();
  /** The worker's number -> how many times in a row it ended. */
  readonly #ends = new Map<number, number>();
  readonly #pauses = new Map<number, () => void>();
  #leader: Member<Process> | undefined;
  #started = false;
  #stopping = false;
  #replacing: Promise<unknown> = Promise.resolve();
  /** A replacement that waits for the one in progress. */
  #nextReplacement: Promise<string | undefined> | undefined;
  #replacements = 0;

  constructor(options: PoolOptions<Process>) {
    this.#options = options;
  }

  get members(): readonly Member<Process>[] {
    return [...this.#members];
  }

  get leader(): Member<Process> | undefined {
    return this.#leader;
  }

  get isReplacing(): boolean {
    return this.#replacements > 0;
  }

  async start(): Promise<Ready> {
    const all = Array.from({ length: this.#options.count }, (_, at) => this.#add(at + 1, at === 0));
    try {
      const [first] = await Promise.all(all.map(({ ready }) => ready));
      this.#started = true;
      return first as Ready;
    } catch (error) {
      this.kill();
      await Promise.all(all.map(({ member }) => member.process.exited));
      throw error;
    }
  }

  /** Calls share a replacement that still waits: it will read the newest configuration. */
  replaceAll(): Promise<string | undefined> {
    return (this.#nextReplacement ??= this.#begin());
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const cancel of this.#pauses.values()) cancel();
    const ended = this.members.map((member) => {
      if (member.state !== 'starting') return this.#end(member, 'stop');
      member.process.kill();
      return member.process.exited;
    });
    await Promise.all(ended);
  }

  kill(): void {
    this.#stopping = true;
    for (const cancel of this.#pauses.values()) cancel();
    for (const { process } of this.#members) process.kill();
  }

  #add(number: number, leads: boolean): Started<Ready, Process> {
    const { launch, clock, onAdded } = this.#options;
    const process = launch(number, leads);
    const member: Member<Process> = { number, process, state: 'starting', servedFrom: undefined };
    this.#members.add(member);
    if (leads) this.#leader = member;
    void process.exited.then((exit) => this.#ended(member, exit));
    const ready = this.#inTime(process.ready);
    ready.then(
      () => {
        member.servedFrom = clock.monotonic();
        if (member.state === 'starting') member.state = 'serving';
        this.#appoint();
        watchHeartbeat(process, clock, () => this.#hangs(member));
      },
      () => undefined,
    );
    onAdded?.(member);
    return { member, ready };
  }

  #inTime(ready: Promise<Ready>): Promise<Ready> {
    return new Promise((resolve, reject) => {
      const tooLate = (): void =>
        reject(new Error(`a worker does not serve ${START_MS / 1000} s after its start: it is killed`));
      const cancel = this.#options.clock.after(START_MS, tooLate);
      ready.then(resolve, reject).finally(cancel);
    });
  }

  #hangs({ number, process }: Member<Process>): void {
    const { pid } = process;
    this.#options.log.error('a worker hangs: it is ended', { worker: number, pid, silent_ms: SILENT_MS });
    process.kill();
  }

  #appoint(): void {
    const leader = this.#leader;
    if (leader !== undefined && this.#members.has(leader) && leader.state !== 'stopping') return;
    const serving = this.members.filter(({ state }) => state === 'serving');
    this.#leader = serving.sort((a, b) => a.number - b.number)[0];
    this.#leader?.process.lead();
  }

  #ended(member: Member<Process>, { code, signal }: Exit): void {
    const wasStopping = member.state === 'stopping' || this.#stopping;
    this.#members.delete(member);
    this.#appoint();
    if (wasStopping || !this.#started) return;
    const { clock, log } = this.#options;
    const { number, servedFrom } = member;
    const isSteady = servedFrom !== undefined && clock.monotonic() - servedFrom >= STEADY_MS;
    const row = isSteady ? 1 : (this.#ends.get(number) ?? 0) + 1;
    this.#ends.set(number, row);
    const pauseMs = pauseAfter(row);
    const how = signal === null ? { code } : { signal };
    log.error('a worker ended: it is started again', {
      worker: number,
      pid: member.process.pid,
      ...how,
      pause_ms: pauseMs,
    });
    const again = (): void => this.#startAgain(number);
    if (pauseMs === 0) again();
    else this.#pauses.set(number, clock.after(pauseMs, again));
  }

  #startAgain(number: number): void {
    this.#pauses.delete(number);
    const { member, ready } = this.#add(number, false);
    ready.catch((error: unknown) => {
      this.#options.log.error('a worker does not start', { worker: number, reason: messageOf(error) });
      member.process.kill();
    });
  }

  /** A worker that hangs does not react to `stop`, so it is killed after the time limit. */
  async #end(member: Member<Process>, how: 'stop' | 'retire'): Promise<void> {
    const { clock, endMs, log } = this.#options;
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

  #retire(member: Member<Process>): void {
    void this.#end(member, 'retire');
    this.#appoint();
  }

  /** Resolves to the reason if the new worker does not serve. */
  async #replace(number: number): Promise<string | undefined> {
    const old = this.members.filter((member) => member.number === number);
    this.#pauses.get(number)?.();
    this.#pauses.delete(number);
    const { member: next, ready } = this.#add(number, false);
    // An end before it serves is reported here, not as the end of a worker.
    next.state = 'stopping';
    try {
      await ready;
    } catch (error) {
      next.process.kill();
      return messageOf(error);
    }
    if (this.#stopping) return 'the gateway is stopping';
    next.state = 'serving';
    this.#ends.delete(number);
    for (const member of old) this.#retire(member);
    return undefined;
  }

  async #replaceEach(): Promise<string | undefined> {
    for (let number = 1; number <= this.#options.count; number += 1) {
      const fault = this.#stopping ? 'the gateway is stopping' : await this.#replace(number);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  async #begin(): Promise<string | undefined> {
    this.#replacements += 1;
    const done = this.#replacing.then(() => {
      this.#nextReplacement = undefined;
      return this.#replaceEach();
    });
    this.#replacing = done;
    try {
      return await done;
    } finally {
      this.#replacements -= 1;
    }
  }
}
