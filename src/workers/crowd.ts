// What all workers do, merged into what one gateway does: their status, their requests, their metrics, for commands and for the
// admin API of each worker.
import type { RequestJson } from '../accounts/request-json.ts';
import type { App } from '../app/app.ts';
import type { Clock } from '../clock.ts';
import { type ControlHandler, ControlError, type WorkerStatus } from '../control/calls.ts';
import type { LiveConversation } from '../observe/conversations.ts';
import type { LiveFrame, Moment, NewRequests, LiveTarget } from '../observe/live.ts';
import type { FoundRequest } from '../observe/under-way.ts';
import { mergeSamples } from '../observe/samples.ts';
import { mergeResets, targetIn, type ResetReply } from '../routing/state/reset.ts';
import type { WorkerProcess } from './cluster.ts';
import { createMetrics } from './metrics.ts';
import type { Ready } from './channel.ts';
import type { Member, Pool } from './pool.ts';

type Status = ReturnType<App['status']>;
type Worker = Member<WorkerProcess>;

export interface Crowd {
  /** `whole` is undefined if no worker answers. */
  status(withinMs?: number): Promise<{ whole: Status | undefined; workers: WorkerStatus[] }>;
  readMetrics(): Promise<string>;
  moment(): Promise<Moment>;
  /** A request under way, or one that ended a moment ago. */
  find(id: string): Promise<FoundRequest | undefined>;
  /** undefined: all. */
  resetTargets(target: string | undefined): Promise<ResetReply>;
  watch(send: (frame: object) => void): () => void;
  follow(send: (news: object) => void): () => void;
  handlers: readonly ControlHandler[];
  /** To be called when a worker is added: open streams then include it. */
  added(worker: Worker): void;
}

/** The results leave out a worker that does not answer in this time. */
const ANSWER_MS = 1000;
const EVERY_MS = 500;

export function createCrowd(pool: () => Pool<Ready, WorkerProcess>, clock: Clock, onReset: OnReset): Crowd {
  const watchers = new Set<(worker: Worker) => void>();
  const metrics = createMetrics();

  const askAll: AskAll = async (name, body, withinMs = ANSWER_MS) => {
    const asked = pool().members.filter(({ state }) => state !== 'starting');
    const answers = asked.map(async (worker) => ({
      worker,
      value: await ask(worker, name, { withinMs, clock, body }),
    }));
    return (await Promise.all(answers)).filter(({ value }) => value !== undefined);
  };

  /** Opens a stream of each worker, and of each worker that is added later. */
  function eachStream(name: string, onEvent: (event: unknown, worker: Worker) => void): () => void {
    const stops: (() => void)[] = [];
    const open = (worker: Worker): void => {
      stops.push(worker.process.channel.stream(name, (event) => onEvent(event, worker)));
    };
    for (const worker of pool().members) open(worker);
    watchers.add(open);
    return () => {
      watchers.delete(open);
      for (const stop of stops) stop();
    };
  }

  function watch(send: (frame: object) => void): () => void {
    const frames = new Map<Worker, LiveFrame>();
    const stop = eachStream('/live', (event, worker) => frames.set(worker, event as LiveFrame));
    let cancel = (): void => undefined;
    const show = (): void => {
      cancel = clock.after(EVERY_MS, show);
      const alive = new Set(pool().members);
      for (const worker of frames.keys()) if (!alive.has(worker)) frames.delete(worker);
      const merged = mergeFrames([...frames.values()]);
      if (merged !== undefined) send(merged);
    };
    // The workers send their first frames at once.
    cancel = clock.after(EVERY_MS / 10, show);
    return () => {
      cancel();
      stop();
    };
  }

  const follow: Crowd['follow'] = (send) =>
    eachStream('/requests/new', (event) => send(event as NewRequests));

  return {
    async status(withinMs) {
      const answers = await askAll('status', undefined, withinMs);
      const known = new Map(answers.map(({ worker, value }) => [worker, value as Status]));
      const workers = pool().members.map((worker) => statusOf(worker, known.get(worker)));
      workers.sort((a, b) => a.worker - b.worker);
      return { whole: mergeStatus([...known.values()]), workers };
    },
    async readMetrics() {
      for (const { worker, value } of await askAll('GET /metrics')) {
        const { number, process } = worker;
        if (pool().members.includes(worker)) metrics.add(number, process.pid, String(value));
      }
      return metrics.read();
    },
    moment: async () => mergeMoments(await askAll('moment')),
    find: async (id) => (await askAll('find', id))[0]?.value as FoundRequest | undefined,
    resetTargets: (target) => resetAll(target, askAll, onReset),
    watch,
    follow,
    added(worker) {
      for (const open of watchers) open(worker);
      const { number, process } = worker;
      void process.exited.then(() => metrics.ended(number, process.pid, process.metrics));
    },
    handlers: [...answersOf(askAll, onReset), ...streamsOfAll({ follow, watch }), linkHandler(pool)],
  };
}

type AskAll = (
  name: string,
  body?: unknown,
  withinMs?: number,
) => Promise<{ worker: Worker; value: unknown }[]>;

function answersOf(askAll: AskAll, onReset: OnReset): ControlHandler[] {
  return [
    resetHandler(askAll, onReset),
    { method: 'GET', path: '/requests', handle: async () => mergeRecent(await askAll('GET /requests')) },
    { method: 'GET', path: '/lessons', handle: async () => anyOf(await askAll('GET /lessons')) },
  ];
}

/** Gets the target, undefined for all, before it is reset. */
type OnReset = (target: string | undefined) => void;

function resetHandler(askAll: AskAll, onReset: OnReset): ControlHandler {
  return {
    method: 'POST',
    path: '/targets/reset',
    handle: ({ body }) => resetAll(targetIn(body), askAll, onReset),
  };
}

async function resetAll(target: string | undefined, askAll: AskAll, onReset: OnReset): Promise<ResetReply> {
  onReset(target);
  const answers = await askAll('POST /targets/reset', { target });
  if (answers.length === 0) throw new ControlError(503, 'no worker serves now; try again');
  return mergeResets(answers.map(({ value }) => value as ResetReply));
}

function streamsOfAll({ follow, watch }: Pick<Crowd, 'follow' | 'watch'>): ControlHandler[] {
  return [
    { method: 'GET', path: '/requests/new', open: (_request, send) => follow(send) },
    { method: 'GET', path: '/live', open: (_request, send) => watch(send) },
  ];
}

/** Workers share what they learn of targets. */
function anyOf(answers: readonly { value: unknown }[]): unknown {
  return answers[0]?.value ?? [];
}

/** Only the leader makes links. */
function linkHandler(pool: () => Pool<Ready, WorkerProcess>): ControlHandler {
  return {
    method: 'POST',
    path: '/admin/link',
    handle() {
      const { leader } = pool();
      if (leader === undefined) throw new ControlError(503, 'no worker serves now; try again');
      return leader.process.channel.call('POST /admin/link');
    },
  };
}

/** Resolves to undefined if the worker does not answer in time. */
function ask(
  worker: Worker,
  name: string,
  { withinMs, clock, body }: { withinMs: number; clock: Clock; body: unknown },
): Promise<unknown> {
  return new Promise((resolve) => {
    const cancel = clock.after(withinMs, () => resolve(undefined));
    const settle = (value: unknown): void => {
      cancel();
      resolve(value);
    };
    worker.process.channel.call(name, body).then(settle, () => settle(undefined));
  });
}

function statusOf({ number, process, state }: Worker, status: Status | undefined): WorkerStatus {
  return { worker: number, pid: process.pid, state, requests_in_flight: status?.requests_in_flight ?? null };
}

interface Recent {
  refused: RequestJson[];
  under_way: string[];
}

function mergeRecent(answers: readonly { value: unknown }[]): Recent {
  const all = answers.map(({ value }) => value as Recent);
  return {
    refused: all.flatMap(({ refused }) => refused).sort((a, b) => (a.at < b.at ? -1 : 1)),
    under_way: all.flatMap(({ under_way: ids }) => ids),
  };
}

function mergeStatus(all: readonly Status[]): Status | undefined {
  const [first] = all;
  if (first === undefined) return undefined;
  return {
    ...first,
    // A worker that was replaced is stopping, the gateway is not.
    state: all.find(({ state }) => state !== 'stopping')?.state ?? first.state,
    requests_in_flight: sum(all, ({ requests_in_flight: requests }) => requests),
    log_lost: sum(all, ({ log_lost: lost = 0 }) => lost),
    providers: first.providers.map(({ name }) => {
      const avoided = all.flatMap(
        ({ providers }) => providers.find((provider) => provider.name === name)?.avoided ?? [],
      );
      return { name, avoided: [...new Map(avoided.map((target) => [target.target, target])).values()] };
    }),
  };
}

function mergeMoments(answers: readonly { value: unknown }[]): Moment {
  const all = answers.map(({ value }) => value as Moment);
  const targets = new Map<string, number>();
  for (const [target, requests] of all.flatMap(({ in_flight: pairs }) => pairs))
    targets.set(target, (targets.get(target) ?? 0) + requests);
  return { samples: mergeSamples(all.map(({ samples }) => samples)), in_flight: [...targets] };
}

const MOST_REQUESTS = 200;
const MOST_CONVERSATIONS = 20;

export function mergeFrames(frames: readonly LiveFrame[]): LiveFrame | undefined {
  const [first] = frames;
  if (first === undefined) return undefined;
  const total = (name: keyof LiveFrame['totals']): number => sum(frames, ({ totals }) => totals[name]);
  return {
    at: frames.reduce((latest, { at }) => (at > latest ? at : latest), first.at),
    totals: {
      requests: total('requests'),
      errors: total('errors'),
      refused: total('refused'),
      output_tokens: total('output_tokens'),
      cost_usd: total('cost_usd'),
    },
    in_flight: sum(frames, (frame) => frame.in_flight),
    requests: frames
      .flatMap(({ requests }) => requests)
      .sort((a, b) => b.age_ms - a.age_ms)
      .slice(0, MOST_REQUESTS),
    targets: merged(
      frames.flatMap(({ targets }) => targets),
      ({ target }) => target,
      addTarget,
    ),
    conversations: merged(
      frames.flatMap(({ conversations }) => conversations),
      ({ conversation }) => conversation,
      addConversation,
    )
      .sort((a, b) => (a.last_at < b.last_at ? 1 : -1))
      .slice(0, MOST_CONVERSATIONS),
  };
}

/** Workers share the health of a target; its requests are those of all workers together. */
function addTarget(a: LiveTarget, b: LiveTarget): LiveTarget {
  const worse = a.state === 'healthy' ? b : a;
  return {
    ...worse,
    wait_ms: Math.max(a.wait_ms, b.wait_ms),
    in_flight: a.in_flight + b.in_flight,
    first_byte_ms: a.first_byte_ms ?? b.first_byte_ms,
  };
}

function addConversation(a: LiveConversation, b: LiveConversation): LiveConversation {
  const latest = a.last_at > b.last_at ? a : b;
  return {
    ...latest,
    requests: a.requests + b.requests,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cost_usd: a.cost_usd === null && b.cost_usd === null ? null : (a.cost_usd ?? 0) + (b.cost_usd ?? 0),
  };
}

function merged<Row>(rows: readonly Row[], keyOf: (row: Row) => string, add: (a: Row, b: Row) => Row): Row[] {
  const found = new Map<string, Row>();
  for (const row of rows) {
    const key = keyOf(row);
    const before = found.get(key);
    found.set(key, before === undefined ? row : add(before, row));
  }
  return [...found.values()];
}

function sum<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}
