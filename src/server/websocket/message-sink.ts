// Writes the answer of one message of a WebSocket: each event of the stream is a message.
import type { Clock } from '../../clock.ts';
import type { GatewayError } from '../../errors.ts';
import type { Exchange, HeaderList, Sink } from '../../gateway/exchange.ts';
import { withoutKeys } from '../../ids.ts';
import type { ClientProtocol } from '../../protocols/interface/protocol.ts';
import type { SocketDialect } from '../../protocols/interface/socket.ts';
import type { StreamNotices } from '../../protocols/interface/stream.ts';
import { createSplitter, type Frame, type Splitter } from '../../protocols/sse/splitter.ts';
import { errorHeaders } from '../respond.ts';
import type { Outbox } from './outbox.ts';

const KEEP_ALIVE_MS = 10_000;

interface SinkOptions {
  outbox: Outbox;
  protocol: ClientProtocol;
  dialect: SocketDialect;
  /** The client's. */
  headers: Exchange['headers'];
  requestId: string;
  clock: Clock;
  /** The last message has left. */
  onDelivered: () => void;
}

export class MessageSink implements Sink {
  readonly #options: SinkOptions;
  readonly #splitter: Splitter = createSplitter({ maxFrame: Infinity });
  #notices: Required<StreamNotices> | undefined;
  #lastWriteAt = 0;
  #cancelKeepAlive: (() => void) | undefined;
  #ended = false;

  constructor(options: SinkOptions) {
    this.#options = options;
  }

  get opened(): boolean {
    return this.#notices !== undefined;
  }

  /** Every answer here is a stream: what is whole is one message. */
  send(_status: number, _headers: HeaderList, body: Buffer | string): void {
    this.#finish([body.toString()]);
  }

  open(head: HeaderList, notices: Required<StreamNotices>): void {
    const isFirst = this.#notices === undefined;
    this.#notices = notices;
    if (!isFirst) return;
    const { clock, dialect, headers, outbox } = this.#options;
    const message = dialect.head(head, headers);
    if (message !== undefined) outbox.send([message]);
    this.#lastWriteAt = clock.monotonic();
    this.#keepAlive(KEEP_ALIVE_MS);
  }

  write(bytes: Buffer | string): boolean {
    const { outbox, clock } = this.#options;
    if (this.#ended) return true;
    this.#lastWriteAt = clock.monotonic();
    outbox.send(this.#messages(bytes));
    return !outbox.busy;
  }

  onDrain(listener: () => void): void {
    this.#options.outbox.whenEmpty(listener);
  }

  end(last: Buffer | string = ''): void {
    if (this.#ended) return;
    const messages = this.#messages(last);
    this.#finish([...messages, ...this.#messagesOf(this.#splitter.finish())]);
  }

  /** The connection stays: its protocol ends each answer by an event. */
  breakOff(last: Buffer | string): void {
    this.end(last);
  }

  fail(error: GatewayError): void {
    if (this.#ended) return;
    const { dialect, protocol, requestId, clock } = this.#options;
    if (this.#notices !== undefined) return this.end(this.#notices.fail(error, requestId, clock.now()));
    const headers = ['x-request-id', requestId, ...errorHeaders(error, protocol, clock)];
    this.#finish([withoutKeys(dialect.encodeError(error, requestId, headers))]);
  }

  /** Nothing follows, also where nothing was written. */
  finish(): void {
    if (!this.#ended) this.#finish([]);
  }

  /** Of a connection that is closed. */
  abandon(): void {
    this.#ended = true;
    this.#cancelKeepAlive?.();
  }

  #finish(messages: readonly string[]): void {
    const { outbox, onDelivered } = this.#options;
    this.abandon();
    outbox.send(messages);
    outbox.whenEmpty(onDelivered);
  }

  #messages(bytes: Buffer | string): string[] {
    return this.#messagesOf(this.#splitter.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes));
  }

  #messagesOf(frames: readonly Frame[]): string[] {
    const { dialect } = this.#options;
    const messages: string[] = [];
    for (const frame of frames) {
      const message = dialect.event(frame);
      if (message !== undefined) messages.push(message);
    }
    return messages;
  }

  /** As in the stream of an answer over HTTP: clients end an answer after some minutes without an event. */
  #keepAlive(inMs: number): void {
    const { clock, outbox } = this.#options;
    this.#cancelKeepAlive = clock.after(inMs, () => {
      const silent = clock.monotonic() - this.#lastWriteAt;
      if (silent < KEEP_ALIVE_MS) return this.#keepAlive(KEEP_ALIVE_MS - silent);
      if (!outbox.busy) this.write(this.#notices?.keepAlive() ?? '');
      this.#keepAlive(KEEP_ALIVE_MS);
    });
  }
}
