// Asks targets in turn until one has an answer with content. Nothing is sent to the client before this returns, so a provider that
// fails at the start costs the client only time.
import type { LineConfig } from '../../config/config.ts';
import { FailureError, GatewayError, type ProviderFailure } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { type Leave, TurnedAway } from '../../providers/line.ts';
import { redact } from '../../providers/redact.ts';
import type { Target } from '../../routing/catalog.ts';
import type { HealthTicket } from '../../routing/state/health.ts';
import { MAX_ATTEMPTS } from '../../routing/resolve.ts';
import type { Trace } from '../trace.ts';
import { type AskOptions, type AskDeps, type Asking, figuresOf, passOver } from './asking.ts';
import type { BuiltRequest } from './build-request.ts';
import { readErrorReply } from './error-reply.ts';
import { errorOf, mayTryNext } from './fallback-error.ts';
import type { CommittedReply } from './first-frame.ts';
import { readReply, callOf } from './read-reply.ts';
import { changedFor, buildNext, keyed } from './rebuild.ts';
import { keepLesson, learnFrom, learnMore, type Taught } from './refused.ts';
import { beginContact, failContact } from './trace-context.ts';

/** A reply with status 200 that can be answered with: a stream at its first frame with content, or a whole answer. */
export interface ProviderAnswer {
  reply: CommittedReply;
  request: BuiltRequest;
  /** To be called once the answer is over: the target counts it as in flight until then. */
  health: Pick<HealthTicket, 'ended'>;
  /** Of a provider with a line: gives the place to the next request, once the answer is over. */
  leave?: Leave;
}

/** Throws one GatewayError for all attempts; the cancellation's reason if it was cancelled. */
export async function askTargets(options: AskOptions, trace: Trace, deps: AskDeps): Promise<ProviderAnswer> {
  const asking: Asking = { options, trace, deps, failed: [], turnedAway: new Map() };
  const { failed } = asking;
  const targets = [options.first.target, ...options.rest];
  for (const lone of options.lone ? [true] : [false, true]) {
    for (const target of targets) {
      if (failed.length === MAX_ATTEMPTS) {
        passOver(target, 'at most three targets are tried', asking);
        continue;
      }
      const answer = await contact(target, lone, asking);
      if (answer === 'stop') throw errorOf(failed, figuresOf(asking));
      if (answer !== undefined) return answer;
    }
    // All targets are being probed by other requests; this one tries them anyway.
    if (failed.length > 0) break;
  }
  const [busy] = asking.turnedAway.values();
  if (failed.length === 0 && busy !== undefined)
    throw new GatewayError('unavailable', busy.message, { retryAfter: BUSY_S, attempts: 0 });
  throw errorOf(failed, figuresOf(asking));
}

/** Seconds after which a client may try a provider with a full line again. */
const BUSY_S = 5;

/** Asks one target: its answer, `stop` if no other may be tried, undefined to go on. */
function contact(
  target: Target,
  lone: boolean,
  asking: Asking,
): Promise<ProviderAnswer | 'stop' | undefined> | undefined {
  const { first } = asking.options;
  const request = target === first.target ? first : buildNext(asking, target);
  if (request === undefined || asking.turnedAway.has(target)) return undefined;
  return target.provider.line === undefined
    ? begin(request, lone, asking)
    : askInLine(request, target.provider.line, lone, asking);
}

/** Waits for a place at the provider; its failures leave the place, an answer keeps it. */
async function askInLine(
  request: BuiltRequest,
  line: LineConfig,
  lone: boolean,
  asking: Asking,
): Promise<ProviderAnswer | 'stop' | undefined> {
  const { target } = request;
  let leave: Leave;
  try {
    leave = await asking.deps.lines.enter({ name: target.provider.name, line }, asking.options.cancellation);
  } catch (error) {
    if (!(error instanceof TurnedAway)) throw error;
    asking.turnedAway.set(target, error);
    return passOver(target, error.message, asking);
  }
  let answer: ProviderAnswer | 'stop' | undefined;
  try {
    answer = await begin(request, lone, asking);
    return typeof answer === 'object' ? { ...answer, leave } : answer;
  } finally {
    if (typeof answer !== 'object') leave();
  }
}

function begin(
  request: BuiltRequest,
  lone: boolean,
  asking: Asking,
): Promise<ProviderAnswer | 'stop' | undefined> | undefined {
  const { target } = request;
  const health = asking.deps.routing.health.begin(target.key, lone);
  if (health === undefined) return passOver(target, 'it is failing, and another request tries it', asking);
  asking.trace.attempts = asking.failed.length + 1;
  const key = target.provider.apiKeys === undefined ? undefined : asking.deps.routing.keys.use(target);
  return ask(key === undefined ? request : keyed(request, key), health, asking);
}

/** `again`: this is the second request to the target: with less output, without thinking, or as its refusal taught. */
async function ask(
  request: BuiltRequest,
  health: HealthTicket,
  asking: Asking,
  again: Taught | 'again' | undefined = undefined,
): Promise<ProviderAnswer | 'stop' | undefined> {
  const { options, trace, deps, failed } = asking;
  trace.contact = request;
  const startedAt = deps.clock.monotonic();
  trace.contactedAt = startedAt;
  trace.contacts += 1;
  if (trace.spans !== undefined) beginContact(trace.spans, request, startedAt);
  try {
    const replied = await deps.client.open(
      callOf(request, options.inbound.stream, trace),
      options.cancellation,
    );
    if (replied.status !== 200) {
      throw await readErrorReply(replied, request.protocol, deps.clock);
    }
    const reading = readReply(replied, request, asking);
    const reply = reading instanceof Promise ? await reading : reading;
    health.succeeded(deps.clock.monotonic() - startedAt);
    request.providerKey?.succeeded();
    if (again !== undefined && again !== 'again') keepLesson(again.lesson, asking);
    return { reply, request, health };
  } catch (error) {
    const { reason } = options.cancellation;
    if (reason !== undefined || !(error instanceof FailureError)) {
      health.abandoned();
      request.providerKey?.abandoned();
      throw reason ?? error;
    }
    const { failure } = error;
    const { providerKey } = request;
    const message = redact(failure.message, request.target.provider);
    note(failure, message, request, asking);
    failContact(trace, failure, deps.clock.monotonic());
    if (again === undefined) {
      const changed = changedFor(failure, request, health, asking);
      if (changed !== undefined) return ask(sameKey(changed, request), health, asking, 'again');
      const taught = learn(error, request, message, health, asking);
      if (taught !== undefined) return ask(sameKey(taught.request, request), health, asking, taught);
    } else if (again !== 'again') learnMore(error, again, message, asking);
    logFailure(deps.log, trace, request, failure, message);
    const next = providerKey?.failed(failure);
    if (next !== undefined) return ask(keyed(request, next), health, asking);
    const last = providerKey?.lastOf(failure) ?? failure;
    health.failed(last);
    failed.push({ target: request.target, failure: last });
    return mayTryNext(last) ? undefined : 'stop';
  }
}

function sameKey(changed: BuiltRequest, { providerKey }: BuiltRequest): BuiltRequest {
  return providerKey === undefined ? changed : keyed(changed, providerKey);
}

/** As `learnFrom`; a fault of our own ends the attempt. */
function learn(
  error: FailureError,
  request: BuiltRequest,
  message: string,
  health: HealthTicket,
  asking: Asking,
): Taught | undefined {
  try {
    return learnFrom(error, request, message, asking);
  } catch (fault) {
    health.abandoned();
    throw fault;
  }
}

function note(
  { status, kind, reason }: ProviderFailure,
  message: string,
  { target, protocol, providerKey }: BuiltRequest,
  { trace, deps }: Asking,
): void {
  const ms = deps.clock.monotonic() - trace.contactedAt;
  const key = providerKey?.number;
  trace.failures = [...trace.failures, { target, protocol, key, status, kind, reason, message, ms }];
}

function logFailure(
  log: Logger,
  trace: Trace,
  { target, providerKey }: BuiltRequest,
  failure: ProviderFailure,
  message: string,
): void {
  log.warn('a target failed', {
    request: trace.requestId,
    target: target.key,
    attempt: trace.attempts,
    kind: failure.kind,
    reason: failure.reason,
    status: failure.status,
    provider_key: providerKey?.number,
    key_from: failure.kind === 'provider_key' ? target.provider.keyFrom : undefined,
    message,
  });
}
