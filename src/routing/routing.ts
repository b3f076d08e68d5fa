// Which targets serve a request, in what order: by name, the key's list, capabilities, health, and the target that answered this
// conversation last. On the path of every request: names are maps, and a single target takes the short way.
import type { Clock } from '../clock.ts';
import type { Needs } from '../canonical/traits.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import type { Config, ProviderConfig } from '../config/config.ts';
import { isLoopback } from '../loopback.ts';
import { order, waitOf, type Candidate } from './order.ts';
import {
  createCatalog,
  type Catalog,
  type Entry,
  type Target,
  admits,
  createListing,
  type Listing,
  type ModelEntry,
} from './catalog.ts';
import { createModelInfo } from './model-info.ts';
import { checkCapabilities } from './capability-check.ts';
import { createHealth, type Health } from './health.ts';
import { mergeProviders, type Providers } from './targets.ts';
import { allCooling, noneAdmitted, noneFits, unknownModel } from './refusals.ts';
import { createAffinity, type Affinity } from './affinity.ts';

export interface RoutingQuery {
  protocol: ProtocolName;
  model: string;
  needs: Needs;
  /** The key's list; null: everything. */
  allowed: readonly string[] | null;
  accountId: number;
  /** A hash of the conversation's beginning; undefined: it can't be recognised. Read only if there are several targets. */
  readonly conversation: string | undefined;
  /** The request ends with results of tools that the model called: its thinking must stay with its family. */
  openToolTurn: boolean;
  /** A beta header asks for the long window of models that have two; it is forwarded to providers of the same protocol. */
  longContext?: boolean;
  /** The request's estimated tokens: called only if a window matters, at most once. */
  estimate: () => number;
}

export interface Resolution {
  /** In the order to try; at least one. How many of them are tried is the gateway's choice. */
  targets: readonly Target[];
  /** The name that was asked for. */
  asked: string;
  /** There is one target alone: neither breaker nor cool-down applies to it (`begin(key, true)`). */
  lone: boolean;
  /** Set if all of them cool: milliseconds to wait before the query is resolved again. */
  waitMs?: number;
  /** By a target's key: what it lacks and should not. */
  weak: ReadonlyMap<string, readonly string[]>;
  /** Targets of the name that were left out, and why. */
  skipped: readonly PassedOver[];
  /** Targets that the configuration names before the first of `targets`, and why they come later. */
  later: readonly PassedOver[];
}

export interface PassedOver {
  target: Target;
  why: string;
}

export interface Routing {
  readonly health: Health;
  /** Throws GatewayError `model_not_found` (400), `forbidden_model` (403), `invalid_request` (400: no target fits) or
   *  `unavailable` (503: every target cools for long). */
  resolve(query: RoutingQuery): Resolution;
  /** This target answered: the conversation stays with it while it is healthy. */
  remember(query: RoutingQuery, target: Target): void;
  /** Every name that this key may use. */
  models(allowed: readonly string[] | null): ModelEntry[];
  /** Any name that resolves to a target that this key may use. */
  model(name: string, allowed: readonly string[] | null): ModelEntry | undefined;
  /** Sets the list of models that a provider without one in the file reports. */
  setDiscovered(provider: string, models: readonly string[]): void;
  /** Sets the windows that a local server reports for its models, in tokens. */
  setWindows(provider: string, windows: ReadonlyMap<string, number>): void;
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

/** The longest time that a request waits for a target that cools. */
const LONGEST_WAIT_MS = 10_000;

export function createRouting(options: { config: Config; clock: Clock }): Routing {
  const { clock } = options;
  const health = createHealth(clock);
  const models = createModelInfo();
  const affinity = createAffinity();
  const discovered = new Map<string, readonly string[]>();
  const added = new Map<string, ProviderConfig>();
  let config = options.config;
  let providers: Providers = { all: [], shown: [] };
  let names = rebuiltNames();

  function rebuiltNames(): Names {
    const before = providers;
    providers = mergeProviders(config.providers, added);
    forgetChanged(before, providers, health);
    const { routes, leftOut } = config;
    const catalog = createCatalog({ providers, routes, discovered, models, now: clock.now() });
    return { catalog, listing: createListing(catalog), leftOut };
  }

  return {
    health,
    resolve: (query) => resolve(query, names, affinity, health),
    remember(query, target) {
      // A name with one target leaves no choice, so its conversation need not be recognised.
      if ((names.catalog.find(query.model)?.targets.length ?? 0) > 1) affinity.remember(query, target);
    },
    models: (allowed) => names.listing.models(allowed),
    model: (name, allowed) => names.listing.model(name, allowed),
    providers: () => providers.all,
    setDiscovered(provider, list) {
      discovered.set(provider, [...list]);
      names = rebuiltNames();
    },
    setWindows(provider, windows) {
      if (models.setWindows(provider, windows)) names = rebuiltNames();
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

/** The names that clients can ask for; built again at each change. */
interface Names {
  catalog: Catalog;
  listing: Listing;
  leftOut: Config['leftOut'];
}

type Skipped = PassedOver[];

function resolve(query: RoutingQuery, names: Names, affinity: Affinity, health: Health): Resolution {
  const entry = findEntry(query, names);
  const skipped: Skipped = [];
  const candidates = fitting(allowedTargets(entry, query, skipped), query, skipped);
  const [only] = candidates;
  if (only === undefined) throw noneFits(entry.name, skipped);
  const last = entry.targets.length > 1 ? affinity.recall(query) : undefined;
  if (candidates.length === 1) {
    const targets = [guardThinking(query, last?.family, only.target)];
    return {
      targets,
      asked: entry.name,
      lone: true,
      weak: weaknesses(candidates),
      skipped,
      later: NO_TARGETS,
    };
  }
  for (const candidate of candidates) {
    candidate.state = health.state(candidate.target.key);
    candidate.pace = entry.strategy === 'fastest' ? health.pace(candidate.target.key) : 0;
  }
  const ordered = order(candidates, {
    strategy: entry.strategy,
    lastTarget: last?.asked === query.model ? last.key : undefined,
    family: query.openToolTurn ? last?.family : undefined,
  });
  const waitMs = waitForAll(ordered);
  const [best = only] = ordered;
  const family = last?.family ?? best.target.family;
  return {
    targets: ordered.map(({ target }) => guardThinking(query, family, target)),
    asked: entry.name,
    lone: false,
    ...(waitMs > 0 && { waitMs }),
    weak: weaknesses(ordered),
    skipped,
    later: best === only ? NO_TARGETS : beforeIn(candidates, best),
  };
}

const NO_TARGETS: readonly PassedOver[] = [];

/** The candidates that stand before the best one in the configured order, and why they were not preferred. */
function beforeIn(candidates: readonly Candidate[], best: Candidate): PassedOver[] {
  return candidates
    .slice(0, candidates.indexOf(best))
    .map((candidate) => ({ target: candidate.target, why: drawbackOf(candidate, best) }));
}

function drawbackOf({ state, weak, pace }: Candidate, best: Candidate): string {
  if (state.breaker !== 'closed') return 'it is failing';
  if (state.coolingMs > 0) return `it cools down for ${Math.ceil(state.coolingMs / 1000)} s`;
  if (weak.length > 0 && best.weak.length === 0) return `it lacks ${weak.join(', ')}`;
  return pace > best.pace ? 'another one was faster' : 'the conversation stays with its last target';
}

function findEntry({ model, allowed }: RoutingQuery, { catalog, listing, leftOut }: Names): Entry {
  const entry = catalog.find(model);
  if (entry !== undefined) return entry;
  throw unknownModel(model, {
    usable: listing.names(allowed),
    targets: listing.targets(allowed),
    leftOut: allowed?.includes(model) === false ? [] : leftOut,
  });
}

/** Targets that the key may use; the others are added to `skipped`. */
function allowedTargets(entry: Entry, { allowed }: RoutingQuery, skipped: Skipped): readonly Target[] {
  if (allowed === null) return entry.targets;
  const left: Target[] = [];
  for (const target of entry.targets)
    if (admits(allowed, entry, target)) left.push(target);
    else skipped.push({ target, why: 'the key may not use it' });
  if (left.length === 0) throw noneAdmitted(entry.name);
  return left;
}

/** Targets that can take the request; the others are added to `skipped`. For a single target nothing is estimated. */
function fitting(targets: readonly Target[], query: RoutingQuery, skipped: Skipped): Candidate[] {
  let estimate: number | undefined;
  const left: Candidate[] = [];
  for (const target of targets) {
    if (targets.length > 1 && target.traits.contextWindow !== undefined) estimate ??= query.estimate();
    const window = windowOf(target, query);
    const { fits, lacks, weak } = checkCapabilities(target, query.protocol, query.needs, estimate, window);
    if (fits) left.push({ target, weak, state: WELL, pace: 0 });
    else skipped.push({ target, why: `it takes no ${lacks.join(', no ')}` });
  }
  return left;
}

function windowOf({ traits, provider }: Target, query: RoutingQuery): number | undefined {
  const goesOn = provider.protocols.includes(query.protocol);
  return (
    (query.longContext === true && goesOn ? traits.longContextWindow : undefined) ?? traits.contextWindow
  );
}

const WELL: Candidate['state'] = {
  breaker: 'closed',
  probing: false,
  coolingMs: 0,
  openMs: 0,
  failures: 0,
  firstByteMs: undefined,
  inFlight: 0,
};

/**
 * Milliseconds to wait before a target is asked. Failing targets are tried if nothing better is left; targets that cool after a rate
 * limit or overload are waited for. Throws if the wait is long.
 */
function waitForAll(ordered: readonly Candidate[]): number {
  let soonest = Infinity;
  for (const { state } of ordered) {
    if (state.coolingMs === 0) return 0;
    soonest = Math.min(soonest, waitOf(state));
  }
  if (soonest >= LONGEST_WAIT_MS) throw allCooling(soonest);
  return soonest;
}

const NONE: ReadonlyMap<string, readonly string[]> = new Map();

function weaknesses(candidates: readonly Candidate[]): Resolution['weak'] {
  const some = candidates.filter(({ weak }) => weak.length > 0);
  return some.length === 0 ? NONE : new Map(some.map(({ target, weak }) => [target.key, weak]));
}

/** Marks a target of another family, which must not get the open turn's thinking. */
function guardThinking(query: RoutingQuery, family: string | undefined, target: Target): Target {
  if (!query.openToolTurn || family === undefined || family === target.family) return target;
  return { ...target, withoutThinking: 'foreign' };
}

/** Its addresses belong to this machine. */
function isOnLoopback({ baseUrls }: ProviderConfig): boolean {
  return Object.values(baseUrls).every((url) => isLoopback(new URL(url).hostname));
}

/** Forgets the health of providers that are gone or have another address or key. */
function forgetChanged(before: Providers, now: Providers, health: Health): void {
  for (const provider of before.all) {
    const same = now.all.find(({ name }) => name === provider.name);
    if (!sameServer(provider, same)) health.forget((key) => key.startsWith(`${provider.name}/`));
  }
}

function sameServer(before: ProviderConfig, now: ProviderConfig | undefined): boolean {
  return (
    now !== undefined &&
    before.apiKey === now.apiKey &&
    PROTOCOL_NAMES.every((name) => before.baseUrls[name] === now.baseUrls[name])
  );
}

export type { ModelEntry };
