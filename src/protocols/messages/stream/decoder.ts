// A provider's messages stream as canonical events: one synchronous machine, fed frame by frame. It understands servers that
// speak the protocol nearly right (no block stops, doubled starts, content before the start); other faults fail the stream.
import type { StreamEvent, StopReason, Usage } from '../../../canonical/reply.ts';
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { ProviderFailure } from '../../../errors.ts';
import type { Ids } from '../../../ids.ts';
import type { StreamDecoder } from '../../interface/stream.ts';
import { keepSource, mayDiffer, type ArgumentsPath } from '../../json/raw-json.ts';
import type { Frame } from '../../sse/splitter.ts';
import { DeltaTemplate } from '../../sse/delta-template.ts';
import { Blocks } from './decoder-blocks.ts';
import { failureOf, failureOfEvent, failureOfStray, isError } from '../errors.ts';
import { list, text } from '../wire-types.ts';
import { createSpliceWatch, SPLICED, unfoldStart } from './message-start.ts';
import { WITHOUT_STOP, isUnreadable } from '../relay.ts';
import { addUnlikeInputs } from '../reply/decode.ts';
import {
  decodeStop,
  failureOfSilence,
  failureOfStop,
  isStop,
  readUsage,
  toUsage,
  type UsageTally,
} from '../reply/ending.ts';
import { faulty, EVENT_NOT_JSON, BROKEN_OFF, NO_ANSWER } from '../../../failures.ts';

const NONE: StreamEvent[] = [];
const START = ['content_block'];
const WHOLE = ['message', 'content'];

function isTextDelta({ type, delta }: JsonObject, piece: string): boolean {
  return (
    type === 'content_block_delta' && isObject(delta) && delta.type === 'text_delta' && delta.text === piece
  );
}

function keepInputs({ content_block: block, message }: JsonObject, source: string): void {
  const places: ArgumentsPath[] = [];
  if (isObject(block) && mayDiffer(block.input)) places.push({ holder: block, name: 'input', steps: START });
  if (isObject(message)) addUnlikeInputs(places, list(message.content), () => WHOLE);
  keepSource(source, places);
}

export function createStreamDecoder({ ids }: { ids: Ids }): StreamDecoder {
  return new MessagesDecoder(ids);
}

class MessagesDecoder implements StreamDecoder {
  readonly #ids: Ids;
  readonly #blocks: Blocks;
  readonly #isSpliced = createSpliceWatch();
  readonly #tally: UsageTally = {};
  readonly #template = new DeltaTemplate(/"text": ?"/, isTextDelta);
  /** The block that the template's deltas belong to. */
  #templateIndex = 0;
  #state: 'init' | 'open' | 'over' = 'init';
  #stop: StopReason | undefined;
  #serviceTier: string | undefined;

  constructor(ids: Ids) {
    this.#ids = ids;
    this.#blocks = new Blocks(ids);
  }

  stopped(): boolean {
    return this.#stop !== undefined;
  }

  usage(): Usage | undefined {
    return toUsage(this.#tally);
  }

  push(frame: Frame): StreamEvent[] {
    if (this.#state === 'over') return NONE;
    const text = this.#template.read(frame);
    if (text !== undefined) return [{ type: 'text_delta', index: this.#templateIndex, text }];
    const stray = failureOfStray(frame);
    if (stray !== undefined) return this.#failed(stray);
    return frame.data === '' && frame.event !== 'error' ? NONE : this.#frame(frame);
  }

  finish(clean: boolean): StreamEvent[] {
    if (this.#state === 'over') return NONE;
    if (this.#state === 'init') return this.#failed(NO_ANSWER);
    if (!clean || this.#stop === undefined) return this.#failed(BROKEN_OFF);
    return this.#end();
  }

  #frame(frame: Frame): StreamEvent[] {
    this.#template.forget();
    if (frame.event === 'error') return this.#failed(failureOfEvent(frame.data));
    const { value } = frame;
    if (!isObject(value)) return isUnreadable(frame) ? this.#failed(EVENT_NOT_JSON) : NONE;
    keepInputs(value, frame.data);
    const events = this.#dispatch(value, frame.event);
    const [only] = events;
    if (events.length === 1 && only?.type === 'text_delta') {
      this.#template.learn(frame);
      this.#templateIndex = only.index;
    }
    return events;
  }

  #dispatch(value: JsonObject, event: string): StreamEvent[] {
    const type = text(value.type) ?? event;
    switch (type) {
      case 'content_block_delta':
      case 'content_block_start':
      case 'content_block_stop':
        return this.#content(value);
      case 'message_start':
        return this.#messageStart(value);
      case 'message_delta':
        return this.#messageDelta(value);
      case 'message_stop':
        return this.#end();
      default:
        return isError(value, event) ? this.#failed(failureOf(value)) : NONE;
    }
  }

  #messageStart(value: JsonObject): StreamEvent[] {
    const { message } = value;
    if (this.#isSpliced(message)) return this.#failed(SPLICED);
    if (this.#state !== 'init') {
      readUsage(this.#tally, isObject(message) ? message.usage : undefined);
      return NONE;
    }
    const events = this.#start(isObject(message) ? message : {});
    for (const unfolded of unfoldStart(value).slice(1)) {
      if (events.at(-1)?.type !== 'error') events.push(...this.#dispatch(unfolded, ''));
    }
    return events;
  }

  #start(message: JsonObject): StreamEvent[] {
    this.#state = 'open';
    readUsage(this.#tally, message.usage);
    if (isObject(message.usage)) this.#serviceTier = text(message.usage.service_tier);
    const event: StreamEvent = {
      type: 'start',
      id: text(message.id) ?? `msg_${this.#ids.random(24)}`,
      model: text(message.model) ?? '',
    };
    const usage = this.usage();
    if (usage !== undefined) event.usage = usage;
    if (this.#serviceTier !== undefined) event.serviceTier = this.#serviceTier;
    return [event];
  }

  /** Content may come before the start: the start is then made up, its content is not. */
  #content(value: JsonObject): StreamEvent[] {
    const events = this.#state === 'init' ? this.#start({}) : [];
    const fault = this.#blocks.push(value, events);
    if (fault === undefined) return events;
    return [...events, ...this.#failed(faulty('malformed', `the provider's stream is broken: ${fault}`))];
  }

  #messageDelta(value: JsonObject): StreamEvent[] {
    const events = this.#state === 'init' ? this.#start({}) : [];
    readUsage(this.#tally, value.usage);
    const { delta } = value;
    if (isObject(delta) && isStop(delta.stop_reason)) {
      const failure = failureOfStop(delta.stop_reason);
      if (failure !== undefined) return [...events, ...this.#failed(failure)];
      this.#stop = decodeStop(delta.stop_reason, delta);
      this.#blocks.closeAll(events);
    }
    return events;
  }

  #end(): StreamEvent[] {
    const stop = this.#stop;
    if (stop === undefined) return this.#failed(WITHOUT_STOP);
    const events: StreamEvent[] = [];
    this.#blocks.closeAll(events);
    const silence = this.#blocks.hasContent() ? undefined : failureOfSilence(stop.raw ?? '');
    if (silence !== undefined) return [...events, ...this.#failed(silence)];
    this.#state = 'over';
    const event: StreamEvent = { type: 'end', stop };
    const usage = this.usage();
    if (usage !== undefined) event.usage = usage;
    if (this.#serviceTier !== undefined) event.serviceTier = this.#serviceTier;
    const losses = this.#blocks.losses();
    if (losses.length > 0) event.lost = losses;
    events.push(event);
    return events;
  }

  #failed(failure: ProviderFailure): StreamEvent[] {
    this.#state = 'over';
    return [{ type: 'error', failure }];
  }
}
