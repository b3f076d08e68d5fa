// Which targets serve a request, in what order: by name, the key's list, capabilities, health, and the target that answered this
// conversation last. On the path of every request: names are maps, and a single target takes the short way.
import type { Clock } from '../clock.ts';
import type { Needs } from '../canonical/traits.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import type { Config, ProviderConfig } from '../config/config.ts';
import { beforeIn, createAffinity, order, waitForAll, type Affinity, type Candidate } from './order.ts';
import {
  createCatalog,
  type Catalog,
  type Entry,
  admits,
  createListing,
  type Listing,
  type ModelEntry,
} from './catalog.ts';
import { createModelInfo } from './model-info.ts';
import { createHealth, type Health, type SharedHealth } from './health.ts';
import {
  type Discovered,
  forgetChanged,
  isBuiltin,
  isOnLoopback,
  mergeProviders,
  type Providers,
  type Target,
} from './targets.ts';
import type { GatewayError } from '../errors.ts';
import { noneAdmitted, noneFits, unknownModel } from './refusals.ts';
import { outlines } from '../protocols/outlines.ts';
import { plural } from '../plural.ts';

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
  readonly openToolTurn: boolean;
  /** A beta header asks for the long window of models that have two; it is forwarded to providers of the same protocol. */
  longContext?: boolean;
  /** The request's estimated tokens: called only if a window matters, at most once. */
  estimate: () => number;
}

export interface Resolution {
  /** In the order to try; at least one. A request tries the first `MAX_ATTEMPTS` of them. */
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
  /** `model_not_found`, with the reason or the names that are alike. */
  unknown(name: string, allowed: readonly string[] | null): GatewayError;
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

/** The targets that one request tries at most. */
export const MAX_ATTEMPTS = 3;

export function createRouting(options: {
  config: Config;
  clock: Clock;
  /** Called when this process learns of a failure or a recovery of a target. */
  onHealth?: ((key: string, shared: SharedHealth) => void) | undefined;
}): Routing {
  const { clock, onHealth } = options;
  const health = createHealth(clock, onHealth);
  const models = createModelInfo();
  const affinity = createAffinity();
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
    forgetChanged(before, providers, health);
    const catalog = createCatalog({ providers, routes, discovered, models, now: clock.now() });
    const open = providers.shown.filter((provider) => isOpen(provider, discovered)).map(({ name }) => name);
    return { catalog, listing: createListing(catalog), leftOut, lacksKeys, open };
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
    unknown: (name, allowed) => unknownName(name, allowed, names),
    providers: () => providers.all,
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
  /** The file names providers that are left out. */
  lacksKeys: boolean;
  /** Providers whose models are not known: clients may ask them for any name. */
  open: readonly string[];
}

function isOpen({ name, models, source }: ProviderConfig, discovered: Discovered): boolean {
  return models === null && source !== 'builtin' && (discovered.get(name) ?? []).length === 0;
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

function findEntry({ model, allowed }: RoutingQuery, names: Names): Entry {
  const entry = names.catalog.find(model);
  if (entry !== undefined) return entry;
  throw unknownName(model, allowed, names);
}

function unknownName(
  name: string,
  allowed: readonly string[] | null,
  { listing, leftOut, lacksKeys, open }: Names,
): GatewayError {
  return unknownModel(name, {
    usable: listing.names(allowed),
    targets: listing.targets(allowed),
    leftOut: allowed?.includes(name) === false ? [] : leftOut,
    limited: allowed !== null,
    lacksKeys,
    open: open.flatMap((provider) => askableAt(provider, allowed)),
  });
}

/** What this key may ask a provider for whose models are not known. */
function askableAt(provider: string, allowed: readonly string[] | null): string[] {
  if (allowed === null) return [`${provider}/NAME`];
  return allowed.filter((name) => name.startsWith(`${provider}/`));
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

const NONE: ReadonlyMap<string, readonly string[]> = new Map();

function weaknesses(candidates: readonly Candidate[]): Resolution['weak'] {
  const some = candidates.filter(({ weak }) => weak.length > 0);
  return some.length === 0 ? NONE : new Map(some.map(({ target, weak }) => [target.key, weak]));
}

/** Marks a target of another family, which must not get the open turn's thinking. */
function guardThinking(query: RoutingQuery, family: string | undefined, target: Target): Target {
  if (family === undefined || family === target.family || !query.openToolTurn) return target;
  return { ...target, withoutThinking: 'foreign' };
}

interface Fit {
  fits: boolean;
  /** What it can't take, for the client's error: `images`. */
  lacks: string[];
  /** What would be left out, emulated, or is perhaps too much. */
  weak: string[];
}

type Ability = (target: Target, client: ProtocolName) => boolean | undefined;

// Undefined: unknown, and taken as possible.
const MUST: readonly [keyof Needs, Ability, string][] = [
  ['image', ({ traits }) => traits.vision, 'images'],
  ['document', ({ traits }) => traits.documents, 'documents'],
  ['audio', ({ traits }) => traits.audio, 'audio'],
  ['tools', ({ traits }) => traits.tools, 'tools'],
];
const SHOULD: readonly [keyof Needs, Ability, string][] = [
  ['thinking', ({ traits }) => traits.thinking, 'thinking'],
  ['structuredOutput', ({ traits }) => traits.structuredOutput, 'structured output'],
  ['serverTools', serverTools, 'server tools'],
];

const NOTHING: string[] = [];
const FIT: Fit = { fits: true, lacks: NOTHING, weak: NOTHING };

/**
 * `estimate`: the request's estimated tokens, undefined if nothing was estimated; too many alone never skip a target. `window`: the
 * tokens that the target takes, if known.
 */
function checkCapabilities(
  target: Target,
  client: ProtocolName,
  needs: Needs,
  estimate: number | undefined,
  window = target.traits.contextWindow,
): Fit {
  const lacks = missing(MUST, needs, target, client);
  const weak = missing(SHOULD, needs, target, client);
  const over = estimate !== undefined && window !== undefined && estimate > window;
  if (lacks.length === 0 && weak.length === 0 && !over) return FIT;
  return {
    fits: lacks.length === 0,
    lacks,
    weak: over ? [...weak, `room for about ${plural(estimate, 'token')} (its window is ${window})`] : weak,
  };
}

function missing(
  rows: readonly [keyof Needs, Ability, string][],
  needs: Needs,
  target: Target,
  client: ProtocolName,
): string[] {
  let found = NOTHING;
  for (const [need, ability, words] of rows)
    if (needs[need] && ability(target, client) === false)
      found = found.length === 0 ? [words] : [...found, words];
  return found;
}

/** Protocols of clients that may offer tools which the provider runs itself, such as a web search: for others, the target goes last
 *  with such a request. */
export const serverToolsOf = (target: Target): ProtocolName[] =>
  PROTOCOL_NAMES.filter((client) => serverTools(target, client) !== false);

/** Unknown, so possible, if the client's protocol has server tools and they are relayed to a provider that states nothing about them. */
function serverTools({ traits, provider }: Target, client: ProtocolName): boolean | undefined {
  if (traits.serverTools) return true;
  const isStated = provider.traits.serverTools !== undefined;
  return !isStated && outlines[client].hasServerTools && provider.protocols.includes(client)
    ? undefined
    : false;
}
