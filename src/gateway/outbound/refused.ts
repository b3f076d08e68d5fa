// A request that a provider refused for its form: it is built anew as the words say, and what they teach is kept once that has helped.
import { FailureError, type ProviderFailure } from '../../errors.ts';
import { readRefusal } from '../../protocols/refusals/read-refusal.ts';
import type { Lesson } from '../../routing/state/lessons.ts';
import type { Asking } from './asking.ts';
import type { BuiltRequest } from './build-request.ts';
import { buildNext } from './rebuild.ts';

/** A failure whose words may say what of the request's form was refused. */
class RefusedForm extends FailureError {
  readonly body: string;

  constructor(failure: ProviderFailure, body: string) {
    super(failure);
    this.body = body;
  }
}

/** Servers refuse a form with 400 or 422; templates fail with 500, and OpenRouter has no endpoint for it (404). */
const STATUSES: ReadonlySet<number> = new Set([400, 404, 422, 500]);

/** `body`: the error answer, of at most a few KiB. */
export function failureOf(failure: ProviderFailure, body: string): FailureError {
  const { status, kind } = failure;
  const mayBeForm = STATUSES.has(status ?? 0) && kind !== 'context_overflow' && kind !== 'billing';
  return mayBeForm ? new RefusedForm(failure, body) : new FailureError(failure);
}

export interface Taught {
  /** Not yet known to others: kept by `keepLesson`. */
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
  const lesson = lessonOf(error, request, message, asking);
  if (lesson === undefined) return undefined;
  const { build } = asking.options;
  const next = buildNext(asking, request.target, {
    build: { ...build, lessons: asking.deps.routing.lessons.with(lesson) },
  });
  return next === undefined || isSame(next, request) ? undefined : { lesson, request: next };
}

/** The second request failed, too. If it was refused for another reason, both reasons are known now. */
export function learnMore(
  error: FailureError,
  { lesson, request }: Taught,
  message: string,
  asking: Asking,
): void {
  const more = lessonOf(error, request, message, asking, lesson);
  if (more !== undefined) keepLesson(more, asking);
}

export function keepLesson(lesson: Lesson, { deps: { routing, log }, trace }: Asking): void {
  const { target, protocol, traits, words } = lesson;
  routing.lessons.keep(lesson);
  (trace.learnt ??= []).push(...Object.keys(traits));
  log.warn('a provider refused the form of a request; asked again without it, and learnt', {
    request: trace.requestId,
    target,
    protocol,
    traits: Object.keys(traits).join(', '),
    message: words,
  });
}

function lessonOf(
  error: FailureError,
  { target, protocol, bytes }: BuiltRequest,
  words: string,
  { options, deps }: Asking,
  before?: Lesson,
): Lesson | undefined {
  if (!(error instanceof RefusedForm) || options.build.strict) return undefined;
  const refusals = readRefusal(error.body, echoIn(bytes));
  return refusals.length === 0
    ? undefined
    : deps.routing.lessons.draft(target, protocol.name, { refusals, words, before });
}

/** Letters and digits that JSON need not escape, and no usual writer does: text could hide behind them. */
const HIDDEN = /\\u00(?:3\d|[46][1-9a-f]|[57][\da])/i;

/**
 * Whether the request itself says some words: a provider that repeats a client's text in its error must not teach what the client
 * wants, since other accounts ask the same target.
 */
function echoIn(bytes: Buffer): (words: string) => boolean {
  const text = bytes.toString('latin1');
  const mayHide = HIDDEN.test(text);
  return (words) => {
    const parts = words.split(/[^a-z0-9]+/i).filter((part) => part !== '');
    return mayHide || new RegExp(parts.join('[^a-z0-9]{1,16}'), 'i').test(text);
  };
}

function isSame(one: BuiltRequest, other: BuiltRequest): boolean {
  return one.bytes.equals(other.bytes) && one.headers.join('\n') === other.headers.join('\n');
}
