// Facts about providers that can change while a gateway runs: which local servers there are, what models a provider lists, with what
// windows a local server runs them. Found ones are asked again before they are a minute old; failed ones after 1, 2, 4 … 30 s, and
// when a request names them.
import type { Clock } from '../clock.ts';
import type { Config, ProviderConfig } from '../config/config.ts';
import { LOCAL_CANDIDATES } from '../config/providers.ts';
import type { Logger } from '../log.ts';
import type { ProviderClient } from '../providers/client.ts';
import { hasWindows, listModels, MOST_MODELS, probeLocal, readWindows } from '../providers/discover.ts';
import type { Routing } from '../routing/routing.ts';

const PROBE_MS = 300;
const LIST_MS = 10_000;
const WINDOWS_MS = 1000;
/** With the time that the answer may take, no fact is older than a minute. */
const FOUND_MS = 60_000 - LIST_MS;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;
/** A request that names a provider whose models are not known waits this long at most. */
const WAIT_MS = 2000;

export type Found = Awaited<ReturnType<typeof probeLocal>>;

export interface Discovery {
  /** Resolves when the first search for local servers is over, after 300 ms at most. */
  readonly ready: Promise<void>;
  /** What has to be waited for before this name is resolved; undefined: nothing. */
  learn(name: string): Promise<void> | undefined;
  /** Asks for everything that is due, and resolves when the servers of this machine have answered, after 2 s at most. */
  askDue(): Promise<void>;
  /** Asks for everything now. */
  askAll(): void;
}

interface Options {
  client: ProviderClient;
  routing: Routing;
  clock: Clock;
  log: Logger;
  /** The other workers: the leader asks for all of them. */
  peers:
    | {
        readonly leads: boolean;
        share(topic: 'local' | 'models' | 'windows', key: string, value: unknown): void;
      }
    | undefined;
  state: { readonly config: Config; readonly stopped: boolean };
  /** Where servers of this machine listen. */
  candidates?: readonly ProviderConfig[];
}

/** What is known of one provider. */
interface Fact {
  provider: ProviderConfig;
  /** In a row. */
  failures: number;
  /** When it is asked again, in monotonic milliseconds. */
  dueAt: number;
  asking: Promise<void> | undefined;
}

/** Resolves when the work is done, or after this time. */
function atMost(ms: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    void work.then(() => {
      cancel();
      resolve();
    });
  });
}

export function createDiscovery(options: Options): Discovery {
  const { routing, clock, state, peers, candidates = LOCAL_CANDIDATES } = options;
  const facts = new Map<string, Fact>();
  let searched = state.config.file !== null;

  /** All that can be asked now. A changed provider is a new fact. */
  function current(): Fact[] {
    const known = routing.providers();
    const missing =
      state.config.file === null
        ? candidates.filter(({ name }) => !known.some((provider) => provider.name === name))
        : [];
    const subjects = [...known.filter(isAskable), ...missing];
    const found = subjects.map((provider): Fact => {
      const fact = facts.get(provider.name);
      return fact?.provider === provider
        ? fact
        : { provider, failures: 0, dueAt: clock.monotonic(), asking: undefined };
    });
    facts.clear();
    for (const fact of found) facts.set(fact.provider.name, fact);
    return found;
  }

  function ask(fact: Fact): Promise<void> {
    return (fact.asking ??= askOnce(fact, options).then((isFound) => {
      fact.asking = undefined;
      fact.failures = isFound ? 0 : fact.failures + 1;
      fact.dueAt = clock.monotonic() + (isFound ? FOUND_MS : retryMs(fact.failures));
    }));
  }

  function askOf(chosen: readonly Fact[], mostMs: number): Promise<void> {
    return atMost(mostMs, Promise.all(chosen.map(ask)), clock);
  }

  async function search(): Promise<void> {
    // The leader looks for them; the other workers get its result, perhaps a moment after they begin to serve.
    if (peers?.leads === false) await new Promise<void>((resolve) => void clock.after(PROBE_MS, resolve));
    else await askOf(current().filter(isMissing), PROBE_MS);
    searched = true;
  }

  const isMissing = ({ provider }: Fact): boolean => !routing.providers().includes(provider);

  function learn(name: string): Promise<void> | undefined {
    if (!searched) return ready.then(() => learn(name));
    if (routing.has(name)) return undefined;
    const named = current().filter(
      ({ provider, failures, asking, dueAt }) =>
        (name === 'auto' || name.startsWith(`${provider.name}/`)) &&
        (failures > 0 || asking !== undefined || dueAt <= clock.monotonic()),
    );
    return named.length === 0 ? undefined : askOf(named, WAIT_MS);
  }

  async function askDue(): Promise<void> {
    if (state.stopped) return;
    const due = current().filter(({ dueAt }) => dueAt <= clock.monotonic());
    for (const fact of due) void ask(fact);
    await askOf(
      due.filter(({ provider }) => hasWindows(provider)),
      WAIT_MS,
    );
  }

  const ready = searched ? Promise.resolve() : search();
  return {
    ready,
    learn,
    askDue,
    askAll() {
      facts.clear();
      void askDue();
    },
  };
}

/** The built-in provider is known; the list of the file stands, but not the windows of a local server. */
function isAskable(provider: ProviderConfig): boolean {
  return provider.source !== 'builtin' && (provider.models === null || hasWindows(provider));
}

function retryMs(failures: number): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
}

/** Never rejects. False: nothing was found. */
async function askOnce(fact: Fact, options: Options): Promise<boolean> {
  const { provider } = fact;
  const { routing } = options;
  const isKnown = (): boolean => routing.providers().includes(provider);
  const isListed = isKnown()
    ? provider.models !== null || (await askForList(fact, isKnown, options))
    : await lookFor(provider, options);
  if (!isListed || !hasWindows(provider)) return isListed;
  const isMeasured = await measure(provider, options);
  // A server that lists its models may not have loaded one yet.
  return provider.models === null || isMeasured;
}

async function lookFor(
  candidate: ProviderConfig,
  { client, routing, log, peers }: Options,
): Promise<boolean> {
  const found = await probeLocal(client, [candidate], { timeoutMs: PROBE_MS });
  for (const { provider, models, more } of found) {
    if (more) warnOfMore(log, provider);
    log.info('a model server was found on this machine', { provider: provider.name, models: models.length });
  }
  if (found.length === 0) return false;
  peers?.share('local', candidate.name, found);
  addLocalServers(routing, found);
  return true;
}

export function addLocalServers(routing: Routing, found: Found): void {
  routing.addProviders(found.map(({ provider }) => provider));
  for (const { provider, models } of found) routing.setDiscovered(provider.name, models);
}

async function askForList(
  { provider, failures }: Fact,
  isKnown: () => boolean,
  { client, routing, log, peers }: Options,
): Promise<boolean> {
  try {
    const { models, more } = await listModels(client, provider, { timeoutMs: LIST_MS });
    // The configuration may have changed meanwhile.
    if (!isKnown()) return false;
    // Said once, not at every reading.
    if (more && routing.modelsOf(provider).length < MOST_MODELS) warnOfMore(log, provider);
    if (routing.setDiscovered(provider.name, models)) peers?.share('models', provider.name, models);
    return models.length > 0;
  } catch (error) {
    // Said once, not at every attempt.
    if (failures === 0)
      log.warn('the models of a provider could not be listed', {
        provider: provider.name,
        reason: String(error),
      });
    return false;
  }
}

async function measure(provider: ProviderConfig, { client, routing, peers }: Options): Promise<boolean> {
  const names = routing.modelsOf(provider);
  const windows = await readWindows(client, provider, names, { timeoutMs: WINDOWS_MS });
  if (windows.size > 0 && routing.setWindows(provider.name, windows))
    peers?.share('windows', provider.name, windows);
  return windows.size > 0;
}

function warnOfMore(log: Logger, { name }: ProviderConfig): void {
  log.warn('a provider lists more models than are kept; any other is asked for as provider/NAME', {
    provider: name,
    kept: MOST_MODELS,
  });
}
