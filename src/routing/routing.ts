// The models that clients can ask for, as the configuration, what providers report and what was found after the start change them.
import type { Clock } from '../clock.ts';
import type { Config, ProviderConfig } from '../config/config.ts';
import { createAffinity, type Affinity, type AffinityListener } from './affinity.ts';
import { createCatalog, createListing, type ModelEntry } from './catalog.ts';
import { createLessons, type LessonListener, type Lessons } from './state/lessons.ts';
import { createProviderKeys, type ProviderKeys } from './state/provider-keys.ts';
import { createModelInfo } from './model-info.ts';
import { createHealth, type Health, type SharedHealth } from './state/health.ts';
import {
  forgetChanged,
  isBuiltin,
  isOnLoopback,
  mergeProviders,
  type Providers,
  type Target,
} from './targets.ts';
import type { GatewayError } from '../errors.ts';
import { isOpen, meantName, unknownName, type Names } from './names.ts';
import { resolve, type Resolution, type RoutingQuery } from './resolve.ts';

export interface Routing {
  readonly health: Health;
  /** What refusals taught of targets. */
  readonly lessons: Lessons;
  /** Which target answered a conversation last. */
  readonly affinity: Affinity;
  /** Of providers with several. */
  readonly keys: ProviderKeys;
  /** Throws GatewayError `model_not_found` (400), `forbidden_model` (403), `invalid_request` (400: no target fits) or
   *  `unavailable` (503: every target cools for long). */
  resolve(query: RoutingQuery): Resolution;
  /** This target answered: the conversation stays with it while it is healthy. */
  remember(query: RoutingQuery, target: Target): void;
  /** Those of a name, in the configured order. */
  targetsOf(name: string): readonly Target[];
  /** Every name that this key may use. */
  models(allowed: readonly string[] | null): ModelEntry[];
  /** Any name that resolves to a target that this key may use. */
  model(name: string, allowed: readonly string[] | null): ModelEntry | undefined;
  /** `model_not_found`, with the reason or the names that are alike. */
  unknown(name: string, allowed: readonly string[] | null): GatewayError;
  /** The name that is listed or can be asked for: `:latest`, which clients of Ollama put behind names, is no part of one that has none. */
  meant(name: string): string;
  /** Whether the name has a target now, other than the built-in one that stands in for others. */
  has(name: string): boolean;
  /** Sets the list of models that a provider without one in the file reports. False: it is known already. */
  setDiscovered(provider: string, models: readonly string[]): boolean;
  /** Sets the windows that a local server reports for its models, in tokens. False: they are known already. */
  setWindows(provider: string, windows: ReadonlyMap<string, number>): boolean;
  /** The names of this provider's models, as it knows them: those of the file, else those that it reported. */
  modelsOf(provider: ProviderConfig): string[];
  /** Adds providers found after the start: local servers, `sim`. A known name is replaced; a provider that the file names gets the
   *  address of the one that was found. */
  addProviders(providers: readonly ProviderConfig[]): void;
  /** Takes a changed configuration. Unchanged providers keep their health. */
  update(config: Config): void;
  /** All providers that are known now, with the built-in one. */
  providers(): readonly ProviderConfig[];
  /** Loads prices and further windows; to be called after the server listens, since it takes long. */
  loadPrices(): Promise<void>;
}

interface RoutingOptions {
  config: Config;
  clock: Clock;
  /** Called when this process learns of a failure or a recovery of a target. */
  onHealth?: ((key: string, shared: SharedHealth) => void) | undefined;
  /** Called when this process learns of a failure or a recovery of one of several keys. */
  onKey?: ((id: string, shared: SharedHealth) => void) | undefined;
  /** Called when a refusal teaches this process something of a target, or it was wrong. */
  onLesson?: LessonListener | undefined;
  /** Called when a conversation is answered by another target than before. */
  onAffinity?: AffinityListener | undefined;
}

export function createRouting(options: RoutingOptions): Routing {
  const { clock, onHealth, onAffinity } = options;
  const health = createHealth(clock, onHealth);
  const lessons = createLessons(options);
  const keys = createProviderKeys(clock, options.onKey);
  const models = createModelInfo();
  const affinity = createAffinity(onAffinity);
  const discovered = new Map<string, readonly string[]>();
  const added = new Map<string, ProviderConfig>();
  let config = options.config;
  let providers: Providers = { all: [], shown: [], auto: [] };
  /** No other provider than the built-in one was ever configured or found. */
  let standsIn = true;
  let names = rebuiltNames();

  function rebuiltNames(): Names {
    const before = providers;
    const { routes, leftOut, file } = config;
    // Without a file, everything that could be configured is left out.
    const lacksKeys = file !== null && leftOut.length > 0;
    standsIn &&= !lacksKeys && [...config.providers, ...added.values()].every(isBuiltin);
    providers = mergeProviders(config.providers, added, standsIn);
    forgetChanged(before, providers, health, keys);
    const catalog = createCatalog({ providers, routes, discovered, models, now: clock.now() });
    const open = providers.shown.filter((provider) => isOpen(provider, discovered)).map(({ name }) => name);
    return { catalog, listing: createListing(catalog), leftOut, lacksKeys, open };
  }

  return {
    health,
    lessons,
    keys,
    affinity,
    resolve: (query) => resolve(query, names, affinity, health),
    remember(query, target) {
      // A name with one target leaves no choice, so its conversation need not be recognised.
      if ((names.catalog.find(query.model)?.targets.length ?? 0) > 1) affinity.remember(query, target);
    },
    targetsOf: (name) => names.catalog.find(name)?.targets ?? [],
    models: (allowed) => names.listing.models(allowed),
    model: (name, allowed) => names.listing.model(name, allowed),
    unknown: (name, allowed) => unknownName(name, allowed, names),
    providers: () => providers.all,
    meant: (name) => meantName(name, names),
    has: (name) => names.catalog.has(name),
    setDiscovered(provider, list) {
      const known = discovered.get(provider);
      if (known?.length === list.length && known.every((name, at) => name === list[at])) return false;
      discovered.set(provider, [...list]);
      names = rebuiltNames();
      return true;
    },
    setWindows(provider, windows) {
      const changed = models.setWindows(provider, windows);
      if (changed) names = rebuiltNames();
      return changed;
    },
    modelsOf: ({ name, models: listed }) =>
      listed?.map(({ upstream }) => upstream) ?? [...(discovered.get(name) ?? [])],
    addProviders(more) {
      for (const provider of more) {
        // The built-in provider's models are no list of bare names: clients ask for them as `sim/NAME`.
        const builtin = provider.source === 'builtin' && provider.models !== null;
        if (builtin) discovered.set(provider.name, provider.models?.map(({ id }) => id) ?? []);
        added.set(provider.name, builtin ? { ...provider, models: null } : provider);
      }
      names = rebuiltNames();
    },
    update(changed) {
      lessons.forget(() => true);
      config = changed;
      names = rebuiltNames();
    },
    async loadPrices() {
      // Servers on this machine bill nothing: without others, the price book is not read at all.
      const billing = providers.all.filter((provider) => !isOnLoopback(provider));
      if (await models.load(billing)) names = rebuiltNames();
    },
  };
}
