// A request that a provider refused for its form: what its words teach is kept for the target, and the request is built anew with it.
import { FailureError, type ProviderFailure } from '../../errors.ts';
import { readRefusal } from '../../protocols/refusals/read-refusal.ts';
import type { Refusal } from '../../protocols/refusals/refusal.ts';
import type { Lesson, Lessons } from '../../routing/lessons.ts';
import type { Asking } from './asking.ts';
import type { BuiltRequest } from './build-request.ts';
import { buildNext } from './rebuild.ts';

/** A failure whose words say what of the request's form was refused. */
class RefusedForm extends FailureError {
  readonly refusals: readonly Refusal[];

  constructor(failure: ProviderFailure, refusals: readonly Refusal[]) {
    super(failure);
    this.refusals = refusals;
  }
}

/** Servers refuse a form with 400 or 422; templates fail with 500, and OpenRouter has no endpoint for it (404). */
const STATUSES: ReadonlySet<number> = new Set([400, 404, 422, 500]);

export function failureWithRefusals(failure: ProviderFailure, body: string): FailureError {
  const { status, kind } = failure;
  const mayBeForm =
    status !== undefined && STATUSES.has(status) && kind !== 'context_overflow' && kind !== 'billing';
  const refusals = mayBeForm ? readRefusal(body) : [];
  return refusals.length === 0 ? new FailureError(failure) : new RefusedForm(failure, refusals);
}

export interface Taught {
  lesson: Lesson;
  /** The request as the provider takes it, as far as its words say. */
  request: BuiltRequest;
}

/** Undefined: the failure teaches nothing that would change the request. `message`: the provider's words, without secrets. */
export function learnFrom(
  error: FailureError,
  request: BuiltRequest,
  message: string,
  asking: Asking,
): Taught | undefined {
  if (!(error instanceof RefusedForm) || asking.options.build.strict) return undefined;
  const { log, routing } = asking.deps;
  const { lessons } = routing;
  const { target, protocol } = request;
  const lesson = lessons.learn(target, protocol.name, error.refusals, message);
  if (lesson === undefined) return undefined;
  const next = buildNext(asking, target);
  if (next === undefined || isSame(next, request)) {
    lessons.unlearn(lesson);
    return undefined;
  }
  const traits = Object.keys(lesson.traits).join(', ');
  log.warn('a provider refused the form of a request; asked again without it, and learnt', {
    request: asking.trace.requestId,
    target: target.key,
    protocol: protocol.name,
    traits,
    message,
  });
  return { lesson, request: next };
}

/** After the second request failed: what did not help is forgotten; what the second refusal names anew is kept for the next request. */
export function learnMore(
  error: FailureError,
  { lesson, request }: Taught,
  message: string,
  lessons: Lessons,
): void {
  if (!STATUSES.has(error.failure.status ?? 0)) return;
  const { target, protocol } = request;
  const more =
    error instanceof RefusedForm ? lessons.learn(target, protocol.name, error.refusals, message) : undefined;
  if (more === undefined) lessons.unlearn(lesson);
}

function isSame(one: BuiltRequest, other: BuiltRequest): boolean {
  return one.bytes.equals(other.bytes) && one.headers.join('\n') === other.headers.join('\n');
}
