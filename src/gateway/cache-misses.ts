// Explains cache misses on the line: reads the print of a prompt when the head of its answer has left, and judges the answer when its
// tokens are known. With `explain_misses: off`, nothing of it runs.
import { crc32 } from 'node:zlib';
import type { Usage } from '../canonical/reply.ts';
import type { Clock } from '../clock.ts';
import { shortId } from '../conversations/names.ts';
import { ADVICE } from '../conversations/misses/advice.ts';
import type { CachedRequest, MissCause } from '../conversations/misses/cause.ts';
import { hadAfter, judge, type PricedMiss } from '../conversations/misses/judge.ts';
import { laneOf, type Lane, type Lanes, type SharedRequest } from '../conversations/misses/lanes.ts';
import type { Logger } from '../log.ts';
import { readPrompt } from '../protocols/prompt/read.ts';
import type { Target } from '../routing/catalog.ts';
import { savingOf } from '../routing/price.ts';
import type { Inbound } from './inbound/read-request.ts';
import type { Trace } from './trace.ts';

/** The target that was asked, and which of its keys was used. */
interface AskedTarget {
  target: Target;
  providerKey?: { readonly key: string };
}

/** A request whose answer will be judged. */
interface PendingRequest {
  lane: Lane;
  request: CachedRequest;
}

export interface CacheMisses {
  /** To be called when the head of the answer has left, so that the client does not wait. */
  read(inbound: Inbound, asked: AskedTarget, trace: Trace): PendingRequest | undefined;
  /** To be called when the answer has ended. */
  judge(pending: PendingRequest, trace: Trace): PricedMiss | undefined;
  /** What another worker answered. */
  adopt(shared: SharedRequest): void;
}

/** Bytes of a body: a shorter one holds no prompt that a cache keeps. */
const LEAST_BYTES = 2048;
/** Misses of a conversation for one cause after which the log says what to do. */
const MANY = 3;

export function createCacheMisses({
  lanes,
  clock,
  log,
}: {
  lanes: Lanes;
  clock: Clock;
  log: Logger;
}): CacheMisses {
  function explain({ lane, request }: PendingRequest, trace: Trace, usage: Usage): PricedMiss | undefined {
    const before = lanes.find(lane, request.print);
    const miss = before === undefined ? undefined : judge(before, request, usage);
    const times = lanes.keep(lane, { ...request, had: hadAfter(usage) }, miss?.cause);
    if (miss === undefined) return undefined;
    const costUsd = savingOf(trace.contact?.target.price, miss.tokens, usage);
    const priced = { ...miss, costUsd };
    if (times === MANY) advise(miss.cause, priced, trace);
    return priced;
  }

  function advise(cause: MissCause, { detail, tokens, costUsd }: PricedMiss, { identity, key }: Trace): void {
    log.warn(`a conversation missed its prompt cache ${MANY} times for one cause: ${ADVICE[cause]}`, {
      conversation: identity.conversation === null ? null : shortId(identity.conversation),
      account: key.account,
      cause,
      detail,
      tokens,
      cost_usd: costUsd,
    });
  }

  /** An explanation that fails must not end an answer. */
  function guarded<Result>(run: () => Result): Result | undefined {
    try {
      return run();
    } catch (error) {
      log.error('a cache miss could not be explained', { message: (error as Error).message });
      return undefined;
    }
  }

  return {
    read(inbound, { target, providerKey }, trace) {
      if (inbound.bytes.length < LEAST_BYTES || inbound.endpoint.does !== 'generate') return undefined;
      return guarded(() => {
        const lane = laneOf(trace.identity);
        const now = clock.now();
        const before = lanes.lastOf(lane).map(({ print }) => print);
        const request = {
          print: readPrompt(inbound, inbound.protocol.client.prompt, before),
          target: target.key,
          credential: crc32(providerKey?.key ?? target.provider.apiKey ?? ''),
          askedAt: now - (clock.monotonic() - trace.contactedAt),
          answeredAt: now,
        };
        return { lane, request };
      });
    },
    judge(pending, trace) {
      const { usage, error } = trace.outcome;
      if (usage === undefined || error !== null) return undefined;
      return guarded(() => explain(pending, trace, usage));
    },
    adopt: (shared) => lanes.adopt(shared),
  };
}
