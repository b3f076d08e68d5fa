// A messages request and its answer, relayed. The body loses thinking that no provider signed: a real one refuses it, and the gateway
// itself hands it out for models of other protocols and for its own. Every other byte stays, since prompt caches go by bytes.
// Nearly all frames are deltas, known by their event name, and are not parsed; JSON is parsed only if usage, a stop reason or an
// error may be in it.
import { isObject, type JsonObject, type JsonValue, append } from '../../canonical/json.ts';
import { FailureError, type ProviderFailure } from '../../errors.ts';
import type { Usage } from '../../canonical/reply.ts';
import type { AnswerMarks } from '../interface/answer.ts';
import type { FrameClass, StreamClassifier } from '../interface/stream.ts';
import type { RelayedBody, RelayTarget, RewrittenBody } from '../interface/bodies.ts';
import type { Frame } from '../sse/splitter.ts';
import { closesObject } from '../sse/frame.ts';
import { failureOf, failureOfEvent, failureOfStray, isError } from './errors.ts';
import { list } from './wire-types.ts';
import { createSpliceWatch, SPLICED } from './stream/message-start.ts';
import {
  decodeUsage,
  failureOfSilence,
  failureOfStop,
  isStop,
  readUsage,
  toUsage,
  type UsageTally,
} from './reply/ending.ts';
import { readMarks } from './reply/marks.ts';
import { isGatewaySignature } from '../../canonical/thinking-signature.ts';
import type { JsonNode } from '../json/body.ts';
import { rewriteBody, cutsOf, splice, type Range } from '../json/splice.ts';
import { hints } from './request/envelope.ts';
import { EMPTY_ANSWER, faulty, EVENT_NOT_JSON } from '../../failures.ts';

const QUIET: FrameClass = Object.freeze({ kind: 'quiet' });
const CONTENT: FrameClass = Object.freeze({ kind: 'content' });
const FINISH: FrameClass = Object.freeze({ kind: 'finish' });
const END: FrameClass = Object.freeze({ kind: 'end' });

/** Inside a JSON string the quotes are escaped, so that these match members only. A start is looked at for its id and its stop. */
const MARKS = /"usage"\s*:\s*\{|"stop_reason"\s*:\s*"|"error"|"message_st(?:op|art)"/;

/** The same of several frames, the terminal event and the event `error` included. */
const WORTH_SPLITTING = /usage"\s*:\s*\{|stop_reason"\s*:\s*"|error|message_st/;

function isQuiet(text: string): boolean {
  return !WORTH_SPLITTING.test(text) && areBlocks(text);
}

/** The beginning of a frame that is part of a block, or a ping. */
const OF_BLOCK = /(?:event: ?|data: ?\{"type": ?")(?:content_block_|ping)/y;
const CLOSE = 125;

/** `event: content_block_`, by three of its characters: a fifth of the time of a comparison. */
function isUsual(text: string, at: number): boolean {
  return text.charCodeAt(at) === 101 && text.charCodeAt(at + 7) === 99 && text.charCodeAt(at + 20) === 95;
}

/** Each frame in `text` is such a one, and ends as an object does. */
function areBlocks(text: string): boolean {
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n\n', at);
    if (text.charCodeAt(end - 1) !== CLOSE) return false;
    if (!isUsual(text, at)) {
      OF_BLOCK.lastIndex = at;
      if (!OF_BLOCK.test(text)) return false;
    }
    at = end + 2;
  }
  return true;
}

/** The data of a ping and of an event that is unknown here is not checked. */
const MUST_BE_JSON: ReadonlySet<string> = new Set([
  '',
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
]);

/** Whether a frame that must hold an object has other data. Some servers end with chat's last frame, which is accepted. */
export function isUnreadable({ data, event }: Frame): boolean {
  return MUST_BE_JSON.has(event) && data !== '' && data.trim() !== '[DONE]';
}

/** A frame without a name must be of a block, or is looked into: it may be an error. */
function isHarmless({ text, event }: Frame): boolean {
  if (MARKS.test(text)) return false;
  if (event !== '') return closesObject(text);
  return text.includes('"content_block_') && closesObject(text);
}

class MessagesClassifier implements StreamClassifier {
  /** Content or a stop was seen: content is not looked for any more. */
  #hasContent = false;
  readonly #tally: UsageTally = {};
  readonly #isSpliced = createSpliceWatch();
  #usage: Usage | undefined;
  #marks: AnswerMarks = {};

  classify(frame: Frame): FrameClass {
    switch (frame.event) {
      case 'content_block_delta':
      case 'content_block_start':
      case 'content_block_stop':
        return this.#block(frame);
      case 'ping':
        return QUIET;
      case 'message_stop': {
        const failure = failureOfStray(frame);
        return failure === undefined ? END : failed(failure);
      }
      case 'error':
        return failed(failureOfEvent(frame.data));
      default:
        return this.#other(frame);
    }
  }

  isQuiet(text: string): boolean {
    return isQuiet(text);
  }

  usage(): Usage | undefined {
    return this.#usage;
  }

  marks(): AnswerMarks {
    return this.#marks;
  }

  #block(frame: Frame): FrameClass {
    if (this.#hasContent && closesObject(frame.text)) return QUIET;
    const { value } = frame;
    if (isObject(value)) return this.#content(value, frame.event);
    return isUnreadable(frame) ? failed(EVENT_NOT_JSON) : QUIET;
  }

  #other(frame: Frame): FrameClass {
    const stray = failureOfStray(frame);
    if (stray !== undefined) return failed(stray);
    if (frame.data === '') return QUIET;
    const isSearched = !isHarmless(frame);
    if (this.#hasContent && !isSearched) return QUIET;
    const { value } = frame;
    if (!isObject(value)) return isUnreadable(frame) ? failed(EVENT_NOT_JSON) : QUIET;
    const found = isSearched ? this.#search(value, frame.event) : QUIET;
    return found.kind === 'quiet' ? this.#content(value, frame.event) : found;
  }

  /** Everything but content: an error, usage, a stop, the end. */
  #search(value: JsonObject, event: string): FrameClass {
    if (isError(value, event)) return failed(failureOf(value));
    if (value.type === 'message_stop') return END;
    const { delta, message } = value;
    if (this.#isSpliced(message)) return failed(SPLICED);
    this.#readUsage(isObject(message) ? message.usage : value.usage);
    // An answer that was ready at once stands in its start, with its stop.
    const ended = isObject(message) ? message : delta;
    if (isObject(ended)) this.#marks = { ...this.#marks, ...readMarks(ended) };
    if (!isObject(ended) || !isStop(ended.stop_reason)) return QUIET;
    const failure = failureOfStop(ended.stop_reason);
    if (failure !== undefined) return failed(failure);
    this.#hasContent = true;
    const silence = hasContent(message) ? undefined : failureOfSilence(ended.stop_reason);
    return silence === undefined ? FINISH : { kind: 'finish', silence };
  }

  #readUsage(usage: JsonValue | undefined): void {
    if (!isObject(usage)) return;
    readUsage(this.#tally, usage);
    this.#usage = toUsage(this.#tally) ?? this.#usage;
  }

  #content(value: JsonObject, event: string): FrameClass {
    if (this.#hasContent || !startsAnswer(value, event)) return QUIET;
    this.#hasContent = true;
    return CONTENT;
  }
}

export function createClassifier(): StreamClassifier {
  return new MessagesClassifier();
}

function failed(failure: ProviderFailure): FrameClass {
  return { kind: 'error', failure };
}

function isEmptyBlock(block: unknown): boolean {
  if (!isObject(block)) return true;
  return (
    (block.type === 'text' && !block.text) ||
    (block.type === 'thinking' && !block.thinking && !block.signature)
  );
}

function hasContent(message: unknown): boolean {
  return isObject(message) && list(message.content).some((block) => !isEmptyBlock(block));
}

function isEmptyDelta(delta: unknown): boolean {
  if (!isObject(delta)) return true;
  return (delta.text ?? delta.thinking ?? delta.partial_json) === '';
}

/** Whether a frame holds content: before that another target can still answer. */
function startsAnswer(value: JsonObject, event: string): boolean {
  switch (typeof value.type === 'string' ? value.type : event) {
    case 'message_start':
      return hasContent(value.message);
    case 'content_block_start':
      return !isEmptyBlock(value.content_block);
    case 'content_block_delta':
      return !isEmptyDelta(value.delta);
    default:
      return false;
  }
}

export function rewrite(body: RelayedBody, target: RelayTarget): RewrittenBody {
  const { withoutThinking } = target;
  const cut = withoutThinking === undefined ? 'unsigned' : 'all';
  const thinks = withoutThinking === 'refused' && !hints.hasOpenToolTurn(body);
  const cleaned = cleanBody(body, cut);
  // They are for the reports of the vendor: another server may refuse what it does not know.
  const without = target.traits.requestTags ? undefined : 'tags';
  return rewriteBody(body, target, { cleaned, without, thinks });
}

const THINKING = ['thinking', 'redacted_thinking'];

function isThinking(block: JsonNode): boolean {
  return THINKING.includes(block.textOf('type') ?? '');
}

/** Without a seal, or with one that only the gateway knows. */
function isUnsigned(block: JsonNode): boolean {
  if (!isThinking(block)) return false;
  const seal = block.textOf(block.textOf('type') === 'thinking' ? 'signature' : 'data') ?? '';
  return seal === '' || isGatewaySignature(seal);
}

/**
 * Without thinking that is unsigned or the gateway's own, or without all of it. A turn of nothing else goes whole: providers refuse an empty turn, and join the user turns around it.
 * If no turn would be left, the body is unchanged, and the provider reports the error.
 */
export function cleanBody(body: RelayedBody, thinking: 'unsigned' | 'all'): Buffer {
  const cut = thinking === 'all' ? isThinking : isUnsigned;
  if (!THINKING.some((type) => body.types.has(type))) return body.bytes;
  const turns = body.list('messages') ?? [];
  const wholeTurns: number[] = [];
  const spans: Range[] = [];
  for (const [index, turn] of turns.entries()) {
    if (turn.textOf('role') !== 'assistant') continue;
    const blocks = turn.get('content')?.items() ?? [];
    const found = blocks.flatMap((block, at) => (cut(block) ? [at] : []));
    if (found.length === 0) continue;
    if (found.length === blocks.length) wholeTurns.push(index);
    else append(spans, cutsOf(blocks, found));
  }
  if (wholeTurns.length === turns.length) return body.bytes;
  append(spans, cutsOf(turns, wholeTurns));
  if (spans.length === 0) return body.bytes;
  return splice(
    body.bytes,
    spans.map(({ start, end }) => ({ start, end, text: '' })),
  );
}

function isBlank(block: JsonValue): boolean {
  return !isObject(block) || (block.type === 'text' && !block.text);
}

const NOT_A_MESSAGE = faulty('malformed', "the provider's answer is not a message");
export const WITHOUT_STOP = faulty('truncated', "the provider's answer has no stop reason");

/** A message with a content list and a stop reason, or a failure: nothing half is taken for a success. */
export function readMessage(value: unknown): {
  message: JsonObject;
  content: JsonValue[];
  stopReason: string;
} {
  if (value === undefined || value === null) throw new FailureError(EMPTY_ANSWER);
  if (!isObject(value)) throw new FailureError(NOT_A_MESSAGE);
  if (value.type === 'error' || (value.error !== undefined && value.error !== null)) {
    throw new FailureError(failureOf(value));
  }
  if (!Array.isArray(value.content)) throw new FailureError(NOT_A_MESSAGE);
  const { stop_reason: stopReason } = value;
  if (!isStop(stopReason)) throw new FailureError(WITHOUT_STOP);
  const silence = value.content.every(isBlank) ? failureOfSilence(stopReason) : undefined;
  const failure = failureOfStop(stopReason) ?? silence;
  if (failure !== undefined) throw new FailureError(failure);
  return { message: value, content: value.content, stopReason };
}

export function inspectReply(value: unknown): { usage?: Usage } {
  const usage = decodeUsage(readMessage(value).message.usage);
  return usage === undefined ? {} : { usage };
}
