// Which targets serve a request, in what order: names, the key's list, what fits, how targets fare, and where this
// conversation was answered last. On the path of every request: names are maps, and one target takes the short way.
import type { Clock } from '../clock.ts';
import type { Needs } from '../canonical/traits.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import type { Config, ProviderConfig } from '../config/config.ts';
import { order, waitOf } from './order.ts';
import type { Candidate } from './order.ts';
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
import { createHealth } from './health.ts';
import type { Health } from './health.ts';
import { mergeProviders, type Providers } from './targets.ts';
import { allCooling, noneAdmitted, noneFits, unknownModel } from './refusals.ts';
import { createAffinity } from './affinity.ts';

export interface RoutingQuery {
  protocol: ProtocolName;
  model: string;
  needs: Needs;
  /** The key's list; null: everything. */
  allowed: readonly string[] | null;
  accountId: number;
  /** A hash of the conversation's beginning; undefined: it can't be recognised. Read only where there is a choice. */
  readonly conversation: string | undefined;
  /** The request ends with results of tools that the model called: its thinking must stay with its family. */
  openToolTurn: boolean;
  /** The client asks for the long window of models that have two, by a beta that goes on to a provider of the same protocol. */
  longContext?: boolean;
  /** The request's tokens, roughly: asked for only where a window matters, at most once. */
  estimate: () => number;
}

export interface Resolution {
  /** In the order to try; at least one. How many of them are tried is the gateway's choice. */
  targets: readonly Target[];
  /** The name that was asked for. */
  asked: string;
  /** The only target that is admitted and fits: neither breaker nor cool-down applies to it (`begin(key, true)`). */
  lone: boolean;
  /** All of them cool: wait so long, then resolve again. */
  waitMs?: number;
  /** For each of `targets`, by key: what it should not lack, where there is something. */
  weak: ReadonlyMap<string, readonly string[]>;
  /** Targets of the name that were left out, and why. */
  passedOver: readonly { target: Target; why: string }[];
}

export interface Routing {
  readonly health: Health;
  /** Throws GatewayError `model_not_found` (400), `forbidden_model` (403), `invalid_request` (400: no target fits) or
   *  `unavailable` (503: every target cools for long). */
  resolve(question: RoutingQuery): Resolution;
  /** This target answered: the conversation stays with it while it is healthy. */
  remember(question: RoutingQuery, target: Target): void;
  /** Every name that this key may use. */
  models(allowed: readonly string[] | null): ModelEntry[];
  /** Any name that resolves to a target that this key may use. */
  model(name: string, allowed: readonly string[] | null): ModelEntry | undefined;
  /** The names that a provider without a list told. */
  setDiscovered(provider: string, models: readonly string[]): void;
  /** Providers found after the start: local servers, `sim`. One of a known name takes the place of its former self; one that
   *  the file names lends it its address. */
  addProviders(providers: readonly ProviderConfig[]): void;
  /** The file has changed. What is known of the health of unchanged providers is kept. */
  update(config: Config): void;
  /** All that are known now, the built-in one included. */
  providers(): readonly ProviderConfig[];
  /** Loads prices and further windows: 50 ms of work, so after the server listens. */
  loadPrices(): Promise<void>;
}

/** Longer than this a request does not wait for a target that cools. */
const LONGEST_WAIT_MS = 10_000;

export function createRouting(options: { config: Config; clock: Clock }): Routing {
  const { clock } = options;
  const health = createHealth(clock);
  const facts = createModelInfo();
  const sticky = createAffinity();
  const discovered = new Map<string, readonly string[]>();
  const added = new Map<string, ProviderConfig>();
  let config = options.config;
  let providers: Providers = { all: [], shown: [] };
  let catalog: Catalog;
  let listing: Listing;
  rebuild();

  function rebuild(): void {
    const before = new Map(providers.all.map((provider) => [provider.name, provider]));
    providers = mergeProviders(config.providers, added);
    const now = new Map(providers.all.map((provider) => [provider.name, provider]));
    for (const [name, provider] of before)
      if (!sameServer(provider, now.get(name))) health.forget((key) => key.startsWith(`${name}/`));
    catalog = createCatalog({ providers, routes: config.routes, discovered, facts, now: clock.now() });
    listing = createListing(catalog);
  }

  function admitted(
    entry: Entry,
    question: RoutingQuery,
    passedOver: Resolution['passedOver'][number][],
  ): readonly Target[] {
    const { allowed } = question;
    if (allowed === null) return entry.targets;
    const left: Target[] = [];
    for (const target of entry.targets)
      if (admits(allowed, entry, target)) left.push(target);
      else passedOver.push({ target, why: 'the key may not use it' });
    if (left.length === 0) throw noneAdmitted(entry.name);
    return left;
  }

  return {
    health,
    resolve(question) {
      const entry = catalog.find(question.model);
      if (entry === undefined)
        throw unknownModel(question.model, {
          usable: listing.names(question.allowed),
          targets: listing.targets(question.allowed),
          leftOut: question.allowed?.includes(question.model) === false ? [] : config.leftOut,
        });
      const passedOver: { target: Target; why: string }[] = [];
      const open = admitted(entry, question, passedOver);
      const candidates = fitting(open, question, passedOver);
      const first = candidates[0];
      if (first === undefined) throw noneFits(entry.name, passedOver);
      const known = entry.targets.length > 1 ? sticky.recall(question) : undefined;
      if (candidates.length === 1) {
        const targets = [foreign(question, known?.family, first.target)];
        return { targets, asked: entry.name, lone: true, weak: weaknesses(candidates), passedOver };
      }
      for (const candidate of candidates) {
        candidate.state = health.state(candidate.target.key);
        candidate.pace = entry.strategy === 'fastest' ? health.pace(candidate.target.key) : 0;
      }
      const ordered = order(candidates, {
        strategy: entry.strategy,
        sticky: known?.asked === question.model ? known.key : undefined,
        family: question.openToolTurn ? known?.family : undefined,
      });
      const waitMs = waitForAll(ordered);
      const family = known?.family ?? ordered[0]?.target.family;
      return {
        targets: ordered.map(({ target }) => foreign(question, family, target)),
        asked: entry.name,
        lone: false,
        ...(waitMs > 0 && { waitMs }),
        weak: weaknesses(ordered),
        passedOver,
      };
    },
    remember(question, target) {
      // A name with one target leaves no choice: then the conversation need not even be recognised.
      if ((catalog.find(question.model)?.targets.length ?? 0) > 1) sticky.remember(question, target);
    },
    models: (allowed) => listing.models(allowed),
    model: (name, allowed) => listing.model(name, allowed),
    providers: () => providers.all,
    setDiscovered(provider, models) {
      discovered.set(provider, [...models]);
      rebuild();
    },
    addProviders(more) {
      for (const provider of more) {
        // The built-in provider's models are no list of bare names: they are asked for as `sim/NAME`.
        const builtin = provider.source === 'builtin' && provider.models !== null;
        if (builtin) discovered.set(provider.name, provider.models?.map(({ id }) => id) ?? []);
        added.set(provider.name, builtin ? { ...provider, models: null } : provider);
      }
      rebuild();
    },
    update(changed) {
      config = changed;
      rebuild();
    },
    async loadPrices() {
      // Servers on this machine bill nothing: without others, the book is not read at all.
      if (await facts.load(providers.all.filter((provider) => !isOnLoopback(provider)))) rebuild();
    },
  };
}

/** Those that can take the request; the others are added to `passedOver`. Nothing is estimated for a target that is alone. */
function fitting(
  targets: readonly Target[],
  question: RoutingQuery,
  passedOver: { target: Target; why: string }[],
): Candidate[] {
  let estimate: number | undefined;
  const left: Candidate[] = [];
  for (const target of targets) {
    if (targets.length > 1 && target.traits.contextWindow !== undefined) estimate ??= question.estimate();
    const window = windowOf(target, question);
    const { passed, lacks, weak } = checkCapabilities(
      target,
      question.protocol,
      question.needs,
      estimate,
      window,
    );
    if (passed) left.push({ target, weak, state: WELL, pace: 0 });
    else passedOver.push({ target, why: `it takes no ${lacks.join(', no ')}` });
  }
  return left;
}

function windowOf({ traits, provider }: Target, question: RoutingQuery): number | undefined {
  const goesOn = provider.protocols.includes(question.protocol);
  return (
    (question.longContext === true && goesOn ? traits.longContextWindow : undefined) ?? traits.contextWindow
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

/** 0: go. Failing targets are tried all the same where nothing better is left; those that said "not now" are waited for. */
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

/** Marks a target that may not be given the open turn's thinking. */
function foreign(question: RoutingQuery, family: string | undefined, target: Target): Target {
  if (!question.openToolTurn || family === undefined || family === target.family) return target;
  return { ...target, withoutThinking: true };
}

/** Its address is this machine's own. */
function isOnLoopback({ baseUrls }: ProviderConfig): boolean {
  return Object.values(baseUrls).every((url) =>
    /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname),
  );
}

function sameServer(before: ProviderConfig, now: ProviderConfig | undefined): boolean {
  return (
    now !== undefined &&
    before.apiKey === now.apiKey &&
    PROTOCOL_NAMES.every((name) => before.baseUrls[name] === now.baseUrls[name])
  );
}

export type { ModelEntry };
