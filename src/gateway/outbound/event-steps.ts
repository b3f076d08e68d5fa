// Who looks at the events of an answer, or changes them, on their way to the client. Without a step, a relay forwards bytes.
import { createCollector, replay } from '../../canonical/collect.ts';
import type { Reply, StreamEvent } from '../../canonical/reply.ts';
import type { Offer } from '../../canonical/request.ts';
import { GatewayError } from '../../errors.ts';
import type { Ids } from '../../ids.ts';
import { NO_MAPPING, type ReverseMapping } from '../../canonical/reverse-mapping.ts';
import type { Relay } from '../../protocols/interface/protocol.ts';
import { CallRepairer } from '../../repair/call-repairer.ts';
import { offeredTools } from '../../repair/offered-tools.ts';
import type { Inbound } from '../inbound/read-request.ts';

/** Gets the events that the provider's decoder makes of one answer, before names and tools are given their client's form. */
export interface EventStep {
  /** The events to pass on. A step passes on the last one, `end` or `error`. */
  push(event: StreamEvent): readonly StreamEvent[];
  /** Events wait for what comes next. */
  isHolding(): boolean;
  /** The answer broke off: the events that wait. */
  giveUp(): readonly StreamEvent[];
  /** What it changed in tool calls so far. A relay is written anew from the first change on. */
  repaired(): readonly string[];
}

export type CreateEventStep = (ids: Ids) => EventStep;

/**
 * The steps of an answer, in their order; undefined: nobody asked for its events. The repair of calls is for requests that offer
 * tools to a provider with `repair_tools`.
 */
export function eventSteps(
  { tools = [], toolChoice, responseFormat }: Offer,
  { toolNames, customTools, structuredTool }: ReverseMapping,
): readonly CreateEventStep[] | undefined {
  if (structuredTool !== undefined || tools.length === 0 || toolChoice?.type === 'none') return undefined;
  const offered = offeredTools(tools, toolNames, customTools);
  return [(ids) => new CallRepairer({ offered, isJsonAsked: responseFormat !== undefined, ids })];
}

/** Those of a relayed answer. One that holds members that only its own bytes keep is relayed as it came. */
export function relayedSteps(inbound: Inbound, relay: Relay): readonly CreateEventStep[] | undefined {
  if (inbound.protocol.client.lossesOfRewriting(inbound.value).length > 0) return undefined;
  let offer: Offer;
  try {
    offer = relay.readOffer(inbound);
  } catch (error) {
    // What no other protocol can take is relayed, and its answer with it.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
  const steps = eventSteps(offer, NO_MAPPING);
  // While the parsed body is there: an answer that is written anew depends on it.
  if (steps !== undefined) inbound.asked();
  return steps;
}

/** One step for all. */
export function createStep(steps: readonly CreateEventStep[], ids: Ids): EventStep {
  const [only, ...more] = steps.map((create) => create(ids));
  if (only === undefined) throw new Error('no step was asked for');
  return more.length === 0 ? only : new StepChain([only, ...more]);
}

class StepChain implements EventStep {
  readonly #steps: readonly EventStep[];

  constructor(steps: readonly EventStep[]) {
    this.#steps = steps;
  }

  push(event: StreamEvent): readonly StreamEvent[] {
    return this.#through([event], 0);
  }

  isHolding(): boolean {
    return this.#steps.some((step) => step.isHolding());
  }

  giveUp(): readonly StreamEvent[] {
    return this.#steps.flatMap((step, at) => this.#through(step.giveUp(), at + 1));
  }

  repaired(): readonly string[] {
    return this.#steps.flatMap((step) => step.repaired());
  }

  #through(events: readonly StreamEvent[], from: number): readonly StreamEvent[] {
    let passed = events;
    for (const step of this.#steps.slice(from)) passed = passed.flatMap((event) => step.push(event));
    return passed;
  }
}

/** A whole answer takes the same way as a stream. */
export function stepped(reply: Reply, step: EventStep): Reply {
  const collector = createCollector();
  for (const event of replay(reply)) {
    for (const passed of step.push(event)) collector.push(passed);
  }
  const result = collector.result();
  return 'failure' in result ? reply : result.reply;
}
