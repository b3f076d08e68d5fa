// This protocol's stream as canonical events. One synchronous machine: servers that speak it nearly right (no block stops,
// doubled starts, content before the start) are understood; what can't be understood ends the stream as a failure.
import type { StreamEvent } from '../../../canonical/events.ts';
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { StopReason } from '../../../canonical/reply.ts';
import type { ProviderFailure } from '../../../errors.ts';
import type { Ids } from '../../../ids.ts';
import type { StreamDecoder } from '../../protocol.ts';
import { keepSource, mayDiffer, type ArgumentsPath } from '../../json/raw-arguments.ts';
import type { Frame } from '../../sse/splitter.ts';
import { DeltaTemplate } from '../../sse/delta-template.ts';
import { createBlocks } from './decoder-blocks.ts';
import { failureOfEvent, readFailure } from '../errors.ts';
import { createSpliceWatch, SPLICED, unfoldStart } from './message-start.ts';
import { failureOfStray, isError, isUnreadable, MALFORMED } from './relay.ts';
import { addUnlikeInputs } from '../reply/decode.ts';
import { list, text } from '../wire-types.ts';
import { decodeStop, failureOfSilence, failureOfStop, isStop } from '../reply/stop-reason.ts';
import { readUsage, toUsage, type UsageTally } from '../reply/usage.ts';

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
  const blocks = createBlocks(ids);
  const isSpliced = createSpliceWatch();
  const tally: UsageTally = {};
  let state: 'init' | 'open' | 'over' = 'init';
  let stop: StopReason | undefined;
  let serviceTier: string | undefined;
  const shape = new DeltaTemplate(/"text": ?"/, isTextDelta);
  /** The block of the shape that was learned. */
  let shapeIndex = 0;

  function failed(failure: ProviderFailure): StreamEvent[] {
    state = 'over';
    return [{ type: 'error', failure }];
  }

  function fail(reason: string, message: string): StreamEvent[] {
    return failed({ kind: 'failed', message, reason });
  }

  function start(message: JsonObject): StreamEvent[] {
    state = 'open';
    readUsage(tally, message.usage);
    if (isObject(message.usage)) serviceTier = text(message.usage.service_tier);
    const event: StreamEvent = {
      type: 'start',
      id: text(message.id) ?? `msg_${ids.random(24)}`,
      model: text(message.model) ?? '',
    };
    const usage = toUsage(tally);
    if (usage !== undefined) event.usage = usage;
    if (serviceTier !== undefined) event.serviceTier = serviceTier;
    return [event];
  }

  function messageStart(value: JsonObject): StreamEvent[] {
    const { message } = value;
    if (isSpliced(message)) return failed(SPLICED);
    if (state !== 'init') {
      readUsage(tally, isObject(message) ? message.usage : undefined);
      return NONE;
    }
    const events = start(isObject(message) ? message : {});
    for (const told of unfoldStart(value).slice(1)) {
      if (events.at(-1)?.type !== 'error') events.push(...dispatch(told, ''));
    }
    return events;
  }

  /** Content may come before the start: the start is then made up, its content is not. */
  function content(value: JsonObject): StreamEvent[] {
    const events = state === 'init' ? start({}) : [];
    const trouble = blocks.push(value, events);
    if (trouble === undefined) return events;
    return [...events, ...fail('malformed', `the provider's stream is broken: ${trouble}`)];
  }

  function messageDelta(value: JsonObject): StreamEvent[] {
    const events = state === 'init' ? start({}) : [];
    readUsage(tally, value.usage);
    const { delta } = value;
    if (isObject(delta) && isStop(delta.stop_reason)) {
      const failure = failureOfStop(delta.stop_reason);
      if (failure !== undefined) return [...events, ...failed(failure)];
      stop = decodeStop(delta.stop_reason, delta);
      blocks.closeAll(events);
    }
    return events;
  }

  function end(): StreamEvent[] {
    if (stop === undefined) return fail('truncated', "the provider's stream ended without a stop reason");
    const events: StreamEvent[] = [];
    blocks.closeAll(events);
    const silence = blocks.told() ? undefined : failureOfSilence(stop.raw ?? '');
    if (silence !== undefined) return [...events, ...failed(silence)];
    state = 'over';
    const event: StreamEvent = { type: 'end', stop };
    const usage = toUsage(tally);
    if (usage !== undefined) event.usage = usage;
    if (serviceTier !== undefined) event.serviceTier = serviceTier;
    const lost = blocks.lost();
    if (lost.length > 0) event.lost = lost;
    events.push(event);
    return events;
  }

  function dispatch(value: JsonObject, event: string): StreamEvent[] {
    const type = text(value.type) ?? event;
    switch (type) {
      case 'content_block_delta':
      case 'content_block_start':
      case 'content_block_stop':
        return content(value);
      case 'message_start':
        return messageStart(value);
      case 'message_delta':
        return messageDelta(value);
      case 'message_stop':
        return end();
      default:
        return isError(value, event) ? failed(readFailure(value)) : NONE;
    }
  }

  function other(frame: Frame): StreamEvent[] {
    shape.forget();
    if (frame.event === 'error') return failed(failureOfEvent(frame.data));
    const { value } = frame;
    if (isObject(value)) {
      keepInputs(value, frame.data);
      const events = dispatch(value, frame.event);
      const [only] = events;
      if (events.length === 1 && only?.type === 'text_delta') {
        shape.learn(frame);
        shapeIndex = only.index;
      }
      return events;
    }
    return isUnreadable(frame) ? failed(MALFORMED) : NONE;
  }

  return {
    stopped: () => stop !== undefined,
    usage: () => toUsage(tally),
    push(frame: Frame) {
      if (state === 'over') return NONE;
      const text = shape.read(frame);
      if (text !== undefined) return [{ type: 'text_delta', index: shapeIndex, text }];
      const stray = failureOfStray(frame);
      if (stray !== undefined) return failed(stray);
      return frame.data === '' && frame.event !== 'error' ? NONE : other(frame);
    },
    finish(clean) {
      if (state === 'over') return NONE;
      if (state === 'init') return fail('empty', 'the provider sent an empty stream');
      if (!clean || stop === undefined) return fail('truncated', "the provider's stream broke off");
      return end();
    },
  };
}
