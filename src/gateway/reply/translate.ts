// Different protocols on the two sides: the provider's answer becomes canonical events, these the client's frames.
import { replay } from '../../canonical/collect.ts';
import type { StreamEvent } from '../../canonical/events.ts';
import type { Reply } from '../../canonical/reply.ts';
import { createEventRestorer, restoreReply, isIdentityMapping } from '../../canonical/reverse-mapping.ts';
import type { Usage } from '../../canonical/usage.ts';
import type { Ids } from '../../ids.ts';
import { rawJson } from '../../protocols/json/raw-json.ts';
import type { ClientSide, ReplyContext } from '../../protocols/protocol.ts';
import type { Frame } from '../../protocols/sse/splitter.ts';
import { createLosses, type Losses } from './losses.ts';
import type { BuiltRequest } from '../outbound/build-request.ts';
import { TRUNCATED, type PumpStep, type FrameWriter } from './pump.ts';
import { redact } from '../outbound/redact.ts';
import { ThinkingCollector } from '../thinking-memory.ts';
import type { NewItem } from '../../store/sealed-items.ts';

export function createTranslation(
  prepared: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
  ids: Ids,
): FrameWriter {
  const decoder = prepared.protocol.provider.createStreamDecoder({ ids, traits: prepared.target.traits });
  const restorer = isIdentityMapping(prepared.restore) ? undefined : createEventRestorer(prepared.restore);
  const encoder = client.createStreamEncoder(context);
  const losses = lossesFor(prepared, client, context);
  const thinking = client.holds.signedThinking ? undefined : new ThinkingCollector();
  let usage: Usage | undefined;

  function moveEvent(event: StreamEvent, into: { text: string }): PumpStep | undefined {
    if (event.type === 'error') return { bytes: into.text, failure: event.failure };
    into.text += encoder.push(event);
    if (event.type === 'text_delta') return undefined;
    losses.event(event);
    thinking?.push(event);
    if (event.type !== 'end') return undefined;
    usage = event.usage;
    return { bytes: into.text, complete: true, cut: restorer?.done() === true };
  }

  function moveEvents(events: readonly StreamEvent[], into: { text: string }): PumpStep | undefined {
    for (const decoded of events) {
      // Mostly nothing is to be restored: a call and an array less for each piece of text.
      if (restorer === undefined) {
        const last = moveEvent(decoded, into);
        if (last !== undefined) return last;
        continue;
      }
      for (const event of restorer.push(decoded)) {
        const last = moveEvent(event, into);
        if (last !== undefined) return last;
      }
    }
    return undefined;
  }

  function move(frames: readonly Frame[]): PumpStep {
    const into = { text: '' };
    for (const frame of frames) {
      const last = moveEvents(decoder.push(frame), into);
      if (last !== undefined) return last;
    }
    return { bytes: into.text };
  }

  return {
    move,
    moveRun: (run) => move(run.frames()),
    finish(clean) {
      const into = { text: '' };
      return moveEvents(decoder.finish(clean), into) ?? { bytes: into.text, failure: TRUNCATED };
    },
    usage: () => known(usage ?? decoder.usage()),
    lost: () => losses.list(),
    items: () => itemsOf(thinking, prepared),
    stopped: () => decoder.stopped(),
  };
}

/** An estimate is for the client's eyes; what is recorded is what the provider told. */
function known(usage: Usage | undefined): Usage | undefined {
  return usage?.estimated === true ? undefined : usage;
}

/** An answer as it was written for the client. */
interface TranslatedReply {
  text: string;
  usage: Usage | undefined;
  lost: string[] | undefined;
  items: readonly NewItem[] | undefined;
}

export function translateWhole(
  given: Reply,
  prepared: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
): TranslatedReply {
  const reply = restoreReply(given, prepared.restore);
  const text = rawJson(client.encodeReply(reply, context));
  return written(text, reply, prepared, client, context);
}

/** A stream was asked for and the provider answered whole: the answer is replayed as one. */
export function translateAsStream(
  given: Reply,
  prepared: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
): TranslatedReply {
  const reply = restoreReply(given, prepared.restore);
  const encoder = client.createStreamEncoder(context);
  const text = replay(reply)
    .map((event) => encoder.push(event))
    .join('');
  return written(text, reply, prepared, client, context);
}

function written(
  text: string,
  reply: Reply,
  prepared: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
): TranslatedReply {
  const thinking = client.holds.signedThinking ? undefined : new ThinkingCollector();
  thinking?.pushReply(reply);
  const lost = lossesOf(reply, prepared, client, context);
  return { text, usage: known(reply.usage), lost, items: itemsOf(thinking, prepared) };
}

function itemsOf(
  thinking: ThinkingCollector | undefined,
  { target }: BuiltRequest,
): readonly NewItem[] | undefined {
  const item = thinking?.item(target);
  return item && [item];
}

function lossesFor({ target }: BuiltRequest, client: ClientSide, { request }: ReplyContext): Losses {
  const clean = (words: string): string => redact(words, target.provider);
  return createLosses(client, clean, request);
}

function lossesOf(
  reply: Reply,
  prepared: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
): string[] | undefined {
  const losses = lossesFor(prepared, client, context);
  losses.reply(reply);
  return losses.list();
}
