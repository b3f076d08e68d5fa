// Which targets serve one request, in what order: by the key's list, abilities, health, and the target that answered this conversation
// last. On the path of every request: a single target takes the short way.
import type { Needs } from '../canonical/traits.ts';
import type { ProtocolName } from '../canonical/request.ts';
import type { Identity } from '../conversations/identity.ts';
import { checkCapabilities } from './abilities.ts';
import { admits, type Entry, type Rule } from './catalog.ts';
import type { Health } from './state/health.ts';
import { findEntry, type Names } from './names.ts';
import type { Affinity } from './affinity.ts';
import { beforeIn, equalsOf, order, waitForAll, type Candidate } from './order.ts';
import { noneAdmitted, noneFits } from './refusals.ts';
import type { Target } from './targets.ts';

export interface RoutingQuery {
  /** The client's, if providers speak it. */
  protocol: ProtocolName | undefined;
  model: string;
  needs: Needs;
  /** The key's list; null: everything. */
  allowed: readonly string[] | null;
  accountId: number;
  /** The conversation, and whose part of it; undefined: it does not matter. Read only if there are several targets. */
  readonly identity: Identity | undefined;
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
  /** Of a balanced route: to be called with the target that the request goes to. */
  took?: (target: string) => void;
  /** The rule of the route that chose: `class compaction`, `agent Explore`. */
  rule?: string;
}

export interface PassedOver {
  target: Target;
  why: string;
}

type Skipped = PassedOver[];

/** The targets that one request tries at most. */
export const MAX_ATTEMPTS = 3;

/** Throws GatewayError as `Routing.resolve` says. */
export function resolve(query: RoutingQuery, names: Names, affinity: Affinity, health: Health): Resolution {
  const named = findEntry(query, names);
  const rule = named.rules && ruleFor(named.rules, query.identity);
  const entry = rule === undefined ? named : { ...named, targets: rule.targets };
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
      ...(rule && { rule: nameOf(rule) }),
    };
  }
  for (const candidate of candidates) {
    candidate.state = health.state(candidate.target.key);
    candidate.pace = entry.strategy === 'fastest' ? health.pace(candidate.target.key) : 0;
    candidate.turn = entry.balance?.turnOf(candidate.target.key) ?? 0;
    candidate.isSecond = rule?.first.has(candidate.target) === false;
  }
  const ordered = order(candidates, {
    // A rule is for a kind of work: the target of other work is no reason to stay.
    lastTarget: rule === undefined && last?.asked === query.model ? last.key : undefined,
    family: query.openToolTurn ? last?.family : undefined,
  });
  const waitMs = waitForAll(ordered);
  const [best = only] = ordered;
  const family = last?.family ?? best.target.family;
  const { balance } = entry;
  return {
    targets: ordered.map(({ target }) => guardThinking(query, family, target)),
    asked: entry.name,
    lone: false,
    ...(waitMs > 0 && { waitMs }),
    weak: weaknesses(ordered),
    skipped,
    later: best === only ? NO_TARGETS : beforeIn(candidates, best),
    ...(balance && { took: (target) => balance.took(target, equalsOf(candidates, best)) }),
    ...(rule && { rule: nameOf(rule) }),
  };
}

/** A request of an agent within a conversation is the work of a sub-agent, if it says nothing else. */
function ruleFor(rules: readonly Rule[], identity: RoutingQuery['identity']): Rule | undefined {
  if (identity === undefined) return undefined;
  const { agent, agentType } = identity;
  const kind = identity.class ?? (agent === null ? null : 'subagent');
  return rules.find(({ by, name }) => name === (by === 'agent' ? agentType : kind));
}

function nameOf({ by, name }: Rule): string {
  return `${by} ${name}`;
}

const NO_TARGETS: readonly PassedOver[] = [];

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
    if (fits) left.push({ target, weak, state: WELL, pace: 0, turn: 0, isSecond: false });
    else skipped.push({ target, why: `it takes no ${lacks.join(', no ')}` });
  }
  return left;
}

function windowOf({ traits, provider }: Target, query: RoutingQuery): number | undefined {
  const goesOn = provider.protocols.some((name) => name === query.protocol);
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
