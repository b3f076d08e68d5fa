// One request to a provider and its reply: undici's handler on one side, the body that the gateway reads on the other, time-outs and
// cancellation. It handles bytes, and knows no protocol.
import type { Dispatcher } from 'undici';
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import type { NetworkConfig } from '../config/config.ts';
import { FailureError, type ProviderFailure } from '../errors.ts';
import type { FramingName } from '../protocols/interface/protocol.ts';
import { connectionError, reusedConnectionClosed } from './connection.ts';
import { framings } from './framings.ts';
import { decodedBody, type BodyReader, type ReplyBody } from './reply-body.ts';
import { TurnShare } from './turn-share.ts';

/** Milliseconds. `firstByte` and `idle` hold for streams, `whole` for a reply that is not streamed. */
interface Timeouts {
  connect: number;
  firstByte: number;
  idle: number;
  whole: number;
}

export interface ProviderCall {
  url: string;
  method: 'POST' | 'GET' | 'DELETE';
  /** Flat: name, value, name, value. */
  headers: string[];
  body?: Buffer;
  stream: boolean;
  timeout: Timeouts;
  /** The provider's own proxy and certificates; undefined: the usual way. */
  network: NetworkConfig | undefined;
}

export interface ProviderReply {
  readonly status: number;
  readonly body: ReplyBody;
  /** `name` in lower case. */
  header(name: string): string | undefined;
  headers(): ReadonlyMap<string, string>;
}

const ABORTED: ProviderFailure = { kind: 'failed', message: 'the request was aborted', reason: 'aborted' };

/** The rest of a released reply that is read before its connection is closed. */
const RELEASE_BYTES = 64 * 1024;
const RELEASE_MS = 1000;

/** Chunks that are held for a reader that pauses; beyond, undici is paused. */
const HELD_BYTES = 64 * 1024;

/** A late whole reply is read for this time longer while its bytes arrive: this process may have been stopped. */
const LATE_READING_MS = 1000;

/** One request and its reply: undici's handler, and the body that the gateway reads. */
export class ProviderExchange implements Dispatcher.DispatchHandler, ProviderReply, ReplyBody {
  status = 0;

  readonly #timeout: Timeouts;
  readonly #stream: boolean;
  readonly #clock: Clock;
  readonly #cancellation: Cancellation;
  readonly #resolve: (reply: ProviderReply) => void;
  readonly #reject: (error: Error) => void;
  readonly #goOn = (): void => this.#giveHeld();
  readonly #onCancel = (): void => this.#break(this.#cancellation.reason ?? new Error('cancelled'), ABORTED);
  readonly #startedAt: number;
  /** undefined: a whole reply is only collected. */
  readonly #share: TurnShare | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #headers: RawHeaders = {};
  #body: ReplyBody = this;
  #cancelTimer: () => void = () => undefined;
  #reader: BodyReader | undefined;
  /** Chunks that arrived before the reader started, with the head, or while it pauses. undici is not paused for them: it would put what
   *  it has read back into the socket, which drops it if the connection breaks. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #giving = false;
  /** What the reader gets after the chunks that are held. */
  #heldBack: (() => void) | undefined;
  #lastByteAt = 0;
  /** Time of the last byte at the last check of the time-out. */
  #lateByteAt = 0;
  #lateUntil: number | undefined;
  #paused = false;
  #framed = false;
  #replied = false;
  #over = false;
  #released = -1;

  constructor(
    call: ProviderCall,
    clock: Clock,
    cancellation: Cancellation,
    resolve: (reply: ProviderReply) => void,
    reject: (error: Error) => void,
  ) {
    this.#timeout = call.timeout;
    this.#stream = call.stream;
    this.#clock = clock;
    this.#cancellation = cancellation;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#startedAt = clock.monotonic();
    this.#share = call.stream ? new TurnShare() : undefined;
    cancellation.subscribe(this.#onCancel);
    this.#arm(call.stream ? call.timeout.firstByte : call.timeout.whole);
  }

  // -- undici's side --

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('ended before it began'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: RawHeaders): void {
    if (status < 200) return;
    this.#replied = true;
    this.status = status;
    this.#headers = headers;
    this.#framed = headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
    const encoding = headers['content-encoding'];
    this.#body = encoding === undefined ? this : decodedBody(this, joined(encoding));
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    const first = this.#lastByteAt === 0;
    this.#lastByteAt = this.#clock.monotonic();
    // The timer still runs for the first byte, whose time-out may be much longer than the idle one.
    if (first && this.#stream && this.#timeout.idle < this.#timeout.firstByte) {
      this.#cancelTimer();
      this.#arm(this.#timeout.idle);
    }
    if (this.#released >= 0) {
      this.#released += chunk.length;
      if (this.#released > RELEASE_BYTES) controller.abort(new Error('more than is worth reading'));
      return;
    }
    if (this.#reader === undefined || this.#paused || this.#held.length > 0) this.#hold(chunk);
    else if (this.#share?.isLeft !== false) this.#give(chunk, this.#reader);
    else {
      this.#hold(chunk);
      this.#share?.wait(this.#goOn);
    }
  }

  onResponseEnd(): void {
    if (this.#over) return;
    const tell = (): void => {
      const quiet = this.#released >= 0;
      this.#finish();
      if (!quiet) this.#reader?.end(this.#framed);
    };
    this.#tellAfterHeld(tell);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return;
    const failure = connectionError(error, this.#replied);
    if (!this.#replied) {
      this.#finish();
      this.#reject(new ConnectionError(failure, error, this.#replied));
      return;
    }
    const tell = (): void => {
      const quiet = this.#released >= 0;
      this.#finish();
      if (!quiet) this.#reader?.fail(failure);
    };
    this.#tellAfterHeld(tell);
  }

  // -- the gateway's side --

  get body(): ReplyBody {
    return this.#body;
  }

  header(name: string): string | undefined {
    return joined(this.#headers[name]);
  }

  headers(): ReadonlyMap<string, string> {
    const map = new Map<string, string>();
    for (const [name, value] of Object.entries(this.#headers)) map.set(name, joined(value) ?? '');
    return map;
  }

  start(reader: BodyReader): void {
    this.#reader = reader;
    this.#giveHeld();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    // A client that read slowly is not a provider that was silent.
    this.#lastByteAt = this.#clock.monotonic();
    this.#giveHeld();
  }

  abort(): void {
    this.#heldBack = undefined;
    this.#stop(new Error('the gateway needs no more of the reply'));
  }

  release(): void {
    if (this.#over) return;
    this.#released = 0;
    this.#paused = false;
    this.#held = [];
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(RELEASE_MS, () => this.abort());
    if (this.#heldBack === undefined) this.#controller?.resume();
    else this.#heldBack();
  }

  // -- what waits for the reader --

  #hold(chunk: Buffer): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if ((this.#paused || this.#share?.waits === true) && this.#heldBytes >= HELD_BYTES)
      this.#controller?.pause();
  }

  #give(chunk: Buffer, reader: BodyReader): void {
    this.#share?.take(chunk.length);
    reader.chunk(chunk);
  }

  #tellAfterHeld(tell: () => void): void {
    const waits = this.#released < 0 && (this.#reader === undefined || this.#held.length > 0);
    if (waits) this.#heldBack = tell;
    else tell();
  }

  /** The reader may pause, resume, abort or release while it takes a chunk. */
  #giveHeld(): void {
    if (this.#giving || this.#paused || this.#reader === undefined) return;
    this.#giving = true;
    while (!this.#paused && !this.#over && this.#released < 0 && this.#share?.isLeft !== false) {
      const chunk = this.#held.shift();
      if (chunk === undefined) break;
      this.#heldBytes -= chunk.length;
      this.#give(chunk, this.#reader);
    }
    this.#giving = false;
    if (this.#paused || this.#released >= 0) return;
    if (this.#held.length > 0 && !this.#over) {
      this.#share?.wait(this.#goOn);
      return;
    }
    const tell = this.#heldBack;
    this.#heldBack = undefined;
    if (tell !== undefined) tell();
    else if (!this.#over) this.#controller?.resume();
  }

  // -- time --

  #arm(ms: number): void {
    this.#cancelTimer = this.#clock.after(Math.max(ms, 1), () => this.#expire());
  }

  /** One timer per request: it checks the time of the last byte and is not set again for each. */
  #expire(): void {
    const silent = this.#lastByteAt > 0;
    if (this.#stream && silent) {
      const since = this.#clock.monotonic() - this.#lastByteAt;
      const left = this.#paused ? this.#timeout.idle : this.#timeout.idle - since;
      if (left > 0) {
        this.#arm(left);
        return;
      }
    }
    if (!this.#stream && this.#isStillRead()) {
      this.#arm(1);
      return;
    }
    const phase = !this.#stream ? 'whole' : silent ? 'idle' : 'first_byte';
    const seconds = Math.round((this.#clock.monotonic() - this.#startedAt) / 100) / 10;
    const failure: ProviderFailure = {
      kind: 'timeout',
      message: `the provider did not ${silent ? 'go on' : 'answer'} in time (${seconds} s)`,
      reason: `${phase}_timeout`,
    };
    this.#break(new ConnectionError(failure, undefined, this.#replied), failure);
  }

  #isStillRead(): boolean {
    const now = this.#clock.monotonic();
    const seen = this.#lateByteAt;
    this.#lateByteAt = this.#lastByteAt;
    this.#lateUntil ??= now + LATE_READING_MS;
    const due = this.#startedAt + this.#timeout.whole;
    return this.#lastByteAt > Math.max(due, seen) && now < this.#lateUntil;
  }

  /** Ends the exchange with an error for the caller of `open`, or for the reader of the body. */
  #break(reason: Error, failure: ProviderFailure): void {
    if (this.#over) return;
    const quiet = this.#released >= 0;
    this.#stop(reason);
    if (!this.#replied) this.#reject(reason);
    else if (this.#reader === undefined) this.#heldBack = () => this.#reader?.fail(failure);
    else if (!quiet) this.#reader.fail(failure);
  }

  #stop(reason: Error): void {
    if (this.#over) return;
    this.#finish();
    this.#controller?.abort(reason);
  }

  #finish(): void {
    this.#over = true;
    this.#cancelTimer();
    this.#cancellation.unsubscribe(this.#onCancel);
  }
}

type RawHeaders = Record<string, string | string[] | undefined>;

function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

/** A connection that failed before or during its reply. `retry`: a reused connection closed before any byte of a reply. */
class ConnectionError extends FailureError {
  readonly retry: boolean;
  constructor(failure: ProviderFailure, cause: Error | undefined, replied: boolean) {
    super(failure);
    this.cause = cause;
    this.retry = !replied && reusedConnectionClosed(cause);
  }
}

/** The request may be sent once more. */
export function closedBeforeReply(error: unknown): boolean {
  return error instanceof ConnectionError && error.retry;
}

/** Some servers answer whole where a stream was asked for, or the other way round. */
export function isWholeReply(reply: ProviderReply, streamAsked: boolean, framing: FramingName): boolean {
  const type = reply.header('content-type') ?? '';
  if (framings[framing].isStream(type)) return false;
  return !streamAsked || type.includes('json');
}
