// A responses request and its answer, relayed. Every byte of the body stays but the model's name, and reasoning that its provider
// can't read. Deltas are known by their event name and are not parsed. What the gateway may have to add to a stream depends on the
// stream so far: the Response as it began, its whole items, and the one that is open.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { Usage } from '../../canonical/reply.ts';
import type { GatewayError, ProviderFailure } from '../../errors.ts';
import type { AnswerMarks } from '../interface/answer.ts';
import type { FrameClass, StreamClassifier } from '../interface/stream.ts';
import type { RelayedBody, RelayOptions, RelayTarget, RewrittenBody } from '../interface/bodies.ts';
import type { Frame } from '../sse/splitter.ts';
import { closesObject } from '../sse/frame.ts';
import {
  failureOf,
  failureOfEvent,
  failureOfStray,
  isError,
  encodeStreamError,
  errorEvent,
  responseError,
} from './errors.ts';
import { failureOfResponse, listOf, readResponse } from './reply/decode.ts';
import { decodeUsage } from './reply/ending.ts';
import { readMarks } from './reply/marks.ts';
import { isDone, typeOf } from './stream/decoder.ts';
import { ItemIds } from './stream/item-ids.ts';
import { OutputSoFar } from './stream/relayed.ts';
import { addedCacheKey } from '../shared/cache-key.ts';
import { rewriteBody, cutsOf, splice, type Addition, type Edit, type Members } from '../json/splice.ts';
import { EVENT_NOT_JSON, NO_ANSWER, BROKEN_OFF } from '../../failures.ts';

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
  /** Once the answer is complete. */
  #answer: JsonObject | undefined;
  readonly #output = new OutputSoFar();
  #hasContent = false;
  #isOver = false;
  #usage: Usage | undefined;
  /** The last text that was forwarded, for its number. */
  #last = '';
  /** The frame anew, if ids of items or the output of its Response are missing in it. */
  #anew: Buffer | undefined;
  readonly #ids = new ItemIds();
  /** The server leaves out ids: each frame is parsed. */
  #lacksIds = false;
  #isChecked = false;
  /** Frames of the gateway's own: the numbers of those behind them rise by as many. */
  #added = 0;

  classify(frame: Frame): FrameClass {
    if (this.#hasContent && isDelta(frame) && this.#hasIds(frame.text)) {
      this.#pieces(frame.text);
      return QUIET;
    }
    const stray = failureOfStray(frame);
    if (stray !== undefined) return failed(stray);
    if (frame.data === '') return frame.event === 'error' ? failed(failureOfEvent('')) : QUIET;
    if (isDone(frame)) return this.#isOver ? END : failed(this.#hasContent ? BROKEN_OFF : NO_ANSWER);
    const { value: given } = frame;
    if (!isObject(given))
      return failed(frame.event === 'error' ? failureOfEvent(frame.data) : EVENT_NOT_JSON);
    const value = this.#named(given, frame.event);
    if (isError(value, frame.event)) return failed(failureOf(value));
    const seen = this.#event(typeOf(value, frame.event), value, frame.text);
    // A failure is written anew.
    if (seen.kind !== 'error') this.#last = frame.text;
    return seen;
  }

  isQuiet(text: string): boolean {
    if (!areDeltas(text) || !this.#hasIds(text)) return false;
    this.#pieces(text);
    return true;
  }

  usage(): Usage | undefined {
    return this.#usage;
  }

  marks(): AnswerMarks {
    return readMarks(this.#answer ?? this.#response ?? {});
  }

  answer(): JsonObject | undefined {
    return this.#answer;
  }

  shifted(bytes: Buffer): Buffer {
    if (this.#anew !== undefined) {
      bytes = this.#anew;
      this.#anew = undefined;
    }
    if (this.#added === 0) return bytes;
    const text = bytes.toString('latin1').replace(NUMBERS, (_, before: string, number: string) => {
      return before + String(Number(number) + this.#added);
    });
    return Buffer.from(text, 'latin1');
  }

  keepAlive(): string {
    const response = this.#response;
    if (response === undefined || this.#isOver) return keepAlive;
    return this.#frame('response.in_progress', { response: { ...response, output: this.#output.list() } });
  }

  fail(error: GatewayError, requestId: string, now: number): string {
    if (this.#isOver) return '';
    this.#isOver = true;
    if (this.#response === undefined) return encodeStreamError(error, requestId, now);
    const output = this.#output
      .list()
      .map((item) => (item.status === 'in_progress' ? { ...item, status: 'incomplete' } : item));
    const response = { ...this.#response, status: 'failed', error: responseError(error), output };
    return (
      this.#frame('error', errorEvent(error)) +
      this.#frame('response.failed', { response }) +
      'data: [DONE]\n\n'
    );
  }

  #event(type: string, value: JsonObject, text: string): FrameClass {
    const { response } = value;
    if (LIFECYCLE.has(type)) {
      if (isObject(response)) this.#response = response;
      return QUIET;
    }
    if (FINISHED.has(type)) return this.#finish(type, value, isObject(response) ? response : {});
    if (FAILED.has(type)) {
      this.#usage = isObject(response) ? decodeUsage(response.usage) : undefined;
      return failed(
        failureOfResponse({ ...(isObject(response) && response), status: 'failed' }) ?? BROKEN_OFF,
      );
    }
    return this.#content(type, value, text);
  }

  #finish(type: string, value: JsonObject, response: JsonObject): FrameClass {
    this.#usage = decodeUsage(response.usage) ?? this.#usage;
    // Some servers leave the status as it was when the answer began.
    const failure = failureOfResponse(
      type === 'response.done' ? response : { ...response, status: 'completed' },
    );
    if (failure !== undefined) return failed(failure);
    this.#answer = response;
    // Some servers leave the output to the items' own events; SDKs give the output of this one.
    const output = listOf(response.output).length > 0 ? [] : this.#output.list();
    if (output.length > 0) {
      this.#answer = { ...response, output };
      this.#anew = frameOf(type, { ...value, type, response: this.#answer });
    }
    this.#hasContent = true;
    this.#isOver = true;
    return FINISH;
  }

  #content(type: string, { item, output_index: index }: JsonObject, text: string): FrameClass {
    if (isObject(item) && typeof index === 'number') this.#output.item(index, item, type.endsWith('.done'));
    else this.#output.pieces(text);
    if (this.#hasContent || !type.startsWith('response.')) return QUIET;
    this.#hasContent = true;
    return CONTENT;
  }

  /** Looks once: a server names its items in all deltas, or in none. */
  #hasIds(text: string): boolean {
    if (!this.#isChecked) {
      this.#isChecked = true;
      this.#lacksIds ||= !text.includes('"item_id"');
    }
    return !this.#lacksIds;
  }

  #named(value: JsonObject, event: string): JsonObject {
    const named = this.#ids.complete(value);
    if (named === value) return value;
    this.#lacksIds = true;
    this.#anew = frameOf(event, named);
    return named;
  }

  #pieces(text: string): void {
    this.#output.pieces(text);
    this.#last = text;
  }

  #frame(type: string, members: JsonObject): string {
    const sequence_number = numberIn(this.#last) + 1 + this.#added++;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...members })}\n\n`;
  }
}

/** `event`: '' for a server that names no events. */
function frameOf(event: string, value: JsonObject): Buffer {
  return Buffer.from(`${event === '' ? '' : `event: ${event}\n`}data: ${JSON.stringify(value)}\n\n`);
}

const NUMBER = '"sequence_number":';
/** A member's name: within a text its quotes are escaped. */
const NUMBERS = /("sequence_number": ?)(\d+)/g;

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

export function rewrite(
  body: RelayedBody,
  target: RelayTarget,
  { unstored = false, conversation }: RelayOptions = {},
): RewrittenBody {
  const asks: Addition[] = unstored && body.value.store !== false ? [toStoreNothing] : [];
  const key = target.traits.cacheKey ? addedCacheKey(body, conversation) : undefined;
  if (key !== undefined) asks.push(key);
  const cleaned = target.withoutThinking === undefined ? undefined : withoutReasoning(body);
  return rewriteBody(body, target, { cleaned, asks });
}

/** What the gateway does not store, it could not delete at the provider, nor tell whose it is. */
function toStoreNothing(members: Members): Edit {
  const member = members.get('store');
  if (member !== undefined) return { start: member.start, end: member.end, text: 'false' };
  return { start: members.close, end: members.close, text: ',"store":false' };
}

/** If nothing would be left, the body stays: the provider says what is wrong with it. */
function withoutReasoning(body: RelayedBody): Buffer {
  const { bytes } = body;
  const items = body.list('input') ?? [];
  const indexes = items.flatMap((item, index) => (item.textOf('type') === 'reasoning' ? [index] : []));
  if (indexes.length === 0 || indexes.length === items.length) return bytes;
  return splice(
    bytes,
    cutsOf(items, indexes).map(({ start, end }) => ({ start, end, text: '' })),
  );
}

export function inspectReply(value: unknown): { usage?: Usage } {
  const usage = decodeUsage(readResponse(value).response.usage);
  return usage === undefined ? {} : { usage };
}
