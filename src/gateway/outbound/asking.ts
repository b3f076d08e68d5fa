// What the steps of one call of askTargets share.
import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import type { Ids } from '../../ids.ts';
import type { Logger } from '../../log.ts';
import type { ProviderClient } from '../../providers/client.ts';
import type { Lines, TurnedAway } from '../../providers/line.ts';
import type { Target } from '../../routing/catalog.ts';
import type { Routing } from '../../routing/routing.ts';
import type { Inbound } from '../inbound/read-request.ts';
import type { Trace } from '../trace.ts';
import type { BuildOptions, BuiltRequest } from './build-request.ts';
import type { FailedAttempt, RequestFigures } from './fallback-error.ts';
import type { ReplyLimits } from './provider-reply.ts';

/** Members are handed on, not copied: a spread for each request costs a third of its processor time (docs/decisions/0014). */
export interface AskOptions {
  inbound: Inbound;
  build: BuildOptions;
  limits: ReplyLimits;
  first: BuiltRequest;
  /** The targets after the first, in order. */
  rest: readonly Target[];
  /** There is one target alone: neither breaker nor cool-down applies to it. */
  lone: boolean;
  cancellation: Cancellation;
}

export interface AskDeps {
  client: ProviderClient;
  routing: Pick<Routing, 'health' | 'lessons' | 'keys'>;
  lines: Lines;
  clock: Clock;
  ids: Ids;
  log: Logger;
}

/** One call of askTargets, as its steps share it. */
export interface Asking {
  options: AskOptions;
  trace: Trace;
  deps: AskDeps;
  /** Targets that failed so far. */
  failed: FailedAttempt[];
  /** Targets whose line was full, or took too long. */
  turnedAway: Map<Target, TurnedAway>;
}

export function passOver(target: Target, why: string, { trace }: Asking): undefined {
  if (!trace.passedOver.some((other) => other.target === target)) {
    trace.passedOver = [...trace.passedOver, { target, why }];
  }
}

export function figuresOf({ options, deps }: Asking): RequestFigures {
  return {
    estimate: () => options.inbound.estimate(),
    // A lone target is tried whether it cools or not: its client need not wait for that.
    coolingMs: ({ key }) => (options.lone ? undefined : deps.routing.health.state(key).coolingMs),
  };
}
