// A provider's chat stream as canonical events: one synchronous machine, fed frame by frame.
import { append, isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { StreamEvent, Usage } from '../../../canonical/reply.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { ProviderFailure } from '../../../errors.ts';
import type { Ids } from '../../../ids.ts';
import type { StreamDecoder } from '../../interface/stream.ts';
import { DeltaTemplate } from '../../sse/delta-template.ts';
import type { Frame } from '../../sse/frame.ts';
import { failureIn, failureOfStray, isFilled, strictChunk } from '../lenient.ts';
import { failureOf, failureOfEvent } from '../errors.ts';
import { tokensOf } from '../../../canonical/logprobs.ts';
import { decodeStop, failureOfSilence, decodeUsage } from '../reply/ending.ts';
import { Blocks } from './decoder-blocks.ts';
import { failureOfFinish, isDone } from '../relay.ts';
import { onlyCalls } from '../spread-choices.ts';
import { NO_ANSWER, BROKEN_OFF, faulty, EVENT_NOT_JSON, NAMELESS_CALL } from '../../../failures.ts';

const NONE: StreamEvent[] = [];

export function createStreamDecoder({ ids }: { ids: Ids; traits: Traits }): StreamDecoder {
  return new ChatDecoder(ids);
}

class ChatDecoder implements StreamDecoder {
  #isOver = false;
  /** A choice came. */
  #hasChoice = false;
  /** The `start` event was given. It waits for content: usage may come before it. */
  #isStarted = false;
  #id = '';
  #model = '';
  #created: number | undefined;
  #tier: string | undefined;
  #usage: Usage | undefined;
  #finish: string | undefined;
  #stopReason: JsonValue | undefined;
  readonly #blocks: Blocks;
  /** The first choice calls tools. */
  #hasOwnCalls = false;
  /** Choices after the first with text of their own: other answers. */
  readonly #answers = new Set<number>();
  /** Log probabilities of text that is still held back. */
  readonly #waiting: JsonObject[] = [];
  readonly #template = new DeltaTemplate(/"content": ?"/, isTextAlone);

  constructor(ids: Ids) {
    this.#blocks = new Blocks(ids);
  }

  usage(): Usage | undefined {
    return this.#usage;
  }

  stopped(): boolean {
    return this.#finish !== undefined;
  }

  push(frame: Frame): StreamEvent[] {
    if (this.#isOver) return NONE;
    const out: StreamEvent[] = [];
    const text = this.#template.read(frame);
    if (text !== undefined) this.#blocks.text(text, out);
    else this.#frame(frame, out);
    return out;
  }

  finish(clean: boolean): StreamEvent[] {
    if (this.#isOver) return NONE;
    const out: StreamEvent[] = [];
    if (clean && this.#finish !== undefined) this.#end(out);
    else this.#fail(this.#hasChoice || !clean ? BROKEN_OFF : NO_ANSWER, out);
    return out;
  }

  #frame(frame: Frame, out: StreamEvent[]): void {
    const stray = failureOfStray(frame);
    if (stray) return this.#fail(stray, out);
    if (frame.data === '' && frame.event !== 'error') return;
    this.#template.forget();
    if (isDone(frame)) return this.#done(out);
    this.#chunk(frame, out);
    if (out.length === 1 && out[0]?.type === 'text_delta' && this.#blocks.isText()) {
      this.#template.learn(frame);
    }
  }

  #chunk(frame: Frame, out: StreamEvent[]): void {
    const chunk = readChunk(frame);
    if ('failure' in chunk) return this.#fail(chunk.failure, out);
    const { value } = chunk;
    this.#head(value);
    if (Array.isArray(value.choices) && value.choices.length > 0) this.#choices(value.choices, out);
  }

  /** Members beside the choices. Some servers leave the id and the model of the first chunk empty. */
  #head(value: JsonObject): void {
    if (!this.#isStarted) {
      if (typeof value.id === 'string') this.#id ||= value.id;
      if (typeof value.model === 'string') this.#model ||= value.model;
      if (typeof value.created === 'number' && value.created > 0) this.#created ??= value.created;
    }
    this.#blocks.readPages(value);
    if (typeof value.service_tier === 'string') this.#tier = value.service_tier;
    this.#usage = decodeUsage(value.usage) ?? this.#usage;
  }

  #choices(choices: JsonValue[], out: StreamEvent[]): void {
    const choice = choices.find((item) => isObject(item) && (item.index ?? 0) === 0);
    if (isObject(choice)) this.#choice(choice, choices, out);
    if ((choice === undefined || choices.length > 1) && !this.#isOver) this.#others(choice, choices, out);
    if (out.length > 0 && !this.#isOver) this.#start(out);
  }

  /** Calls of the same answer, in choices of their own. */
  #others(first: JsonValue | undefined, choices: readonly JsonValue[], out: StreamEvent[]): void {
    for (const choice of choices) {
      if (choice === first || !isObject(choice) || !isObject(choice.delta)) continue;
      const index = typeof choice.index === 'number' ? choice.index : 0;
      if (isFilled(choice.delta.content)) this.#answers.add(index);
      if (!onlyCalls(choice.delta) || this.#hasOwnCalls || (index > 0 && this.#answers.has(index))) continue;
      this.#blocks.push({ tool_calls: choice.delta.tool_calls ?? null }, out);
    }
  }

  #choice(choice: JsonObject, choices: JsonValue[], out: StreamEvent[]): void {
    const { finish_reason: finish } = choice;
    if (typeof finish === 'string') {
      const failure = failureOfFinish(finish, choices);
      if (failure) return this.#fail(failure, out);
    }
    this.#hasChoice = true;
    if (isObject(choice.delta)) {
      if (isFilled(choice.delta.tool_calls)) this.#hasOwnCalls = true;
      this.#blocks.push(choice.delta, out);
    }
    if (isObject(choice.logprobs)) this.#tokens(tokensOf(choice.logprobs.content), out);
    if (typeof finish === 'string') {
      this.#finish ??= finish;
      this.#stopReason ??= choice.stop_reason;
    }
  }

  /** In front of the text that they are of; of text that waits, they come with the next one. */
  #tokens(tokens: JsonObject[], out: StreamEvent[]): void {
    append(this.#waiting, tokens);
    const at = out.findIndex(({ type }) => type === 'text_delta');
    const text = out[at];
    if (text?.type !== 'text_delta' || this.#waiting.length === 0) return;
    out.splice(at, 0, { type: 'logprobs', index: text.index, tokens: this.#waiting.splice(0) });
  }

  #start(out: StreamEvent[]): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const event: StreamEvent = { type: 'start', id: this.#id, model: this.#model };
    if (this.#created !== undefined) event.created = this.#created;
    if (this.#usage) event.usage = this.#usage;
    if (this.#tier !== undefined) event.serviceTier = this.#tier;
    out.unshift(event);
  }

  /** `[DONE]` ends the stream, so an answer without a finish reason is complete too. */
  #done(out: StreamEvent[]): void {
    if (this.#finish !== undefined || this.#blocks.hasContent()) this.#end(out);
    else this.#fail(NO_ANSWER, out);
  }

  #end(out: StreamEvent[]): void {
    const blocks = this.#blocks;
    const silence = blocks.hasContent() ? undefined : failureOfSilence(this.#finish ?? '');
    if (silence) return this.#fail(silence, out);
    this.#start(out);
    if (!blocks.finish(out)) return this.#fail(NAMELESS_CALL, out);
    this.#isOver = true;
    const stop = decodeStop({
      finish: this.#finish,
      stopReason: this.#stopReason,
      hasCalls: blocks.hasCalls(),
      refusal: blocks.refusal(),
    });
    const event: StreamEvent = { type: 'end', stop };
    if (this.#usage) event.usage = this.#usage;
    if (blocks.hasLateSignature()) event.lost = ['the signature of thinking, which came late'];
    if (this.#tier !== undefined) event.serviceTier = this.#tier;
    out.push(event);
  }

  #fail(failure: ProviderFailure, out: StreamEvent[]): void {
    this.#isOver = true;
    out.push({ type: 'error', failure });
  }
}

type Chunk = { value: JsonObject } | { failure: ProviderFailure };

/** The strict chunk in a frame, or the failure that the frame is. */
function readChunk(frame: Frame): Chunk {
  if (frame.event === 'error') return { failure: failureOfEvent(frame.data) };
  const { value } = frame;
  if (value === undefined) return { failure: EVENT_NOT_JSON };
  if (Array.isArray(value)) return { failure: failureOf(value) };
  if (!isObject(value))
    return { failure: faulty('malformed', "the provider's stream holds an event that is not an object") };
  const strict = strictChunk(value);
  const failure = failureIn(strict);
  return failure ? { failure } : { value: strict };
}

/** Whether a chunk is a piece of text and nothing else. Stricter than the decoder: chunks in any other form are decoded. */
function isTextAlone(value: JsonObject, text: string): boolean {
  const { choices } = value;
  if (value.usage || value.x_groq || !Array.isArray(choices) || choices.length !== 1) return false;
  const [choice] = choices;
  if (!isObject(choice) || typeof choice.finish_reason === 'string' || !isObject(choice.delta)) return false;
  if (isObject(choice.logprobs)) return false;
  const { delta } = choice;
  for (const name in delta) {
    const member = delta[name];
    if (name === 'content' || name === 'role' || !member) continue;
    if (!Array.isArray(member) || member.length > 0) return false;
  }
  return delta.content === text;
}
