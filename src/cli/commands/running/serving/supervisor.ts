// `gateway serve --workers N`: a process that serves nothing itself. It starts the workers, watches the configuration, writes one log,
// and answers commands for all of them. It does not load what answers requests.
import type { Command } from 'commander';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { HOUR_MS, isoTime } from '../../../../clock.ts';
import { listenAt, placeChanges, type Config } from '../../../../config/config.ts';
import { reportFaults, watchConfigFile } from '../../../../config/watch.ts';
import type { Sessions } from '../../../../admin/sessions.ts';
import { ControlError } from '../../../../control/calls.ts';
import type { SharedLog } from '../../../../log.ts';
import type { Context } from '../../../context.ts';
import { openDatabase } from '../../../database.ts';
import { shownDatabase } from '../../../ui/sentences.ts';
import { createBoard } from '../../../../workers/board.ts';
import {
  launchWorker,
  prepareWorkers,
  startGuard,
  WorkerFailure,
  type Guard,
  type WorkerProcess,
} from '../../../../workers/cluster.ts';
import { createCrowd, type Crowd } from '../../../../workers/crowd.ts';
import { createRepeats, type Repeats } from '../../../../repeats.ts';
import type { Calls, Hello, Ready, Shared } from '../../../../workers/channel.ts';
import { createPool, type Pool } from '../../../../workers/pool.ts';
import { serveWords, StartFailure } from './background.ts';
import type { Controlled } from './control.ts';
import { logFaults, serveUntilSignal, type Gateway, type Opening, type Place } from './lifecycle.ts';

interface Options extends Place {
  count: number;
  command: Command;
}

interface Supervisor {
  opening: Opening;
  count: number;
  pool: Pool<Ready, WorkerProcess>;
  crowd: Crowd;
  guard: Guard;
  state: State;
  /** To be called when the admin API is turned off: its sessions end, and later workers do not turn it on. */
  adminOff: () => void;
  /** What was learnt of targets holds for the configuration of then. */
  forgetLessons: () => void;
}

interface State {
  config: Config;
  /** Of port 0: the port that the system chose. */
  boundPort: number | undefined;
  reloadFault: string | null;
  sessions: Sessions;
}

/** After the grace, a worker cuts its streams and writes what it has to the database. `gateway stop` waits for 10 s. */
const AFTER_GRACE_MS = 8000;
/** A busy worker answers late how many requests it has. */
const STOP_ANSWER_MS = 10_000;

export async function serveWithWorkers({ count, command, ...place }: Options): Promise<void> {
  // While all workers wait for their next start, nothing else keeps the process alive: it ends only when it is asked to.
  const held = setInterval(() => undefined, HOUR_MS);
  try {
    await serveUntilSignal(place, async (opening, live) => {
      const { config, logger, context } = opening;
      // A fault of the database is reported once, and its schema is made once.
      await (await openDatabase(config)).close();
      prepareWorkers([...serveWords(command), '--as-worker']);
      // A fault of this process must not end what its workers serve.
      const ignoreFaults = logFaults(logger, context);
      try {
        await supervise(await createSupervisor(opening, workersOf(count, config)), live);
      } finally {
        ignoreFaults();
      }
    });
  } finally {
    clearInterval(held);
  }
}

/** A worker without a share of `limits.max_concurrent`, or of a provider's, would refuse what it accepts. */
function workersOf(asked: number, { limits, providers }: Config): number {
  const places = providers.flatMap(({ line }) => line?.maxConcurrent ?? []);
  return Math.min(asked, limits.maxConcurrent, ...places);
}

async function createSupervisor(opening: Opening, count: number): Promise<Supervisor> {
  const { config, logger, context } = opening;
  const { clock, ids } = context;
  const { createSessions } = await import('../../../../admin/sessions.ts');
  const newSessions = (): Sessions => createSessions({ clock, ids });
  const board = createBoard(clock);
  const repeats = createRepeats(clock);
  const state: State = { config, boundPort: undefined, reloadFault: null, sessions: newSessions() };
  const endMs = (): number => state.config.limits.shutdownGrace + AFTER_GRACE_MS;
  const guard = startGuard(endMs);

  function launch(number: number, leads: boolean): WorkerProcess {
    const hello = (): Hello => ({
      number,
      count,
      leads,
      log: config.log !== 'off',
      place: placeOf(state, pool),
      shared: board.values(),
    });
    const worker = launchWorker(
      {
        hello,
        share: (value) => tellOthers(value as Shared, worker),
        metrics: () => crowd.readMetrics(),
        moment: () => crowd.moment(),
        find: (id) => crowd.find(id as string),
        'targets.reset': (target) => crowd.resetTargets(target as string | undefined),
        ...repeatCalls(repeats, () => worker.exited),
        'session.createLink': () => state.sessions.createLink(),
        'session.takeTicket': (ticket) => state.sessions.takeTicket(ticket as string),
        'session.open': (code) => state.sessions.open(code as string),
        'session.openMember': (hash) => state.sessions.openMember(hash as string),
        'session.find': (cookie) => state.sessions.find(cookie as string),
        'session.isOpen': (cookie) => state.sessions.isOpen(cookie as string),
        'session.close': (cookie) => state.sessions.close(cookie as string),
      },
      { live: (send) => crowd.watch(send), news: (send) => crowd.follow(send) },
    );
    guard.add(worker);
    relayLog(worker, number, logger);
    return worker;
  }

  function tellOthers(shared: Shared, from: WorkerProcess): void {
    board.set(shared);
    for (const { process } of pool.members) {
      if (process !== from) process.channel.call('shared', shared).catch(() => undefined);
    }
  }

  const pool = createPool<Ready, WorkerProcess>({
    count,
    launch,
    endMs,
    clock,
    log: logger,
    onAdded: (member) => crowd.added(member),
  });
  const crowd = createCrowd(
    () => pool,
    clock,
    (target) => {
      const isMeant = (key: string): boolean => target === undefined || key.split(' ').includes(target);
      for (const topic of ['health', 'keys', 'lessons'] as const) board.remove(topic, isMeant);
    },
  );
  const adminOff = (): void => {
    state.sessions = newSessions();
    board.remove('admin');
  };
  const forgetLessons = (): void => board.remove('lessons');
  return { opening, count, pool, crowd, guard, state, adminOff, forgetLessons };
}

/** What a worker did not finish before its end has failed. */
function repeatCalls(repeats: Repeats, exited: () => Promise<unknown>): Calls {
  const open = new Set<string>();
  let isWatched = false;
  function watch(): void {
    if (isWatched) return;
    isWatched = true;
    void exited().then(() => {
      for (const id of open) repeats.finish(id, 'failed');
    });
  }
  return {
    async 'repeat.claim'(value) {
      const { id, fingerprint } = value as { id: string; fingerprint: string };
      const claim = await repeats.claim(id, fingerprint);
      if (claim.kind === 'first') {
        open.add(id);
        watch();
      }
      return claim;
    },
    'repeat.whenOver': (id) => repeats.whenOver(id as string),
    'repeat.finish'(value) {
      const { id, how } = value as { id: string; how: Parameters<Repeats['finish']>[1] };
      open.delete(id);
      repeats.finish(id, typeof how === 'string' ? how : { ...how, body: Buffer.from(how.body) });
    },
  };
}

/** Workers share the listener of one address. Once none is left that listens on port 0, the next ones would get another port, so from then
 *  on all listen on the one that the first ones got. */
function placeOf(state: State, { members }: Supervisor['pool']): Hello['place'] {
  const { database, listen } = state.config;
  if (listen.port === 0 && state.boundPort !== undefined && members.every(({ state }) => state !== 'serving'))
    state.config = { ...state.config, listen: { ...listen, port: state.boundPort } };
  return { database, listen: state.config.listen };
}

/** Lines that are not JSON come from Node itself: a warning, or a crash when memory is full. */
function relayLog({ stderr, pid }: WorkerProcess, worker: number, logger: SharedLog): void {
  if (stderr === null) return;
  createInterface({ input: stderr }).on('line', (line) => {
    if (line.startsWith('{"level":')) logger.relay(line);
    else if (line.trim() !== '') logger.error('a worker wrote', { worker, pid, detail: line });
  });
}

async function supervise(supervisor: Supervisor, live: (gateway: Gateway) => Promise<void>): Promise<void> {
  const { opening, count, pool, state } = supervisor;
  const { signals, context } = opening;
  signals.onSecond((signal) => {
    pool.kill();
    context.die(signal);
  });
  const ready = await Promise.race([startWorkers(pool), signals.first.then(() => undefined)]);
  if (ready === undefined) {
    pool.kill();
    await Promise.all(pool.members.map(({ process }) => process.exited));
    return;
  }
  state.boundPort = Number(new URL(ready.urls[0] ?? '').port);
  signals.onHangUp(() => {
    if (isTerminalGone(context)) return false;
    void reload(supervisor, 'SIGHUP').catch(() => undefined);
    return true;
  });
  const watch = watchFile(supervisor);
  await live({
    ...controlled(supervisor, ready, isoTime(context.clock.now())),
    served: () => Promise.resolve(ready),
    shape: { workers: count },
    async useStore(task) {
      const store = await openDatabase(state.config);
      await task(store).finally(() => store.close());
    },
    stop(waits) {
      watch?.close();
      return stopAll(supervisor, waits);
    },
    kill: () => pool.kill(),
  });
}

async function startWorkers(pool: Supervisor['pool']): Promise<Ready> {
  try {
    return await pool.start();
  } catch (error) {
    throw error instanceof WorkerFailure ? new StartFailure(error.failed) : error;
  }
}

async function stopAll(
  { pool, crowd, state }: Supervisor,
  waits: Parameters<Gateway['stop']>[0],
): Promise<number> {
  const ending = pool.members.map(({ process }) => process);
  const ended = pool.stop();
  // A worker answers after it got the order to stop, so these are the requests that it waits for.
  const { whole } = await crowd.status(STOP_ANSWER_MS);
  waits({
    requests: whole?.requests_in_flight ?? 0,
    graceMs: whole?.grace_ms ?? state.config.limits.shutdownGrace,
  });
  await ended;
  return ending.reduce((rows, process) => rows + process.unwritten, 0);
}

function controlled(supervisor: Supervisor, { urls }: Ready, since: string): Controlled {
  const { opening, pool, crowd, state } = supervisor;
  const { logger } = opening;
  return {
    controlHandlers: crowd.handlers,
    async status() {
      const { config } = state;
      const { whole, workers } = await crowd.status();
      return {
        // A busy worker answers late.
        state: workers.some((worker) => worker.state === 'serving') ? 'serving' : 'starting',
        requests_in_flight: 0,
        providers: [],
        grace_ms: config.limits.shutdownGrace,
        ...whole,
        log_lost: (whole?.log_lost ?? 0) + (logger.lost?.() ?? 0),
        urls,
        since,
        config: config.file,
        database: shownDatabase(config.database),
        workers,
        reloading: pool.isReplacing,
        reload_fault: state.reloadFault,
      };
    },
    reload: () => reload(supervisor, 'gateway reload'),
  };
}

/** A closed terminal also sends SIGHUP. Then the gateway ends, since Ctrl-C cannot end it any more. */
function isTerminalGone({ stdout, stderr }: Context): boolean {
  if (stdout.isTTY !== true && stderr.isTTY !== true) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}

/** Reads the configuration, then replaces the workers one after the other. Resolves when the first of them starts. Rejects with
 *  ControlError if the configuration is not valid. */
async function reload(supervisor: Supervisor, by: string): Promise<void> {
  const { opening, pool, state } = supervisor;
  const { source, logger } = opening;
  let next: Config;
  try {
    next = await source.load();
  } catch (error) {
    state.reloadFault = reportFaults(error, logger).join('; ');
    throw new ControlError(400, `the old configuration stays: ${state.reloadFault}`);
  }
  for (const setting of placeChanges(state.config, next))
    logger.warn(`${setting} changes only with a restart`);
  take(next, supervisor);
  state.reloadFault = null;
  logger.info('the workers are replaced', { by });
  void pool.replaceAll().then((fault) => {
    state.reloadFault = fault ?? null;
    if (fault === undefined) logger.info('the workers were replaced', { workers: pool.members.length });
    else logger.error('the workers were not all replaced: those that serve stay', { reason: fault });
  });
}

/** Uses a changed configuration. Address and database change only with a restart. */
function take(next: Config, { state, guard, adminOff, forgetLessons }: Supervisor): void {
  const { admin, database, listen } = state.config;
  if (admin && !next.admin) adminOff();
  forgetLessons();
  state.config = { ...next, database, listen: listenAt(listen, next.listen) };
  guard.refresh();
}

/** At a change, every worker reads the file again, and none is replaced. */
function watchFile(supervisor: Supervisor): { close(): void } | undefined {
  const { opening, pool, state } = supervisor;
  const { source, logger, context } = opening;
  const reloadAll = async (): Promise<void> => {
    try {
      take(await source.load(), supervisor);
    } catch (error) {
      reportFaults(error, logger);
      return;
    }
    await Promise.all(
      pool.members.map(({ process }) => process.channel.call('reload').catch(() => undefined)),
    );
  };
  return watchConfigFile(state.config, reloadAll, { clock: context.clock, log: logger });
}
