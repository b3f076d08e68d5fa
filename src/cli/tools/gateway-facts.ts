// The gateway that a tool is pointed at: the one that runs, else the one that the configuration describes; its address, and what a
// model's first target takes. No gateway has to run.
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { readWindows } from '../../providers/discover.ts';
import { CliError } from '../../cli-error.ts';
import type { Context } from '../context.ts';
import { learnModels, LIST_MS, withInventory, type Inventory } from '../inventory.ts';
import { configuredUrl, servingGateway } from '../running.ts';
import type { ReachedModel } from './reach.ts';
import { serverToolsOf } from '../../routing/abilities.ts';
import { unknown } from '../ui/sentences.ts';

export interface GatewayFacts {
  /** Without a version. */
  url: string;
  /** Who listens there; `foreign`: a program that is no gateway of this user's on this database. */
  state: 'running' | 'foreign' | 'free';
  model: ReachedModel;
  helpers: HelperModels;
  config: Config;
}

/** Names of models for work beside the conversation, undefined where none is known. */
interface HelperModels {
  /** Completes code between a prefix and a suffix. */
  completer?: string | undefined;
  /** Makes embeddings. */
  embedder?: string | undefined;
}

/** Rejects with CliError if the name is unknown, or the configuration has no fixed address. `forNow`: one that counts as long as the
 *  gateway runs is enough. */
export async function gatewayFacts(
  command: Command,
  context: Context,
  name: string,
  { forNow = false } = {},
): Promise<GatewayFacts> {
  const read = async (inventory: Inventory): Promise<GatewayFacts> => {
    const { config } = inventory;
    const running = await servingGateway(config, context);
    const url = running?.url ?? configuredUrl(config);
    if (url === undefined || (config.listen.port === 0 && !forNow)) {
      throw new CliError('listen.port is 0: settings need a fixed address; set a port in the configuration');
    }
    await learnModels(inventory, context);
    const state = running === undefined ? await stateOf(url) : 'running';
    return { url, state, model: await describe(inventory, name), helpers: helpersOf(inventory), config };
  };
  return withInventory(command, context, read, { mayLackProviders: true });
}

const CONNECT_MS = 1000;

async function stateOf(url: string): Promise<'foreign' | 'free'> {
  const { connect } = await import('node:net');
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), timeout: CONNECT_MS });
  return new Promise((resolve) => {
    const end = (state: 'foreign' | 'free') => (): void => {
      socket.destroy();
      resolve(state);
    };
    socket.once('connect', end('foreign')).once('error', end('free')).once('timeout', end('free'));
  });
}

async function describe({ routing, client, config }: Inventory, name: string): Promise<ReachedModel> {
  const first = routing.model(name, null)?.targets[0];
  if (first === undefined && isLeftOut(config, name))
    return { name, target: name, window: null, output: null, serverTools: [] };
  if (first === undefined) {
    const names = routing
      .models(null)
      .flatMap((entry) => [entry.name, ...entry.targets.map(({ key }) => key)]);
    throw await unknown(
      'model',
      name,
      [...new Set([...config.routes.keys(), ...names])],
      'see: gateway models',
    );
  }
  const { provider } = first;
  const windows = await readWindows(client, provider, routing.modelsOf(provider), { timeoutMs: LIST_MS });
  if (windows.size > 0) routing.setWindows(provider.name, windows);
  const { contextWindow, maxOutput } = routing.model(first.key, null) ?? {};
  return {
    name,
    target: first.key,
    window: contextWindow ?? null,
    output: maxOutput ?? null,
    serverTools: serverToolsOf(first),
  };
}

/** Editors fill these models' own templates, which they choose by the name. */
const FILLS_IN_THE_MIDDLE = /codestral|star-?coder|coder|code-?llama|code-?gemma|stable-code|granite.*code/i;

/** A completion with a template as prompt needs the plain endpoint: the paths of Mistral and DeepSeek take prefix and suffix apart. */
function helpersOf({ routing }: Inventory): HelperModels {
  const models = routing.models(null).filter(({ kind }) => kind !== 'route');
  const completer = models.find(
    ({ name, targets, embeddings }) =>
      !embeddings && FILLS_IN_THE_MIDDLE.test(name) && targets[0]?.traits.completionsPath === PLAIN_PATH,
  );
  return { completer: completer?.name, embedder: models.find(({ embeddings }) => embeddings)?.name };
}

const PLAIN_PATH = '/completions';

/** Whether only the keys of its providers are missing, which a gateway in another terminal may have. */
function isLeftOut({ providers, leftOut }: Config, name: string): boolean {
  if (name === 'auto' && providers.length === 0) return leftOut.length > 0;
  return leftOut.some(({ provider, names }) => names.includes(name) || name.startsWith(`${provider}/`));
}
