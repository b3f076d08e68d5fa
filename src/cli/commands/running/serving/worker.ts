// One worker of `gateway serve --workers N`: a whole gateway that gets its place, its log and its end from the supervisor.
import type { Command } from 'commander';
import cluster from 'node:cluster';
import type { App } from '../../../../app/app.ts';
import type { Peers } from '../../../../app/parts.ts';
import { listenAt, type Config, type ProviderConfig } from '../../../../config/config.ts';
import { createLog, type Logger } from '../../../../log.ts';
import type { NewRequests } from '../../../../observe/live.ts';
import type { Context, GlobalOptions } from '../../../context.ts';
import { errorLines } from '../../../ui/lines.ts';
import { openDatabase } from '../../../database.ts';
import { servedBy } from './background.ts';
import {
  createChannel,
  type Calls,
  type Channel,
  type Streams,
  type Failed,
  type Hello,
  type Ready,
  type Shared,
  type Stopped,
} from '../../../../workers/channel.ts';
import { startGateway } from './lifecycle.ts';
import type { Source } from './start.ts';

/** Calls of the supervisor wait until the gateway serves. */
interface Later {
  app: Promise<App>;
  serve(app: App): void;
}

export async function serveAsWorker(source: Source, command: Command, context: Context): Promise<void> {
  // A terminal and a service manager send signals to every process; workers ignore them and obey the supervisor.
  context.onSignal(() => undefined);
  const later = createLater();
  const ending = createEnding();
  const peers = createPeers();
  const channel = openChannel(
    {
      ...peers.calls,
      ...callsOf(later),
      beat: () => undefined,
      stop: (how) => void ending.end(how === 'retire' ? 'retire' : 'stop'),
    },
    streamsOf(later),
  );
  outliveSupervisor(channel, ending);
  const hello = (await channel.call('hello')) as Hello;
  const logger = createLog({
    format: hello.log ? 'json' : 'off',
    stream: process.stderr,
    fields: { worker: hello.number },
  });
  try {
    const stopped = await serve(
      { source, context, hello, logger, later, ending, peers: peers.of(channel, hello) },
      channel,
    );
    await channel.call('stopped', stopped).catch(() => undefined);
  } catch (error) {
    const { debug } = command.optsWithGlobals<GlobalOptions>();
    const { lines, exitCode } = errorLines(error, debug === true);
    await channel.call('failed', { lines, exitCode } satisfies Failed).catch(() => undefined);
  } finally {
    logger.flush();
    cluster.worker?.disconnect();
  }
}

interface Parts {
  source: Source;
  context: Context;
  hello: Hello;
  logger: Logger;
  later: Later;
  ending: Ending;
  peers: Peers;
}

/** Resolves when the supervisor has ended the gateway. */
async function serve(parts: Parts, channel: Channel): Promise<Stopped> {
  const { source, context, hello, logger, later, ending, peers } = parts;
  const load = async (): Promise<Config> => inPlace(await source.load(), hello);
  const config = await load();
  const store = await openDatabase(config);
  try {
    const { app, stop } = await startGateway({
      config,
      source: { ...source, load },
      store,
      logger,
      context,
      peers,
    });
    later.serve(app);
    await app.ready;
    await channel.call('ready', servedBy(app) satisfies Ready);
    const unwritten = await ending.asked((how) => stop(how === 'retire' ? 'retire' : undefined));
    return { unwritten, metrics: await metricsOf(app).catch(() => '') };
  } finally {
    await store.close();
  }
}

async function metricsOf({ controlHandlers }: App): Promise<string> {
  return String(await handled(controlHandlers, 'GET', '/metrics'));
}

/** The limits of concurrent requests are those of the whole gateway: the shares of its workers are exactly as much. */
function inPlace(config: Config, { place, number, count }: Hello): Config {
  const { database, listen } = place;
  const { limits } = config;
  const maxConcurrent = shareOf(limits.maxConcurrent, number, count);
  return {
    ...config,
    database,
    listen: listenAt(listen, config.listen),
    providers: config.providers.map((provider) => shared(provider, number, count)),
    limits: { ...limits, maxConcurrent },
  };
}

/** A worker without a place would turn every request away: after a change of the file there may be fewer places than workers. */
function shared(provider: ProviderConfig, number: number, count: number): ProviderConfig {
  const { line } = provider;
  if (line === undefined) return provider;
  const maxConcurrent = Math.max(1, shareOf(line.maxConcurrent, number, count));
  return { ...provider, line: { ...line, maxConcurrent, size: shareOf(line.size, number, count) } };
}

/** Of the worker with this number, from 1 on: the first ones have what cannot be divided. */
export function shareOf(total: number, number: number, count: number): number {
  return Math.floor(total / count) + (number <= total % count ? 1 : 0);
}

function openChannel(calls: Calls, streams: Streams): Channel {
  return createChannel(
    {
      send: (message) => void process.send?.(message, undefined, undefined, () => undefined),
      onMessage: (listener) => void process.on('message', listener),
    },
    calls,
    streams,
  );
}

function createLater(): Later {
  let serve: (app: App) => void = () => undefined;
  const app = new Promise<App>((resolve) => {
    serve = resolve;
  });
  return { app, serve };
}

type How = 'stop' | 'retire';

interface Ending {
  /** Runs the task when the end is asked for, or at once if it was. Resolves to its result. */
  asked<Result>(task: (how: How) => Promise<Result>): Promise<Result>;
  /** Runs the task before it returns. False: nothing serves yet. Further calls have no effect. */
  end(how: How): boolean;
}

function createEnding(): Ending {
  let first: How | undefined;
  let start: ((how: How) => void) | undefined;
  return {
    asked: (task) =>
      new Promise((resolve, reject) => {
        start = (how) => void task(how).then(resolve, reject);
        if (first !== undefined) start(first);
      }),
    end(how) {
      if (first === undefined) start?.(how);
      first ??= how;
      return start !== undefined;
    },
  };
}

/** A worker whose supervisor was killed ends as it does on SIGTERM. Node ends it at once, unless it leaves the cluster by itself; that
 *  closes its listeners too, which the end of the gateway has done by then without a look at their connections. */
function outliveSupervisor(channel: Channel, ending: Ending): void {
  cluster.worker?.once('disconnect', () => {
    channel.close();
    if (ending.end('stop')) cluster.worker?.disconnect();
  });
}

/** The supervisor calls the handlers that serve the user's commands. */
function callsOf(later: Later): Calls {
  const handle = async (method: string, path: string, body?: unknown): Promise<unknown> =>
    handled((await later.app).controlHandlers, method, path, body);
  return {
    status: async () => (await later.app).status(),
    moment: async () => (await later.app).moment(),
    find: async (id) => (await later.app).find(id as string),
    reload: async () => (await later.app).reload(),
    'GET /requests': () => handle('GET', '/requests'),
    'GET /metrics': () => handle('GET', '/metrics'),
    'GET /lessons': () => handle('GET', '/lessons'),
    'POST /admin/link': () => handle('POST', '/admin/link'),
    'POST /targets/reset': (body) => handle('POST', '/targets/reset', body),
  };
}

async function handled(
  handlers: App['controlHandlers'],
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const row = handlers.find((each) => each.method === method && each.path === path);
  return row !== undefined && 'handle' in row
    ? row.handle({ query: new URLSearchParams(), body })
    : undefined;
}

function streamsOf(later: Later): Streams {
  const open =
    (path: string) =>
    (send: (event: unknown) => void): (() => void) => {
      let stop = (): void => undefined;
      let isOver = false;
      void later.app.then(({ controlHandlers }) => {
        const row = controlHandlers.find((each) => each.path === path);
        if (isOver || row === undefined || !('open' in row)) return;
        stop = row.open({ query: new URLSearchParams(), body: undefined }, send);
      });
      return () => {
        isOver = true;
        stop();
      };
    };
  return { '/live': open('/live'), '/requests/new': open('/requests/new') };
}

/** The other workers, reached through the supervisor. Values that arrive before the gateway has a listener wait for it. */
function createPeers(): { calls: Calls; of: (channel: Channel, hello: Hello) => Peers } {
  let leads = false;
  let onLead = (): void => undefined;
  let onShared: Parameters<Peers['onShared']>[0] | undefined;
  const early: Shared[] = [];
  const receive = (shared: Shared): void => {
    if (onShared === undefined) early.push(shared);
    else onShared(shared.topic, shared.key, shared.value);
  };
  const calls: Calls = {
    shared: (value) => receive(value as Shared),
    lead() {
      if (leads) return;
      leads = true;
      onLead();
    },
  };
  const of = (channel: Channel, hello: Hello): Peers => {
    leads ||= hello.leads;
    const ask = <Value>(name: string, body?: unknown): Promise<Value> =>
      channel.call(name, body) as Promise<Value>;
    return {
      share: (topic, key, value) => {
        ask('share', { topic, key, value } satisfies Shared).catch(() => undefined);
      },
      onShared(listener) {
        onShared = listener;
        for (const shared of [...hello.shared, ...early.splice(0)]) receive(shared);
      },
      get leads() {
        return leads;
      },
      onLead(listener) {
        onLead = listener;
      },
      live: {
        watch: (send) => channel.stream('live', (frame) => send(frame as object)),
        follow: (send) => channel.stream('news', (news) => send(news as NewRequests)),
        moment: () => ask('moment'),
        find: (id) => ask('find', id),
      },
      sessions: {
        createLink: () => ask('session.createLink'),
        takeTicket: (ticket) => ask('session.takeTicket', ticket),
        open: (code) => ask('session.open', code),
        openMember: (hash) => ask('session.openMember', hash),
        find: (cookie) => ask('session.find', cookie),
        isOpen: (cookie) => ask('session.isOpen', cookie),
        close: (cookie) => ask('session.close', cookie),
      },
      repeats: {
        claim: (id, fingerprint) => ask('repeat.claim', { id, fingerprint }),
        whenOver: (id) => ask('repeat.whenOver', id),
        finish: (id, how) => void ask('repeat.finish', { id, how }).catch(() => undefined),
      },
      readMetrics: () => ask('metrics'),
      resetTargets: (target) => ask('targets.reset', target),
    };
  };
  return { calls, of };
}
