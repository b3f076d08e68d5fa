// The answer to a request of the owner's page as events of one form, whatever protocol the gateway answered in: `head`, `text`, `thinking`,
// `error`, `end`.
import type { StreamEvent } from '../../../canonical/reply.ts';
import type { HeaderList, Sink } from '../../../gateway/exchange.ts';
import { withoutKeys } from '../../../ids.ts';
import type { StreamDecoder } from '../../../protocols/interface/stream.ts';
import { createSplitter, type Frame } from '../../../protocols/sse/splitter.ts';
import { safeHeaders } from '../../reply.ts';

/** Bytes of one event of the answer. */
const MOST_FRAME = 16 * 1024 * 1024;

const eventOf = (name: string, value: object): string =>
  `event: ${name}\ndata: ${withoutKeys(JSON.stringify(value))}\n\n`;

export class AnswerEvents implements Sink {
  readonly #inner: Sink;
  readonly #decoder: StreamDecoder;
  readonly #splitter = createSplitter({ maxFrame: MOST_FRAME });
  #isOver = false;

  constructor(inner: Sink, decoder: StreamDecoder) {
    this.#inner = inner;
    this.#decoder = decoder;
  }

  get opened(): boolean {
    return this.#inner.opened;
  }

  /** The request asks for a stream, so this is the answer of a provider that gave none. */
  send(_status: number, headers: HeaderList, body: Buffer | string): void {
    this.open(headers);
    this.#inner.write(eventOf('text', { text: body.toString() }));
  }

  /** Opened before a target answers, a stream gets its own headers later. */
  open(headers: HeaderList): void {
    this.#inner.open(['content-type', 'text/event-stream; charset=utf-8', ...safeHeaders()], {
      keepAlive: () => ': keep-alive\n\n',
      fail: () => '',
    });
    this.#inner.write(eventOf('head', { headers: shown(headers) }));
  }

  write(bytes: Buffer | string): boolean {
    const text = this.#translated(
      this.#splitter.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes),
    );
    return text === '' || this.#inner.write(text);
  }

  onDrain(listener: () => void): void {
    this.#inner.onDrain(listener);
  }

  /** The page's own stream goes on: what the request cost follows. */
  end(last: Buffer | string = ''): void {
    if (this.#isOver) return;
    this.write(last);
    const rest = this.#translated(this.#splitter.finish());
    if (rest !== '') this.#inner.write(rest);
    this.#isOver = true;
  }

  breakOff(last: Buffer | string): void {
    this.end(last);
  }

  /** After the request is over. */
  finish(events: readonly (readonly [name: string, value: object])[]): void {
    this.#inner.end(events.map(([name, value]) => eventOf(name, value)).join(''));
  }

  #translated(frames: readonly Frame[]): string {
    if (this.#isOver) return '';
    return frames.flatMap((frame) => this.#decoder.push(frame).map(translated)).join('');
  }
}

function translated(event: StreamEvent): string {
  switch (event.type) {
    case 'text_delta':
      return eventOf('text', { text: event.text });
    case 'reasoning_delta':
      return eventOf('thinking', { text: event.text });
    case 'error':
      return eventOf('error', { code: event.failure.kind, message: event.failure.message });
    case 'end':
      return eventOf('stop', { reason: event.stop.reason });
    default:
      return '';
  }
}

/** Those of the gateway and of limits, each as name and value. */
function shown(headers: HeaderList): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (name.startsWith('x-') || name.includes('ratelimit')) pairs.push([name, value]);
  }
  return pairs;
}
