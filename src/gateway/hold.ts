// What a request holds of its account's limits, and what it took in the end: settled once, before the last byte of its answer is sent.
import { type Usage, totalInput } from '../canonical/reply.ts';
import type { Held } from '../accounts/admission.ts';
import type { Clock } from '../clock.ts';
import { costOf } from '../routing/price.ts';
import type { Target } from '../routing/catalog.ts';
import type { Braked } from '../store/holds/brakes.ts';
import type { Estimate, HoldStore, Settlement, Standing } from '../store/holds/holds.ts';
import { GatewayError } from '../errors.ts';
import type { Config } from '../config/config.ts';
import { tierNamed } from '../accounts/terms.ts';
import type { Resolution } from '../routing/resolve.ts';
import type { Key } from '../store/store.ts';
import { nanosOf } from '../tier.ts';
import type { Inbound } from './inbound/read-request.ts';
import type { Outcome, Trace } from './trace.ts';
import type { UsualOutputs } from './usual-outputs.ts';

/** Of what goes to clients, streamed. */
const BYTES_PER_TOKEN = 4;

/** Tokens that a request is expected to take. */
export interface Expected {
  input: number;
  output: number;
}

interface HoldDeps {
  store: Pick<HoldStore, 'settle'>;
  limitNotices: { look(key: Key): void };
  usual: UsualOutputs;
  clock: Clock;
}

/** Before the body is released. */
export function expectedOf(
  inbound: Inbound,
  target: Target,
  accountId: number,
  usual: UsualOutputs,
): Expected {
  const most = inbound.outputLimit() ?? Infinity;
  return { input: inbound.estimate(), output: Math.min(usual.of(accountId, target.key), most) };
}

export function estimateOf(expected: Expected, target: Target): Estimate {
  return { tokens: expected.input + expected.output, cost: priceOf(target, expected) ?? 0 };
}

/** Billionths of a dollar; undefined: the price is unknown. */
function priceOf(target: Target, usage: Usage): number | undefined {
  const cost = costOf(target.price, usage);
  return cost === undefined ? undefined : nanosOf(cost);
}

/**
 * With `unknown_price: refuse`: where a limit of money holds, only targets with a price. Throws GatewayError `forbidden_model` if none is left.
 */
export function pricedTargets(
  { targets }: Pick<Resolution, 'targets'>,
  { tier }: Pick<Key, 'tier'>,
  { tiers }: Pick<Config, 'tiers'>,
): readonly Target[] {
  if (tierNamed(tier, tiers).limits.every(({ kind }) => kind !== 'cost')) return targets;
  const priced = targets.filter(isPriced);
  if (priced.length > 0) return priced;
  const shown = targets.map(({ key }) => key.slice(0, MOST_SHOWN)).join(', ');
  throw new GatewayError(
    'forbidden_model',
    `the price of ${shown} is unknown, and the account has a limit of cost (unknown_price: refuse); ` +
      'write the price at the model in the configuration: price: { input: 1, output: 2 } (USD a million tokens)',
  );
}

const MOST_SHOWN = 200;

/** Whether every answer of the target has a known cost. */
function isPriced({ price }: Target): boolean {
  return price?.input !== undefined && price.output !== undefined;
}

type Ended = Pick<Outcome, 'usage' | 'error'>;

/** What is known of it at its admission. */
interface HeldRequest {
  expected: Expected;
  key: Key;
  braked: Braked | undefined;
}

export class RequestHold {
  readonly #held: Held;
  readonly #expected: Expected;
  readonly #key: Key;
  /** Whose sum has a brake. */
  readonly #conversation: string | undefined;
  readonly #deps: HoldDeps;
  #settling: Promise<void> | undefined;

  constructor(held: Held, { expected, key, braked }: HeldRequest, deps: HoldDeps) {
    this.#held = held;
    this.#expected = expected;
    this.#key = key;
    this.#conversation = braked?.most === undefined ? undefined : braked.conversation;
    this.#deps = deps;
  }

  /** How the limits stand, as far as this request knows. */
  get standings(): readonly Standing[] {
    return this.#held.standings;
  }

  /** Replaces what is held by what the request took; only the first call counts. Never rejects: a database that is away gets it later.
   *  `whole`: the standings are to be known afterwards, since the answer's head follows. */
  settle(ended: Ended, trace: Trace, whole = false): Promise<void> {
    return (this.#settling ??= this.#settle(ended, trace, whole));
  }

  async #settle(ended: Ended, trace: Trace, whole: boolean): Promise<void> {
    const { store, clock, usual, limitNotices } = this.#deps;
    const { accountId } = this.#key;
    const { usage } = ended;
    const target = trace.contact?.target;
    if (usage !== undefined && ended.error === null && target !== undefined)
      usual.add(accountId, target.key, usage.output);
    const { standings } = this.#held;
    const standing = await store.settle(
      {
        hold: this.#held.number,
        accountId,
        conversation: this.#conversation,
        limits: whole ? standings.map(({ limit }) => limit) : [],
        ...this.#amounts(ended, trace),
      },
      clock.now(),
    );
    limitNotices.look(this.#key);
    if (whole && standing !== undefined && standing.length > 0) this.#held.standings = standing;
  }

  #amounts(
    { usage, error }: Ended,
    trace: Trace,
  ): Omit<Settlement, 'hold' | 'accountId' | 'conversation' | 'limits'> {
    const target = trace.contact?.target;
    const taken = usage ?? this.#guess(error, trace);
    if (taken === undefined || target === undefined)
      return { tokens: 0, fresh: 0, cost: 0, estimated: false, unpriced: false };
    const tokens = totalInput(taken) + taken.output;
    const cost = priceOf(target, taken);
    return {
      tokens,
      fresh: tokens - (taken.cacheRead ?? 0),
      cost: cost ?? 0,
      estimated: usage === undefined,
      unpriced: cost === undefined,
    };
  }

  /** Of a request whose usage nobody told: of a whole answer, what was expected; of one that broke off or whose client left, what was sent
   *  and what had come; of one without an answer, nothing. */
  #guess(error: string | null, { progress: { written } }: Trace): Usage | undefined {
    const { input, output } = this.#expected;
    if (error === null) return this.#expected;
    if (error !== 'client_closed' && written === 0) return undefined;
    return { input, output: Math.min(output, Math.ceil(written / BYTES_PER_TOKEN)) };
  }
}
