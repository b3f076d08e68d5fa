// The providers and models as a server would know them: from the configuration, local servers and the lists of providers. For
// commands that work without a running server.
import type { Command } from 'commander';
import { PROTOCOL_NAMES } from '../canonical/request.ts';
import { NO_NEEDS } from '../canonical/traits.ts';
import type { Config, ProviderConfig } from '../config/config.ts';
import { builtinProvider, LOCAL_CANDIDATES, SIM_URL, shownProviders } from '../config/providers.ts';
import type { ProviderClient } from '../providers/client.ts';
import { createDirectClient } from '../providers/direct-client.ts';
import { listModels, MOST_MODELS, probeLocal } from '../providers/discover.ts';
import { readProxies, usesProxy } from '../providers/network/proxy.ts';
import type { RoutingQuery } from '../routing/resolve.ts';
import type { ModelEntry } from '../routing/catalog.ts';
import { createRouting, type Routing } from '../routing/routing.ts';
import { SIM_MODELS } from '../canonical/sim-models.ts';
import { call } from '../control/client.ts';
import { lessonChanges, type Lesson } from '../routing/state/lessons.ts';
import type { Context } from './context.ts';
import { findRunning } from './running.ts';
import { say } from './ui/lines.ts';
import { clean } from './ui/style.ts';
import { readConfig, readProviders, sayRead } from './read-config.ts';
import { withStore } from './database.ts';
import { messageOf } from '../errors.ts';

export interface Inventory {
  config: Config;
  client: ProviderClient;
  routing: Routing;
  /** The providers that lists show, in order of preference. */
  providers: readonly ProviderConfig[];
}

/** A request that asks for nothing but this model. */
export function plainQuery(model: string): RoutingQuery {
  return {
    protocol: PROTOCOL_NAMES[0],
    model,
    needs: NO_NEEDS,
    allowed: null,
    accountId: 0,
    identity: undefined,
    openToolTurn: false,
    estimate: () => 0,
  };
}

interface Options {
  /** The command reads the database, too. */
  database?: boolean;
  /** Requests for an answer are sent by the code that serves clients. */
  asServer?: boolean;
  /** The command has something to do without any provider. */
  mayLackProviders?: boolean;
}

const PROBE_MS = 300;
export const LIST_MS = 5000;

export async function withInventory<Result>(
  command: Command,
  context: Context,
  use: (inventory: Inventory) => Promise<Result>,
  { database = false, asServer = false, mayLackProviders = false }: Options = {},
): Promise<Result> {
  const read = mayLackProviders ? readConfig : readProviders;
  const config = await read(command, context);
  await sayRead(context, config, { database });
  for (const warning of config.warnings) say(context.stderr, `warning: ${clean(warning)}`);
  const client = createClient(context, asServer);
  try {
    const routing = createRouting({ config, clock: context.clock });
    routing.addProviders([builtinProvider(SIM_MODELS)]);
    if (config.file === null) {
      const found = await probeLocal(createDirectClient(), LOCAL_CANDIDATES, { timeoutMs: PROBE_MS });
      routing.addProviders(found.map(({ provider }) => provider));
      for (const { provider, models } of found) routing.setDiscovered(provider.name, models);
    }
    await routing.loadPrices();
    return await use({ config, client, routing, providers: shownProviders(routing.providers(), config) });
  } finally {
    await client.close();
  }
}

/** Asks directly where that is possible. The code of the server, which is large, is loaded for the
 *  built-in provider, for a proxy and for certificates of a provider's own. */
function createClient({ clock, ids, env }: Context, asServer: boolean): ProviderClient {
  const direct = createDirectClient();
  const proxies = readProxies(env);
  let server: Promise<ProviderClient> | undefined;
  const open: ProviderClient['open'] = async (call, cancellation) => {
    const isSmall = !asServer || call.method === 'GET';
    const isUsual = !call.url.startsWith(SIM_URL) && call.network === undefined;
    const isDirect = isSmall && isUsual && !usesProxy(new URL(call.url), proxies);
    if (isDirect) return direct.open(call, cancellation);
    server ??= import('../app/parts.ts').then(
      ({ createClients }) => createClients({ clock, ids, env }).client,
    );
    return (await server).open(call, cancellation);
  };
  return {
    open,
    closeIdle: () => undefined,
    async close() {
      await (await server)?.close();
    },
  };
}

const moreModels = ({ name }: ProviderConfig): string =>
  `provider ${clean(name)} lists more than ${MOST_MODELS} models; any other is asked for as ${clean(name)}/NAME`;

/** Asks every provider without a list in the file for its models. Warns of those that do not answer. */
export async function learnModels(
  { client, routing, providers }: Inventory,
  context: Context,
): Promise<void> {
  const unlisted = providers.filter(({ models, source }) => models === null && source !== 'builtin');
  await Promise.all(
    unlisted.map(async (provider) => {
      try {
        const { models, more } = await listModels(client, provider, { timeoutMs: LIST_MS });
        if (more) say(context.stderr, `warning: ${moreModels(provider)}`);
        routing.setDiscovered(provider.name, models);
      } catch (error) {
        const why = messageOf(error);
        const { redact } = await import('../providers/redact.ts');
        say(
          context.stderr,
          `warning: provider ${clean(provider.name)} did not list its models: ${clean(redact(why, provider))}`,
        );
      }
    }),
  );
}

/** Every name that a client may ask for. */
export async function listedModels(inventory: Inventory, context: Context): Promise<ModelEntry[]> {
  await learnModels(inventory, context);
  return inventory.routing.models(null);
}

/** The state (`cooling` or `failing`) of each `provider/model` that running servers avoid. */
export type States = ReadonlyMap<string, string>;

/** Running servers publish the states in the database; without a database there is no server. */
export async function readStates(command: Command, context: Context): Promise<States> {
  const config = await readConfig(command, context);
  const { databaseExists } = await import('../store/open.ts');
  if (!databaseExists(config.database)) return new Map();
  return withStore(command, context, async (store) => {
    const known = await store.listHealth(context.clock.now());
    return new Map(known.map(({ target, state }) => [target, state]));
  });
}

/** What the gateways that run with this configuration have learnt from refusals; nothing where none runs or answers. */
export async function readLessons(command: Command, context: Context): Promise<readonly Lesson[]> {
  const { all: gateways } = await findRunning(await readConfig(command, context), context);
  const found = await Promise.all(
    gateways.map((gateway) => call(gateway, 'GET', '/lessons').catch(() => [])),
  );
  return found.flatMap((list) => (Array.isArray(list) ? (list as Lesson[]) : []));
}

/** `openai/gpt-9 (chat) refuses: reject_fields store, efforts low high`, and the words that taught it. */
export function lessonText(lesson: Lesson): string {
  const { target, protocol, words } = lesson;
  return clean(`${target} (${protocol}): ${lessonChanges(lesson).join(', ')}; it said: ${words}`);
}
