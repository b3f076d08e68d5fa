// One streamed answer, translated: a provider's bytes in, a client's events out. Any cut of the bytes gives the same events.
import type { StreamEvent } from '../../canonical/reply.ts';
import type { EventRestorer } from '../../canonical/reverse-mapping.ts';
import type { ProviderFailure } from '../../errors.ts';
import type { ReplyContext } from '../interface/answer.ts';
import type { ClientSide } from '../interface/protocol.ts';
import type { StreamDecoder, StreamEncoder } from '../interface/stream.ts';
import { MAX_LEVELS } from '../json/raw-json.ts';
import { measureJson } from '../json/splice.ts';
import { gatewayErrorOf } from '../shared/client.ts';
import { createSplitter, FrameTooLarge, type Frame } from './splitter.ts';

interface Parts {
  client: ClientSide;
  decoder: StreamDecoder;
  restorer: EventRestorer;
  /** For a provider that names no model. */
  model: string;
  context: ReplyContext;
}

/** Bytes of an event. */
const MAX_FRAME = 64 * 1024 * 1024;
/** Bytes of an event that is safe to parse whatever it holds. */
const LARGE = 65_536;

export class StreamTranslator {
  readonly #parts: Parts;
  readonly #encoder: StreamEncoder;
  readonly #splitter = createSplitter({ maxFrame: MAX_FRAME });
  #ended = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#encoder = parts.client.createStreamEncoder(parts.context);
  }

  /** The events for the client that these bytes complete. */
  push(bytes: Uint8Array): string {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return this.#frames(() => this.#splitter.push(chunk));
  }

  /** The provider's body has ended: the last events. */
  end(): string {
    const last = this.#frames(() => this.#splitter.finish());
    return last + this.#events(this.#ended ? [] : this.#parts.decoder.finish(true));
  }

  #frames(read: () => readonly Frame[]): string {
    if (this.#ended) return '';
    let text = '';
    try {
      for (const frame of read()) {
        if (this.#ended) break;
        text += isTooDeep(frame) ? this.#failed(TOO_DEEP) : this.#events(this.#parts.decoder.push(frame));
      }
    } catch (error) {
      if (!(error instanceof FrameTooLarge)) throw error;
      text += this.#failed({ kind: 'failed', reason: 'too_large', message: error.message });
    }
    return text;
  }

  #events(events: readonly StreamEvent[]): string {
    let text = '';
    for (const event of events.flatMap((decoded) => this.#parts.restorer.push(decoded))) {
      if (this.#ended) break;
      if (event.type === 'error') return text + this.#failed(event.failure);
      if (event.type === 'start' && event.model === '') event.model = this.#parts.model;
      text += this.#encoder.push(event);
      this.#ended = event.type === 'end';
    }
    return text;
  }

  #failed(failure: ProviderFailure): string {
    this.#ended = true;
    const { client, context } = this.#parts;
    const [error, id, now] = [gatewayErrorOf(failure), `req_${context.ids.random(24)}`, context.now()];
    return this.#encoder.fail?.(error, id, now) ?? client.encodeStreamError(error, id, now);
  }
}

const TOO_DEEP: ProviderFailure = {
  kind: 'failed',
  message: `an event of the stream is nested deeper than ${MAX_LEVELS} levels`,
  reason: 'too_large',
};

function isTooDeep({ bytes, data }: Frame): boolean {
  return bytes.length > LARGE && measureJson(Buffer.from(data), MAX_LEVELS).tooDeep;
}
