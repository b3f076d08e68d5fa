// A provider's reply as the gateway reads it: a body of JSON, checked before it is parsed and parsed once; or a stream of frames
// with one reader at a time: `readUntilCommit` reads until the commit, then relay or translate reads on. The limits hold before
// anything is parsed.
import { append } from '../../canonical/json.ts';
import type { FramingName } from '../../protocols/interface/protocol.ts';
import { FrameTooLarge, type Frame, type Run, type Splitter } from '../../protocols/sse/splitter.ts';
import { type ProviderFailure, FailureError } from '../../errors.ts';
import { framings, type Framing } from '../../providers/framings.ts';
import type { BodyReader, ReplyBody } from '../../providers/reply-body.ts';
import { createCollector } from '../../canonical/collect.ts';
import type { StreamEvent, Reply, Usage } from '../../canonical/reply.ts';
import type { Ids } from '../../ids.ts';
import type { BuiltRequest } from './build-request.ts';
import { plural } from '../../plural.ts';
import { isAscii } from 'node:buffer';
import { MAX_LEVELS } from '../../protocols/json/raw-json.ts';
import { measureJson } from '../../protocols/json/splice.ts';
import { parseJson } from '../../protocols/json/values.ts';
import { NOT_JSON, EMPTY_ANSWER, BROKEN_OFF, faulty } from '../../failures.ts';

export interface ReplyLimits {
  /** Bytes of a whole reply, and of one event of a stream. */
  maxReply: number;
  /** JSON values of the same. */
  maxValues: number;
}

export interface FrameReader {
  /** The frames that one network chunk completed; never empty. */
  frames(frames: readonly Frame[]): void;
  /** The same for frames that may be forwarded without being separated. A reader without it gets them by `frames`. */
  run?(run: Run): void;
  /** The body has ended. `clean`: complete by HTTP's rules. */
  end(clean: boolean): void;
  fail(failure: ProviderFailure): void;
}

export interface FrameSource {
  /** Sets the reader; frames that arrived since the last reader stopped come first. */
  read(reader: FrameReader): void;
  /** The reader stops reading; the provider is held back. */
  hold(): void;
  pause(): void;
  resume(): void;
  abort(): void;
  release(): void;
}

export function openFrames(
  body: ReplyBody,
  { maxReply, maxValues }: ReplyLimits,
  name: FramingName,
): FrameSource {
  return new Frames(body, framings[name], maxReply, maxValues);
}

/** A class, as all that stays as long as a stream is: it takes the least memory. */
class Frames implements FrameSource, BodyReader {
  readonly #body: ReplyBody;
  readonly #framing: Framing;
  readonly #splitter: Splitter;
  readonly #maxValues: number;
  #reader: FrameReader | undefined;
  #ending: ((to: FrameReader) => void) | undefined;
  #started = false;
  /** Frames that no reader has got. */
  #waiting: Frame[] = [];

  constructor(body: ReplyBody, framing: Framing, maxFrame: number, maxValues: number) {
    this.#body = body;
    this.#framing = framing;
    this.#splitter = framing.createSplitter({ maxFrame });
    this.#maxValues = maxValues;
  }

  // -- the reader's side --

  read(next: FrameReader): void {
    this.#reader = next;
    if (!this.#started) {
      this.#started = true;
      this.#body.start(this);
      return;
    }
    if (this.#waiting.length > 0) next.frames(this.#waiting.splice(0));
    if (this.#ending !== undefined) this.#ending(next);
    else this.#body.resume();
  }

  hold(): void {
    this.#reader = undefined;
    this.#body.pause();
  }

  pause(): void {
    this.#body.pause();
  }

  resume(): void {
    this.#body.resume();
  }

  abort(): void {
    this.#body.abort();
  }

  release(): void {
    this.#body.release();
  }

  // -- the body's side --

  chunk(bytes: Buffer): void {
    const reader = this.#reader;
    const run = reader?.run === undefined ? undefined : this.#splitter.run(bytes);
    if (run === undefined) this.#pass(() => this.#splitter.push(bytes));
    else reader?.run?.(run);
  }

  end(clean: boolean): void {
    let cut = false;
    const rest = (): Frame[] => {
      const { frames, isCut } = lastFrame(this.#splitter, this.#framing, this.#maxValues);
      cut = isCut;
      return frames;
    };
    if (this.#pass(rest)) this.#close((to) => to.end(clean && !cut));
  }

  fail(failure: ProviderFailure): void {
    this.#close((to) => to.fail(failure));
  }

  /** To the reader, or to the next one. */
  #close(tell: (to: FrameReader) => void): void {
    const reader = this.#reader;
    if (reader === undefined) this.#ending = tell;
    else tell(reader);
  }

  #give(frames: Frame[]): void {
    if (this.#reader === undefined) append(this.#waiting, frames);
    else this.#reader.frames(frames);
  }

  #pass(split: () => Frame[]): boolean {
    let failure: ProviderFailure | undefined;
    try {
      const frames = split();
      failure = firstUnparsable(frames, this.#maxValues);
      if (failure === undefined && frames.length > 0) this.#give(frames);
    } catch (error) {
      if (!(error instanceof FrameTooLarge)) throw error;
      failure = faulty('too_large', error.message);
    }
    if (failure === undefined) return true;
    this.#body.abort();
    this.fail(failure);
    return false;
  }
}

/** A last frame without its end, if it holds anything; `isCut`: it is not whole. */
function lastFrame(splitter: Splitter, framing: Framing, maxValues: number) {
  const last = splitter.finish().find(({ data, event }) => data !== '' || event === 'error');
  if (last === undefined) return { frames: [], isCut: false };
  if (firstUnparsable([last], maxValues) !== undefined) return { frames: [last], isCut: false };
  const isCut = !framing.isWhole(last);
  return { frames: isCut ? [] : [framing.ended(last)], isCut };
}

/** Bytes of an event that is safe to parse whatever it holds; longer ones are few. */
const LARGE = 65_536;

/** Frames before one that must not be parsed are discarded with it: both came in one network chunk. */
function firstUnparsable(frames: readonly Frame[], maxValues: number): ProviderFailure | undefined {
  for (const frame of frames) {
    const failure = frame.bytes.length > LARGE ? unparsable(Buffer.from(frame.data), maxValues) : undefined;
    if (failure !== undefined) return failure;
  }
  return undefined;
}

/**
 * Reads a stream to its end and collects it into a whole reply: some servers stream although no stream was asked for. Rejects with
 * FailureError if the stream fails, breaks off or grows beyond `limit` bytes.
 */
export function aggregateStream(
  source: FrameSource,
  request: BuiltRequest,
  ids: Ids,
  limit: number,
): Promise<Reply> {
  const decoder = request.protocol.provider.createStreamDecoder({ ids, traits: request.target.traits });
  const collector = createCollector();
  let length = 0;
  return new Promise((resolve, reject) => {
    /** Whether the answer has ended, with a reply or a failure. */
    function take(events: readonly StreamEvent[]): boolean {
      for (const event of events) {
        collector.push(event);
        if (event.type !== 'end' && event.type !== 'error') continue;
        const result = collector.result();
        if ('reply' in result) {
          source.release();
          resolve(result.reply);
        } else {
          source.abort();
          reject(new FailureError(result.failure));
        }
        return true;
      }
      return false;
    }

    source.read({
      frames(frames) {
        for (const frame of frames) {
          length += frame.bytes.length;
          if (take(decoder.push(frame))) return;
        }
        if (length <= limit) return;
        source.abort();
        reject(new FailureError(tooLarge(`is larger than ${plural(limit, 'byte')}`)));
      },
      end(clean) {
        if (!take(decoder.finish(clean))) reject(new FailureError(BROKEN_OFF));
      },
      fail: (failure) => reject(new FailureError(failure)),
    });
  });
}

export interface WholeReply {
  kind: 'whole';
  /** As it came. */
  body: Buffer | string;
  value: unknown;
  usage: Usage | undefined;
}

/** Throws FailureError for bytes that are no answer, or one of more than `maxValues` JSON values. */
export function readWholeReply(
  bytes: Buffer,
  { protocol, relayed }: BuiltRequest,
  maxValues: number,
): WholeReply {
  const ascii = isAscii(bytes);
  const text = bytes.toString(ascii ? 'latin1' : 'utf8');
  const failure = unparsable(bytes, maxValues, ascii ? text : undefined);
  if (failure !== undefined) throw new FailureError(failure);
  const value = parseReply(text);
  const inspected = relayed?.inspectReply(value);
  if (inspected?.value !== undefined) {
    return {
      kind: 'whole',
      body: JSON.stringify(inspected.value),
      value: inspected.value,
      usage: inspected.usage,
    };
  }
  const { usage } = inspected ?? protocol.relay.inspectReply(value);
  // A string is sent in one write with its head; bytes other than ASCII are forwarded unchanged.
  return { kind: 'whole', body: ascii ? text : bytes, value, usage };
}

function parseReply(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new FailureError(text === '' ? EMPTY_ANSWER : NOT_JSON);
  }
}

/** No shorter JSON has more than MAX_LEVELS levels: each takes two brackets. */
const SHORT = 2 * MAX_LEVELS;

/**
 * Why a provider's JSON must not be parsed; undefined: it may be. Bytes within their limit can hold millions of values or levels,
 * each of which takes a hundred times its bytes in memory. `ascii`: the bytes as text, if they are ASCII.
 */
function unparsable(bytes: Buffer, maxValues: number, ascii?: string): ProviderFailure | undefined {
  // Each value takes a character, and a separator after it.
  if (bytes.length <= SHORT && bytes.length <= 2 * maxValues) return undefined;
  const { tooDeep, values } = measureJson(bytes, MAX_LEVELS, ascii);
  if (tooDeep) return tooLarge(`is nested deeper than ${MAX_LEVELS} levels`);
  return values > maxValues ? tooLarge(`holds more than ${plural(maxValues, 'JSON value')}`) : undefined;
}

function tooLarge(how: string): ProviderFailure {
  return faulty('too_large', `the provider's answer ${how}`);
}
