// A chat request and its answer, relayed: the body is rewritten in its bytes, and the provider is asked for the usage of a stream,
// whether the client asked or not; frames are classified, and as few as possible are parsed; a whole reply is checked.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { Usage } from '../../canonical/reply.ts';
import type { AnswerMarks } from '../interface/answer.ts';
import type { FrameClass, StreamClassifier } from '../interface/stream.ts';
import type { RelayedBody, RelayOptions, RelayTarget, RewrittenBody } from '../interface/bodies.ts';
import type { Frame } from '../sse/splitter.ts';
import { closesObject } from '../sse/frame.ts';
import { failureOf, failureOfEvent } from './errors.ts';
import { addedCacheKey } from '../shared/cache-key.ts';
import { throwFailure } from '../shared/failures/provider-error.ts';
import { stopOfWord } from '../shared/failures/finish-words.ts';
import { failureIn, failureOfStray, isFilled, strictChunk, strictReply } from './lenient.ts';
import { decodeUsage, failureOfSilence, failureOfStop } from './reply/ending.ts';
import { Marks } from './reply/marks.ts';
import { rewriteBody, type Addition, type Edit, type Members } from '../json/splice.ts';
import { asksForUsage } from './request/envelope.ts';
import { faulty, EVENT_NOT_JSON } from '../../failures.ts';
import { callsBeside, joined } from './spread-choices.ts';

export const keepAlive = ': keep-alive\n\n';

const BRACE = 123;

/** The terminal frame. Nearly all others begin with a brace, which is the cheapest thing to look at. */
export function isDone({ data, event }: Frame): boolean {
  return data.charCodeAt(0) !== BRACE && data.trim() === '[DONE]' && event !== 'error';
}

/** Whether a delta holds anything beside a role: text, reasoning, a call, a refusal, in whatever member a server puts it. */
function hasContent(delta: JsonObject): boolean {
  for (const name in delta) {
    if (name !== 'role' && isFilled(delta[name])) return true;
  }
  return false;
}

function speaks(choice: JsonValue): boolean {
  return isObject(choice) && isObject(choice.delta) && hasContent(choice.delta);
}

const QUIET: FrameClass = Object.freeze({ kind: 'quiet' });
const CONTENT: FrameClass = Object.freeze({ kind: 'content' });
const FINISH: FrameClass = Object.freeze({ kind: 'finish' });
const DROP: FrameClass = Object.freeze({ kind: 'drop' });
const END: FrameClass = Object.freeze({ kind: 'end' });

/**
 * JSON is parsed only where a usage object, a finish or an error is in the frame (a `"usage": null` is none of them), or where
 * it holds no choices. Inside a JSON string the quotes are escaped, so text can't fool it; a tool that is called so can, and
 * costs one parse. One expression takes a quarter of the time of three searches: every other character of a chunk is a quote,
 * on which those stop.
 */
const WORTH_PARSING = /"usage"\s*:\s*\{|"finish_reason"\s*:\s*"|"error"(?!\s*:\s*null)/;

/** The same without the first quotes, the terminal frame and the event `error`: half the time over several frames. */
const WORTH_SPLITTING = /usage"\s*:\s*\{|finish_reason"\s*:\s*"|error(?!"\s*:\s*null)|DONE\]/;

function isQuiet(text: string): boolean {
  return !WORTH_SPLITTING.test(text) && areChunks(text);
}

/** Without its first quote, on which a search would stop at every other character. */
const CHOICES = 'choices":';

/** Where the first choice of a chunk begins that starts at or behind `from`; -1: it has none. */
function choiceAt(text: string, from: number): number {
  const at = text.indexOf(CHOICES, from);
  if (at === -1) return -1;
  const list = at + CHOICES.length;
  return text.startsWith('[{', list) || text.startsWith(' [{', list) ? at : -1;
}

/** An object with choices. Errors of other shapes have none, and what ends otherwise is no JSON. */
function isChunk(text: string): boolean {
  return choiceAt(text, 0) !== -1 && closesObject(text);
}

const DATA = 100;
const CLOSE = 125;

/** `choices":[{`, by three of its characters: a fifth of the time of a comparison. */
function isFirstChoice(text: string, at: number): boolean {
  return text.charCodeAt(at) === 99 && text.charCodeAt(at + 7) === 34 && text.charCodeAt(at + 10) === 123;
}

/** The same of each frame in `text`. Most of them have their choices at the same place: 0.1 us for each. */
function areChunks(text: string): boolean {
  let place = -1;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n\n', at);
    if (text.charCodeAt(at) !== DATA || text.charCodeAt(end - 1) !== CLOSE) return false;
    if (place === -1 || !isFirstChoice(text, at + place)) {
      const found = choiceAt(text, at);
      if (found === -1 || found > end) return false;
      place = found - at;
    }
    at = end + 2;
  }
  return true;
}

function finishOf(choices: JsonValue[]): string | undefined {
  for (const choice of choices) {
    if (isObject(choice) && typeof choice.finish_reason === 'string') return choice.finish_reason;
  }
  return undefined;
}

/** The failure that a finish reason means, with the details that the choice gives. */
export function failureOfFinish(finish: string, choices: JsonValue[]) {
  const failure = failureOfStop(finish);
  if (failure === undefined) return undefined;
  const choice = choices.find((item) => isObject(item) && isObject(item.error));
  if (isObject(choice) && isObject(choice.error)) return failureOf({ error: choice.error });
  return failure;
}

class ChatClassifier implements StreamClassifier {
  readonly #usageAsked: boolean;
  /** Content or a finish was seen: content is not looked for any more. */
  #hasContent = false;
  #usage: Usage | undefined;
  readonly #marks = new Marks();

  constructor(usageAsked: boolean) {
    this.#usageAsked = usageAsked;
  }

  classify(frame: Frame): FrameClass {
    if (frame.event === 'error') return { kind: 'error', failure: failureOfEvent(frame.data) };
    const failure = failureOfStray(frame);
    if (failure) return { kind: 'error', failure };
    if (frame.data === '') return QUIET;
    if (isDone(frame)) return END;
    if (this.#hasContent && !WORTH_PARSING.test(frame.text) && isChunk(frame.text)) return QUIET;
    const { value } = frame;
    if (Array.isArray(value)) return { kind: 'error', failure: failureOf(value) };
    if (!isObject(value)) return NOT_JSON;
    return this.#chunk(value);
  }

  isQuiet(text: string): boolean {
    return isQuiet(text);
  }

  usage(): Usage | undefined {
    return this.#usage;
  }

  marks(): AnswerMarks {
    return this.#marks.list();
  }

  #chunk(chunk: JsonObject): FrameClass {
    const value = strictChunk(chunk);
    const failure = failureIn(value);
    if (failure) return { kind: 'error', failure };
    this.#usage = decodeUsage(value.usage) ?? this.#usage;
    this.#marks.read(value);
    if (!Array.isArray(value.choices)) return QUIET;
    const { choices } = value;
    if (choices.length === 0) return isObject(chunk.usage) && !this.#usageAsked ? DROP : QUIET;
    const finish = finishOf(choices);
    if (finish === undefined) return this.#content(choices);
    const failed = failureOfFinish(finish, choices);
    if (failed) return { kind: 'error', failure: failed };
    this.#hasContent = true;
    const silence = failureOfSilence(finish);
    return silence === undefined || choices.some(speaks) ? FINISH : { kind: 'finish', silence };
  }

  #content(choices: readonly JsonValue[]): FrameClass {
    if (this.#hasContent || !choices.some(speaks)) return QUIET;
    this.#hasContent = true;
    return CONTENT;
  }
}

const NOT_JSON: FrameClass = Object.freeze({
  kind: 'error',
  failure: EVENT_NOT_JSON,
});

export function createClassifier({ usageAsked }: { usageAsked: boolean }): StreamClassifier {
  return new ChatClassifier(usageAsked);
}

export function rewrite(
  body: RelayedBody,
  target: RelayTarget,
  { conversation }: RelayOptions = {},
): RewrittenBody {
  const { streamUsage } = target.traits;
  const asks: Addition[] = [];
  if (body.value.stream === true && streamUsage && !asksForUsage(body.value))
    asks.push((members) => usageQuestion(body, members));
  const key = target.traits.cacheKey ? addedCacheKey(body, conversation) : undefined;
  if (key !== undefined) asks.push(key);
  return rewriteBody(body, target, { asks });
}

function usageQuestion({ value }: RelayedBody, members: Members): Edit {
  const given = value.stream_options;
  const asked = JSON.stringify({ ...(isObject(given) ? given : {}), include_usage: true });
  const member = members.get('stream_options');
  if (member !== undefined) return { start: member.start, end: member.end, text: asked };
  return { start: members.close, end: members.close, text: `,"stream_options":${asked}` };
}

interface Checked {
  value: JsonObject;
  choice: JsonObject;
  message: JsonObject;
  /** Undefined: the reply has no finish reason, but its body is complete and has content. */
  finish: string | undefined;
  /** Other choices, with the calls of the same answer. `message` has them. */
  spread: readonly JsonObject[];
}

function empty(what: string): never {
  return throwFailure(faulty('empty', `the provider's answer has no ${what}`));
}

/** Never a fake success: an error inside a 200, no choices, no message, or neither content nor a finish is a failure. */
export function checkReply(reply: unknown): Checked {
  if (Array.isArray(reply)) throwFailure(failureOf(reply as JsonValue, 200));
  if (!isObject(reply))
    return throwFailure(faulty('malformed', "the provider's answer is not a chat completion"));
  const value = strictReply(reply);
  const failure = failureIn(value, 200);
  if (failure) throwFailure(failure);
  const { choices } = value;
  if (!Array.isArray(choices) || choices.length === 0) return empty('choices');
  const choice = choices.find((item) => isObject(item) && (item.index ?? 0) === 0);
  if (!isObject(choice)) return empty('message');
  const finish = typeof choice.finish_reason === 'string' ? choice.finish_reason : undefined;
  const first = isObject(choice.message) ? choice.message : messageOfFinish(finish, choices);
  const spread = callsBeside(choice, choices);
  const message = spread.length === 0 ? first : joined(first, spread);
  const failed = finish === undefined ? undefined : failureOfFinish(finish, choices);
  if (failed) throwFailure(failed);
  if (!hasContent(message)) failSilence(finish);
  return { value, choice, message, finish, spread };
}

/** A choice without a message is empty, unless its finish reason names a filter or it contains an error. */
function messageOfFinish(finish: string | undefined, choices: JsonValue[]): JsonObject {
  if (finish === undefined) return empty('message');
  const failed = failureOfFinish(finish, choices);
  if (failed) throwFailure(failed);
  return stopOfWord(finish) === 'refusal' ? {} : empty('message');
}

export function failSilence(finish: string | undefined): void {
  if (finish === undefined) return empty('content and no finish reason');
  const failure = failureOfSilence(finish);
  if (failure) throwFailure(failure);
}

export function inspectReply(value: unknown): { usage?: Usage } {
  const usage = decodeUsage(checkReply(value).value.usage);
  return usage ? { usage } : {};
}
