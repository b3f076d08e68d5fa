// Classifies the frames of a relayed stream. Deltas are known by their event name and are not parsed. What the gateway may have to
// add itself depends on the stream so far: the Response as it began, its whole items, and the one that is open.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { Usage } from '../../../canonical/usage.ts';
import type { GatewayError, ProviderFailure } from '../../../errors.ts';
import type { FrameClass, StreamClassifier } from '../../protocol.ts';
import type { Frame } from '../../sse/splitter.ts';
import { closesObject } from '../../sse/stray-json.ts';
import { encodeStreamError, errorEvent, responseError } from '../errors.ts';
import { failureOf, failureOfEvent, failureOfStray } from '../provider-error.ts';
import { failureOfResponse, listOf } from '../reply/reply.ts';
import { decodeUsage } from '../reply/usage.ts';
import { BROKEN_OFF, isDone, MALFORMED, NO_ANSWER, typeOf } from './decoder.ts';

export const keepAlive = ': keep-alive\n\n';

const QUIET: FrameClass = Object.freeze({ kind: 'quiet' });
const CONTENT: FrameClass = Object.freeze({ kind: 'content' });
const FINISH: FrameClass = Object.freeze({ kind: 'finish' });
const END: FrameClass = Object.freeze({ kind: 'end' });

const PREFIX = 'event: response.';
const DELTA = '.delta';
const LF = 10;
const LETTER_D = 100;
const CLOSE = 125;

/** Each frame in `text` is a delta: the line of its event, one line of data that ends as an object does, a blank line. */
function areDeltas(text: string): boolean {
  for (let at = 0; at < text.length;) {
    const line = text.indexOf('\n', at);
    if (text.slice(at, at + PREFIX.length) !== PREFIX || text.slice(line - DELTA.length, line) !== DELTA)
      return false;
    const end = text.indexOf('\n', line + 1);
    if (text.charCodeAt(line + 1) !== LETTER_D || text.charCodeAt(end - 1) !== CLOSE) return false;
    if (text.charCodeAt(end + 1) !== LF) return false;
    at = end + 2;
  }
  return true;
}

function isDelta({ event, text }: Frame): boolean {
  return event.endsWith(DELTA) && event.startsWith('response.') && closesObject(text);
}

/** Events that say nothing of the answer yet. */
const LIFECYCLE: ReadonlySet<string> = new Set([
  'response.created',
  'response.in_progress',
  'response.queued',
]);
const FINISHED: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.done']);
const FAILED: ReadonlySet<string> = new Set(['response.failed', 'response.cancelled']);

class ResponsesClassifier implements StreamClassifier {
  /** The Response as it began. */
  #response: JsonObject | undefined;
  /** By output index: whole, or as far as it is known. */
  readonly #items = new Map<number, JsonObject>();
  /** Pieces came that no whole part has confirmed yet: the open item is not known as it stands. */
  #hasPieces = false;
  #hasContent = false;
  #isOver = false;
  #usage: Usage | undefined;
  /** The last text that was forwarded, for its number. */
  #last = '';
  /** Numbers of frames of the gateway's own since then. */
  #added = 0;

  classify(frame: Frame): FrameClass {
    if (this.#hasContent && isDelta(frame)) {
      this.#pieces(frame.text);
      return QUIET;
    }
    if (frame.data === '') return this.#bare(frame);
    if (isDone(frame)) return this.#isOver ? END : failed(this.#hasContent ? BROKEN_OFF : NO_ANSWER);
    const { value } = frame;
    if (!isObject(value)) return failed(frame.event === 'error' ? failureOfEvent(frame.data) : MALFORMED);
    this.#forwarded(frame.text);
    return this.#event(typeOf(value, frame.event), value);
  }

  isQuiet(text: string): boolean {
    if (!areDeltas(text)) return false;
    this.#pieces(text);
    return true;
  }

  usage(): Usage | undefined {
    return this.#usage;
  }

  /** Readers replace what they have by this event's Response: it must not be sent while the open item is not known. */
  keepAlive(): string {
    const response = this.#response;
    if (response === undefined || this.#isOver || this.#hasPieces) return keepAlive;
    return this.#frame('response.in_progress', { response: { ...response, output: this.#output() } });
  }

  fail(error: GatewayError, requestId: string): string {
    if (this.#isOver) return '';
    this.#isOver = true;
    if (this.#response === undefined) return encodeStreamError(error, requestId);
    const output = this.#output().map((item) =>
      item.status === 'in_progress' ? { ...item, status: 'incomplete' } : item,
    );
    const response = { ...this.#response, status: 'failed', error: responseError(error), output };
    return (
      this.#frame('error', errorEvent(error)) +
      this.#frame('response.failed', { response }) +
      'data: [DONE]\n\n'
    );
  }

  /** Without data: a comment, or an error that stands beside it. */
  #bare(frame: Frame): FrameClass {
    if (frame.event === 'error') return failed(failureOfEvent(''));
    const failure = failureOfStray(frame);
    return failure === undefined ? QUIET : failed(failure);
  }

  #event(type: string, value: JsonObject): FrameClass {
    const { response } = value;
    if (LIFECYCLE.has(type)) {
      if (isObject(response)) this.#response = response;
      return QUIET;
    }
    if (FINISHED.has(type)) return this.#finish(type, isObject(response) ? response : {});
    if (FAILED.has(type)) {
      this.#usage = isObject(response) ? decodeUsage(response.usage) : undefined;
      return failed(
        failureOfResponse({ ...(isObject(response) && response), status: 'failed' }) ?? BROKEN_OFF,
      );
    }
    if (type === 'error' || (isObject(value.error) && !type.startsWith('response.')))
      return failed(failureOf(value));
    return this.#content(type, value);
  }

  #finish(type: string, response: JsonObject): FrameClass {
    this.#usage = decodeUsage(response.usage) ?? this.#usage;
    // Some servers leave the status as it was when the answer began.
    const failure = failureOfResponse(
      type === 'response.done' ? response : { ...response, status: 'completed' },
    );
    if (failure !== undefined) return failed(failure);
    this.#hasContent = true;
    this.#isOver = true;
    return FINISH;
  }

  #content(type: string, value: JsonObject): FrameClass {
    this.#track(type, value);
    if (this.#hasContent || !type.startsWith('response.')) return QUIET;
    this.#hasContent = true;
    return CONTENT;
  }

  #track(type: string, { item, part, output_index: index, ...value }: JsonObject): void {
    if (typeof index !== 'number') return;
    if (isObject(item)) {
      this.#items.set(index, item);
      this.#hasPieces = false;
    } else if (type.endsWith('part.done') && isObject(part)) {
      const open = this.#items.get(index);
      const [list, at] = type.includes('summary')
        ? (['summary', value.summary_index] as const)
        : (['content', value.content_index] as const);
      if (open === undefined || typeof at !== 'number') return;
      const parts = [...listOf(open[list])];
      parts[at] = part;
      this.#items.set(index, { ...open, [list]: parts });
      this.#hasPieces = false;
    } else this.#hasPieces = true;
  }

  #pieces(text: string): void {
    this.#hasPieces = true;
    this.#forwarded(text);
  }

  #forwarded(text: string): void {
    this.#last = text;
    this.#added = 0;
  }

  #output(): JsonObject[] {
    return [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item);
  }

  #frame(type: string, members: JsonObject): string {
    const sequence_number = numberIn(this.#last) + ++this.#added;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...members })}\n\n`;
  }
}

const NUMBER = '"sequence_number":';

/** Of the last frame in `text`; members of a value inside it have no such number. */
function numberIn(text: string): number {
  const at = text.lastIndexOf(NUMBER);
  const number =
    at === -1 ? Number.NaN : Number.parseInt(text.slice(at + NUMBER.length, at + NUMBER.length + 20), 10);
  return Number.isSafeInteger(number) ? number : 0;
}

export function createClassifier(): StreamClassifier {
  return new ResponsesClassifier();
}

function failed(failure: ProviderFailure): FrameClass {
  return { kind: 'error', failure };
}
