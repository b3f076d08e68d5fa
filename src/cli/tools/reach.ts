// The gateway that a started tool uses: one of this user's that runs on the same database, else one in this process.
// That one has a free port of its own: what ends with a tool must not be where other programs expect a gateway.
import { readBody } from '../../providers/reply-body.ts';
import type { GatewayRecorder } from '../../app/parts.ts';
import type { Config } from '../../config/config.ts';
import { cancelledAfter } from '../../cancellation.ts';
import { isObject } from '../../canonical/json.ts';
import type { ProviderClient } from '../../providers/client.ts';
import { createDirectClient } from '../../providers/direct-client.ts';
import { decodeModel } from '../../protocols/shared/model-list.ts';
import type { Store } from '../../store/store.ts';
import { CliError } from '../../cli-error.ts';
import type { Context } from '../context.ts';
import { servingGateway } from '../running.ts';
import { clean } from '../ui/style.ts';

/** A name that a tool may send, as the gateway lists it. */
export interface ReachedModel {
  name: string;
  /** `provider/model` of the target that answers first. */
  target: string;
  /** Of that target, in tokens; null: unknown. */
  window: number | null;
  output: number | null;
  /** Protocols of clients that may offer that target tools of the provider's own. */
  serverTools: readonly string[];
}

export interface ReachedGateway {
  /** Without a version. */
  url: string;
  /** Rejects with CliError if the name is unknown. */
  model(name: string): Promise<ReachedModel>;
  /** Ends it if this process started it. */
  stop(): Promise<void>;
}

interface Parts {
  config: Config;
  /** Reads the configuration of a gateway that is started here. */
  load: () => Promise<Config>;
  store: Store;
  key: string;
  /** The name of what is started. */
  tool: string;
  context: Context;
  /** Not one that runs already. */
  isOwn?: boolean;
  recorder?: GatewayRecorder | undefined;
  /** Of an own one; 0: a free one. */
  port?: number;
}

const LOCALHOST = '127.0.0.1';
/** A running gateway answers at once; another program may never. */
const ANSWER_MS = 2000;
const MAX_ANSWER = 8 * 1024 * 1024;
/** Streams that the ended tool left open. */
const GRACE_MS = 500;

export async function reachGateway(parts: Parts): Promise<ReachedGateway> {
  const { config, key, context } = parts;
  const client = createDirectClient();
  const running = parts.isOwn === true ? undefined : await servingGateway(config, context);
  // In maintenance it would refuse every request.
  if (running?.status.state === 'serving') {
    const { url } = running;
    return { url, model: askModel(client, url, key), stop: () => client.close() };
  }
  const app = await startOwn(parts);
  const url = `http://${LOCALHOST}:${app.port}`;
  return {
    url,
    model: askModel(client, url, key),
    async stop() {
      await Promise.all([client.close(), app.stop()]);
    },
  };
}

async function startOwn({ load, store, tool, context, recorder, port = 0 }: Parts) {
  const { createLog } = await import('../../log.ts');
  const { openControl } = await import('../commands/running/serving/control.ts');
  const { startGateway } = await import('../commands/running/serving/lifecycle.ts');
  const own = (from: Config): Config => ({
    ...from,
    listen: { ...from.listen, hosts: [LOCALHOST], defaultHosts: false, port },
    limits: { ...from.limits, shutdownGrace: GRACE_MS },
  });
  // The terminal is the tool's: no log.
  const log = createLog({ format: 'off', stream: context.stderr });
  const reload = async (): Promise<Config> => own(await load());
  const config = await reload();
  const source = { load: reload };
  const { app, stop } = await startGateway({ config, source, store, logger: log, context, recorder });
  // Without it the tool works all the same, and `gateway top` does not see it.
  const control = await openControl(
    { controlHandlers: app.controlHandlers, status: () => app.status() },
    { config, logger: log, logFile: null, tool, context },
  );
  await app.described;
  return {
    port: app.port,
    async stop() {
      control?.close();
      await stop();
    },
  };
}

function askModel(client: ProviderClient, url: string, key: string): ReachedGateway['model'] {
  const find = async (name: string) => {
    const { status, value } = await ask(client, `${url}/v1/models/${encodeURIComponent(name)}`, key);
    const model = status === 200 ? decodeModel(value) : undefined;
    if (model === undefined)
      throw new CliError(reasonIn(value) ?? `the gateway at ${url} does not know ${name}`);
    return model;
  };
  return async (name) => {
    const found = await find(name);
    const target = found.targets[0] ?? name;
    // The list shows the largest window of all targets of a name.
    const { contextWindow, maxOutput } =
      found.targets.length > 1 ? await find(target).catch(() => found) : found;
    return { name, target, window: contextWindow, output: maxOutput, serverTools: found.serverTools };
  };
}

/** The message of an error that the gateway answers. */
function reasonIn(answer: unknown): string | undefined {
  const error = isObject(answer) ? answer.error : undefined;
  return isObject(error) && typeof error.message === 'string' ? clean(error.message) : undefined;
}

async function ask(
  client: ProviderClient,
  url: string,
  key: string,
): Promise<{ status: number; value: unknown }> {
  const headers = ['accept', 'application/json', 'authorization', `Bearer ${key}`];
  const timeout = { connect: ANSWER_MS, firstByte: ANSWER_MS, idle: ANSWER_MS, whole: ANSWER_MS };
  const call = { url, method: 'GET' as const, headers, stream: false, timeout, network: undefined };
  const reply = await client.open(call, cancelledAfter(ANSWER_MS));
  const body = await readBody(reply.body, MAX_ANSWER);
  try {
    return { status: reply.status, value: JSON.parse(body.toString('utf8')) as unknown };
  } catch {
    return { status: reply.status, value: undefined };
  }
}
