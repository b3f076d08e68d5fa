// Different protocols on the two sides: the provider's answer is decoded into canonical events, and these into the client's frames.
// Parts that the client's protocol can't express are left out, and reported in the log only.
import { replay } from '../../canonical/collect.ts';
import type { StreamEvent, Reply, Usage } from '../../canonical/reply.ts';
import { stringOf, type JsonObject } from '../../canonical/json.ts';
import {
  createEventRestorer,
  restoreReply,
  type EventRestorer,
  type ReverseMapping,
} from '../../canonical/reverse-mapping.ts';
import type { GatewayError } from '../../errors.ts';
import { replyIdsOf } from '../../protocols/shared/client.ts';
import { rawJson } from '../../protocols/json/raw-json.ts';
import type { ClientSide } from '../../protocols/interface/protocol.ts';
import type { AnswerMarks, HiddenTexts, ReplyContext, ReplyIds } from '../../protocols/interface/answer.ts';
import type { StreamDecoder, StreamEncoder } from '../../protocols/interface/stream.ts';
import type { Frame, Run } from '../../protocols/sse/splitter.ts';
import type { BuiltRequest } from '../outbound/build-request.ts';
import type { StreamOpening } from '../outbound/first-frame.ts';
import type { Answered } from './answer-items.ts';
import type { PumpStep, FrameWriter } from './pump.ts';
import { redact } from '../../providers/redact.ts';
import { createStep, stepped, type EventStep } from '../outbound/event-steps.ts';
import { losesSignatures } from '../../routing/catalog.ts';
import { ThinkingCollector } from '../thinking-memory.ts';
import type { NewItem } from '../../store/items/sealed-items.ts';
import { createLosses, type Losses } from './losses.ts';
import { BROKEN_OFF } from '../../failures.ts';

type TranslatedOpening = Extract<StreamOpening, { kind: 'translated' }>;

/** `encoder`: the one that opened the stream already. */
export function createTranslation(
  opening: TranslatedOpening,
  request: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
  encoder: StreamEncoder = client.createStreamEncoder(context),
): FrameWriter {
  return new Translation(opening, request, client, context, encoder);
}

/** Then every event and every reply stays what it is. */
function isIdentityMapping({ toolNames, customTools, structuredTool, stop }: ReverseMapping): boolean {
  return (
    toolNames.size === 0 &&
    customTools.size === 0 &&
    structuredTool === undefined &&
    stop.every((text) => text === '')
  );
}

class Translation implements FrameWriter {
  readonly #decoder: StreamDecoder;
  readonly #step: EventStep | undefined;
  readonly #restorer: EventRestorer | undefined;
  readonly #encoder: StreamEncoder;
  readonly #client: ClientSide;
  readonly #losses: Losses;
  readonly #request: BuiltRequest;
  readonly #thinking: ThinkingCollector | undefined;
  #opening: TranslatedOpening | undefined;
  #usage: Usage | undefined;
  #marks: AnswerMarks = {};
  /** What is due to the client of the frames that are being moved. */
  #text = '';

  constructor(
    opening: TranslatedOpening,
    request: BuiltRequest,
    client: ClientSide,
    context: ReplyContext,
    encoder: StreamEncoder,
  ) {
    this.#opening = opening;
    this.#decoder = opening.decoder;
    this.#client = client;
    // Mostly nothing is to be restored: a call and an array less for each piece of text.
    this.#restorer = isIdentityMapping(request.restore) ? undefined : createEventRestorer(request.restore);
    this.#step = stepFor(request, context);
    this.#encoder = encoder;
    this.#losses = lossesFor(request, client, context);
    this.#request = request;
    this.#thinking = collectorOf(client, request);
  }

  start(): PumpStep {
    const { events = [], rest = [] } = this.#opening ?? {};
    this.#opening = undefined;
    this.#text = '';
    return this.#events(events) ?? this.#frames(rest);
  }

  move(frames: readonly Frame[]): PumpStep {
    this.#text = '';
    return this.#frames(frames);
  }

  moveRun(run: Run): PumpStep {
    return this.move(run.frames());
  }

  finish(clean: boolean): PumpStep {
    this.#text = '';
    return this.#events(this.#decoder.finish(clean)) ?? { bytes: this.#text, failure: BROKEN_OFF };
  }

  usage(): Usage | undefined {
    return known(this.#usage ?? this.#decoder.usage());
  }

  marks(): AnswerMarks {
    return this.#marks;
  }

  lost(): string[] | undefined {
    return this.#losses.list();
  }

  repaired(): readonly string[] | undefined {
    return repairedBy(this.#step);
  }

  items(): readonly NewItem[] | undefined {
    return itemsOf(this.#thinking, this.#request);
  }

  answer(): JsonObject | undefined {
    return this.#encoder.answer?.();
  }

  hidden(): HiddenTexts | undefined {
    return this.#encoder.hidden?.();
  }

  replyIds(): ReplyIds | undefined {
    return this.#encoder.replyIds();
  }

  stopped(): boolean {
    return this.#decoder.stopped();
  }

  keepAlive(): string {
    return this.#encoder.keepAlive?.() ?? this.#client.keepAlive;
  }

  fail(error: GatewayError, requestId: string, now: number): string {
    return (
      this.#heldBack() +
      (this.#encoder.fail?.(error, requestId, now) ?? this.#client.encodeStreamError(error, requestId, now))
    );
  }

  /** What the step held back, where the stream breaks off. */
  #heldBack(): string {
    if (this.#step === undefined) return '';
    this.#text = '';
    for (const event of this.#step.giveUp()) this.#one(event);
    return this.#text;
  }

  #frames(frames: readonly Frame[]): PumpStep {
    for (const frame of frames) {
      const last = this.#events(this.#decoder.push(frame));
      if (last !== undefined) return last;
    }
    return { bytes: this.#text };
  }

  /** The last step of the stream if one of the events ends it. */
  #events(events: readonly StreamEvent[]): PumpStep | undefined {
    for (const event of events) {
      const last = this.#step === undefined ? this.#one(event) : this.#stepped(event, this.#step);
      if (last !== undefined) return last;
    }
    return undefined;
  }

  #stepped(decoded: StreamEvent, step: EventStep): PumpStep | undefined {
    for (const event of step.push(decoded)) {
      const last = this.#one(event);
      if (last !== undefined) return last;
    }
    return undefined;
  }

  #one(event: StreamEvent): PumpStep | undefined {
    return this.#restorer === undefined ? this.#event(event) : this.#restored(event, this.#restorer);
  }

  #restored(decoded: StreamEvent, restorer: EventRestorer): PumpStep | undefined {
    for (const event of restorer.push(decoded)) {
      const last = this.#event(event);
      if (last !== undefined) return last;
    }
    return undefined;
  }

  /** Readers take "" for a fault. */
  #started(event: Extract<StreamEvent, { type: 'start' }>): void {
    this.#marks = marksOf(event);
    if (event.model === '') event.model = this.#request.target.model;
  }

  #event(event: StreamEvent): PumpStep | undefined {
    if (event.type === 'error') return { bytes: this.#text, failure: event.failure };
    if (event.type === 'start') this.#started(event);
    this.#text += this.#encoder.push(event);
    if (event.type === 'text_delta') return undefined;
    this.#losses.event(event);
    this.#thinking?.push(event);
    if (event.type !== 'end') return undefined;
    this.#usage = event.usage;
    this.#marks = { ...this.#marks, ...marksOf({ stop: event.stop }) };
    return { bytes: this.#text, complete: true, cut: this.#restorer?.done() === true };
  }
}

/** Of an answer that the provider's words are known of. */
export function marksOf({ id, model, stop }: Partial<Pick<Reply, 'id' | 'model' | 'stop'>>): AnswerMarks {
  return {
    ...(id && { id }),
    ...(model && { model }),
    ...(stop?.raw !== undefined && { finish: [stop.raw] }),
  };
}

/** An estimate is for the client only; what is recorded is the usage that the provider reported. */
function known(usage: Usage | undefined): Usage | undefined {
  return usage?.estimated === true ? undefined : usage;
}

/** An answer as it was written for the client. */
interface WrittenReply {
  text: string;
  answered: Answered;
  usage: Usage | undefined;
  lost: string[] | undefined;
  repaired: readonly string[] | undefined;
  items: readonly NewItem[] | undefined;
}

export function translateWhole(
  given: Reply,
  prepared: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
): WrittenReply {
  const step = stepFor(prepared, context);
  const reply = completeReply(given, prepared, step);
  const { answer, hidden } = client.stored?.encodeReply(reply, context) ?? {
    answer: client.encodeReply(reply, context),
  };
  const text = rawJson(answer);
  const replyIds = replyIdsOf(reply.id, stringOf(answer.id));
  const answered = { answer: text, hidden, replyIds };
  return { text, answered, ...reported(reply, prepared, client, context, step) };
}

/** A stream was asked for and the provider answered whole: the answer is replayed as one. */
export function translateAsStream(
  given: Reply,
  prepared: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
  encoder: StreamEncoder,
): WrittenReply {
  const step = stepFor(prepared, context);
  const reply = completeReply(given, prepared, step);
  const text = replay(reply)
    .map((event) => encoder.push(event))
    .join('');
  const answered = {
    answer: encoder.answer?.(),
    hidden: encoder.hidden?.(),
    replyIds: encoder.replyIds(),
  };
  return { text, answered, ...reported(reply, prepared, client, context, step) };
}

/** With the names that the client knows, and with the target's model where the provider names none: readers take "" for a fault. */
function completeReply(given: Reply, { restore, target }: BuiltRequest, step: EventStep | undefined): Reply {
  const passed = step === undefined ? given : stepped(given, step);
  const reply = isIdentityMapping(restore) ? passed : restoreReply(passed, restore);
  return reply.model === '' ? { ...reply, model: target.model } : reply;
}

function reported(
  reply: Reply,
  prepared: BuiltRequest,
  client: ClientSide,
  context: ReplyContext,
  step: EventStep | undefined,
): Pick<WrittenReply, 'usage' | 'lost' | 'repaired' | 'items'> {
  const thinking = collectorOf(client, prepared);
  thinking?.pushReply(reply);
  const lost = lossesOf(reply, prepared, client, context);
  const repaired = repairedBy(step);
  return { usage: known(reply.usage), lost, repaired, items: itemsOf(thinking, prepared) };
}

function stepFor({ steps }: BuiltRequest, { ids }: ReplyContext): EventStep | undefined {
  return steps && createStep(steps, ids);
}

/** Undefined: nothing. */
function repairedBy(step: EventStep | undefined): readonly string[] | undefined {
  const repaired = step?.repaired() ?? [];
  return repaired.length === 0 ? undefined : repaired;
}

function collectorOf({ holds }: ClientSide, { target }: BuiltRequest): ThinkingCollector | undefined {
  return losesSignatures(holds, target) ? new ThinkingCollector(holds) : undefined;
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
  if (isPlainText(reply)) return undefined;
  const losses = lossesFor(prepared, client, context);
  losses.reply(reply);
  return losses.list();
}

/** Every protocol can express it. */
function isPlainText({ parts, stop: { reason, category } }: Reply): boolean {
  if (reason === 'other' || category !== undefined) return false;
  return parts.every((part) => part.type === 'text' && part.citations === undefined);
}
