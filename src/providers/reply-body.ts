// The body of a provider's reply as its reader gets it: in chunks, and decoded if it was compressed; and a whole one in memory.
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import type { Transform } from 'node:stream';
import { FailureError, type ProviderFailure } from '../errors.ts';
import { plural } from '../plural.ts';

export interface BodyReader {
  chunk(bytes: Buffer): void;
  /** The body is over. `clean`: as HTTP says (its last chunk, or its length met); else it just stopped. */
  end(clean: boolean): void;
  fail(failure: ProviderFailure): void;
}

export interface ReplyBody {
  /** To be called once, in the same turn as `open` resolves: chunks that arrived with the head wait for it. */
  start(reader: BodyReader): void;
  pause(): void;
  resume(): void;
  /** Ends the exchange; the reader gets no more. */
  abort(): void;
  /** The reader needs no more: the rest is discarded, and the connection is used again if the end comes soon. */
  release(): void;
}

type CreateDecoder = (first: Buffer) => Transform;

const DECODERS: Record<string, CreateDecoder> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  br: () => createBrotliDecompress(),
  // With or without zlib's own header, whose first four bits are an 8.
  deflate: ([byte = 0]) => ((byte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
};

/**
 * The body decoded: some proxies and servers compress although no compression was asked for. The body itself if it has no encoding,
 * or one that is not known.
 */
export function decodedBody(body: ReplyBody, encoding: string | undefined): ReplyBody {
  if (encoding === undefined) return body;
  const create = DECODERS[encoding.trim().toLowerCase()];
  return create === undefined ? body : new DecodedBody(body, create);
}

class DecodedBody implements ReplyBody {
  readonly #body: ReplyBody;
  readonly #create: CreateDecoder;
  #decoder: Transform | undefined;
  #paused = false;
  #over = false;

  constructor(body: ReplyBody, create: CreateDecoder) {
    this.#body = body;
    this.#create = create;
  }

  start(reader: BodyReader): void {
    /** How the encoded body ended. */
    let clean = false;
    let broken: ProviderFailure | undefined;
    const end = (tell: () => void): void => {
      if (this.#over) return;
      this.#over = true;
      tell();
    };
    const open = (first: Buffer): Transform => {
      const decoder = this.#create(first);
      decoder.on('data', (bytes: Buffer) => {
        if (!this.#over) reader.chunk(bytes);
      });
      decoder.on('drain', () => {
        if (!this.#paused) this.#body.resume();
      });
      decoder.on('end', () => end(() => (broken === undefined ? reader.end(clean) : reader.fail(broken))));
      decoder.on('error', () => {
        this.#body.abort();
        end(() => reader.fail(broken ?? UNDECODABLE));
      });
      if (this.#paused) decoder.pause();
      return decoder;
    };
    this.#body.start({
      chunk: (bytes) => {
        this.#decoder ??= open(bytes);
        if (!this.#decoder.write(bytes)) this.#body.pause();
      },
      end: (isClean) => {
        clean = isClean;
        if (this.#decoder === undefined) end(() => reader.end(clean));
        else this.#decoder.end();
      },
      // Chunks that arrived are decoded and delivered first.
      fail: (failure) => {
        broken = failure;
        if (this.#decoder === undefined) end(() => reader.fail(failure));
        else this.#decoder.end();
      },
    });
  }

  pause(): void {
    this.#paused = true;
    this.#decoder?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#decoder?.resume();
    if (this.#decoder?.writableNeedDrain !== true) this.#body.resume();
  }

  abort(): void {
    this.#stop();
    this.#body.abort();
  }

  release(): void {
    this.#stop();
    this.#body.release();
  }

  #stop(): void {
    this.#over = true;
    this.#decoder?.destroy();
  }
}

const UNDECODABLE: ProviderFailure = {
  kind: 'failed',
  message: "the provider's answer could not be decoded as its content-encoding says",
  reason: 'encoding',
};

/**
 * Reads a whole reply of at most `limit` bytes; `tooLarge` is the message for a larger one. A body that breaks off is a FailureError,
 * thrown or rejected: it is never a short answer. A promise only if the body has not arrived as a whole: most small ones come with
 * their head.
 */
export function readBody(body: ReplyBody, limit: number, tooLarge?: string): Buffer | Promise<Buffer> {
  const whole = new WholeBody(body, limit, tooLarge);
  body.start(whole);
  return whole.result();
}

class WholeBody implements BodyReader {
  readonly #body: ReplyBody;
  readonly #limit: number;
  readonly #tooLarge: string | undefined;
  #chunks: Buffer[] = [];
  #length = 0;
  #bytes: Buffer | undefined;
  #error: FailureError | undefined;
  /** Of a promise that waits. */
  #resolve: ((bytes: Buffer) => void) | undefined;
  #reject: ((error: FailureError) => void) | undefined;

  constructor(body: ReplyBody, limit: number, tooLarge: string | undefined) {
    this.#body = body;
    this.#limit = limit;
    this.#tooLarge = tooLarge;
  }

  chunk(bytes: Buffer): void {
    this.#length += bytes.length;
    if (this.#length <= this.#limit) {
      this.#chunks.push(bytes);
      return;
    }
    this.#body.abort();
    const message = this.#tooLarge ?? `the provider's answer is larger than ${plural(this.#limit, 'byte')}`;
    this.fail({ kind: 'failed', message, reason: 'too_large' });
  }

  /** Without a declared end (as in HTTP/1.0), parsing the JSON shows whether it is complete. */
  end(): void {
    const chunks = this.#chunks;
    const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    this.#bytes = bytes;
    this.#resolve?.(bytes);
  }

  fail(failure: ProviderFailure): void {
    this.#error ??= new FailureError(failure);
    this.#reject?.(this.#error);
  }

  result(): Buffer | Promise<Buffer> {
    if (this.#error !== undefined) throw this.#error;
    if (this.#bytes !== undefined) return this.#bytes;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
}
