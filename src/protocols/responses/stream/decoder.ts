// A provider's stream of this protocol as canonical events: one synchronous machine, fed frame by frame. What local servers leave
// out is taken from what they do send: pieces from `.done` events, items from `output_item.done`, all of it from the last event.
import type { StreamEvent, Usage } from '../../../canonical/reply.ts';
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type { ProviderFailure } from '../../../errors.ts';
import type { StreamDecoder } from '../../interface/stream.ts';
import { parseJson } from '../../json/values.ts';
import { NumberedDelta } from '../../sse/delta-template.ts';
import type { Frame } from '../../sse/splitter.ts';
import { failureOf, failureOfEvent, failureOfStray, isError } from '../errors.ts';
import { failureOfResponse, listOf } from '../reply/decode.ts';
import { decodeStop, decodeUsage } from '../reply/ending.ts';
import { ItemDecoder } from './decoder-items.ts';
import { EVENT_NOT_JSON, NO_ANSWER, BROKEN_OFF } from '../../../failures.ts';

const NONE: StreamEvent[] = [];

/** The event's name, which some servers write in its data alone. */
export function typeOf(value: JsonObject, event: string): string {
  return stringOf(value.type) || event;
}

export function isDone({ data }: Frame): boolean {
  return data.charCodeAt(0) === BRACKET && data.trim() === '[DONE]';
}

const BRACKET = 91;

const STATUS: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
]);

const DELTAS: ReadonlySet<StreamEvent['type']> = new Set(['text_delta', 'reasoning_delta', 'tool_delta']);

class ResponsesStream implements StreamDecoder {
  readonly #items = new ItemDecoder();
  readonly #delta = new NumberedDelta();
  #ended = false;
  #started = false;
  #stopped = false;
  #usage: Usage | undefined;
  #serviceTier: string | undefined;

  usage(): Usage | undefined {
    return this.#usage;
  }

  stopped(): boolean {
    return this.#stopped;
  }

  push(frame: Frame): StreamEvent[] {
    if (this.#ended) return NONE;
    const text = this.#delta.read(frame);
    const more = text === undefined ? undefined : this.#items.again(text);
    if (more !== undefined) return [more];
    const stray = failureOfStray(frame);
    if (stray !== undefined) return this.#fail(stray);
    if (frame.data === '') return frame.event === 'error' ? this.#fail(failureOfEvent('')) : NONE;
    this.#delta.forget();
    if (isDone(frame)) return this.#fail(this.#started ? BROKEN_OFF : NO_ANSWER);
    const value = parsed(frame.data);
    if (value === undefined)
      return this.#fail(frame.event === 'error' ? failureOfEvent(frame.data) : EVENT_NOT_JSON);
    const out: StreamEvent[] = [];
    if (isError(value, frame.event)) return this.#fail(failureOf(value));
    this.#event(typeOf(value, frame.event), value, out);
    const [only] = out;
    if (out.length === 1 && only !== undefined && DELTAS.has(only.type)) this.#delta.learn(frame);
    return out;
  }

  finish(clean: boolean): StreamEvent[] {
    if (this.#ended) return NONE;
    return this.#fail(this.#started || !clean ? BROKEN_OFF : NO_ANSWER);
  }

  #event(type: string, value: JsonObject, out: StreamEvent[]): void {
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        if (isObject(value.response)) this.#start(value.response, out);
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.done':
        return this.#end(type, isObject(value.response) ? value.response : {}, out);
      case 'response.failed':
      case 'response.cancelled':
        return this.#failed(value, out);
      default:
        this.#content(type, value, out);
    }
  }

  #content(type: string, value: JsonObject, out: StreamEvent[]): void {
    const events: StreamEvent[] = [];
    const failure = this.#items.push(type, value, events);
    if (events.length > 0 && !this.#started) this.#start({}, out);
    for (const event of events) out.push(event);
    if (failure !== undefined) out.push(...this.#fail(failure));
  }

  #start(response: JsonObject, out: StreamEvent[]): void {
    if (this.#started) return;
    this.#started = true;
    const event: StreamEvent = { type: 'start', id: stringOf(response.id), model: stringOf(response.model) };
    if (typeof response.created_at === 'number' && response.created_at > 0) {
      event.created = Math.floor(response.created_at);
    }
    this.#readTier(response.service_tier);
    if (this.#serviceTier !== undefined) event.serviceTier = this.#serviceTier;
    out.push(event);
  }

  #readTier(tier: JsonValue | undefined): void {
    // What is asked for before it is known which tier serves.
    if (typeof tier === 'string' && tier !== 'auto') this.#serviceTier = tier;
  }

  #failed(value: JsonObject, out: StreamEvent[]): void {
    const response = isObject(value.response) ? value.response : value;
    this.#usage = decodeUsage(response.usage) ?? this.#usage;
    out.push(...this.#fail(failureOfResponse({ ...response, status: 'failed' }) ?? BROKEN_OFF));
  }

  #end(type: string, response: JsonObject, out: StreamEvent[]): void {
    this.#start(response, out);
    this.#stopped = true;
    this.#usage = decodeUsage(response.usage) ?? this.#usage;
    // Some servers leave the status as it was when the answer began.
    const status = STATUS.get(type) ?? response.status ?? 'completed';
    const whole = { ...response, status };
    const failure = failureOfResponse(whole) ?? this.#items.finish(listOf(response.output), out);
    if (failure !== undefined) {
      out.push(...this.#fail(failure));
      return;
    }
    this.#ended = true;
    this.#readTier(response.service_tier);
    const event: StreamEvent = { type: 'end', stop: decodeStop(whole, this.#items.content) };
    if (this.#usage !== undefined) event.usage = this.#usage;
    if (this.#serviceTier !== undefined) event.serviceTier = this.#serviceTier;
    out.push(event);
  }

  #fail(failure: ProviderFailure): StreamEvent[] {
    this.#ended = true;
    return [{ type: 'error', failure }];
  }
}

function parsed(data: string): JsonObject | undefined {
  try {
    const value = parseJson(data);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function createStreamDecoder(): StreamDecoder {
  return new ResponsesStream();
}
