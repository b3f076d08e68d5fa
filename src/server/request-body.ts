// Reads the body of a client's request: its type, its encoding, and its size are checked.
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Cancellation } from '../cancellation.ts';
import { GatewayError } from '../errors.ts';
import { plural } from '../plural.ts';

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

function tooLarge(limit: number): GatewayError {
  return new GatewayError('too_large', `the body is larger than ${plural(limit, 'byte')} (limits.max_body)`);
}

/**
 * Reads a request's body into memory: decompressed, and never more bytes than the limit allows. Throws or rejects with GatewayError 413
 * or 400; rejects with the cancellation's reason if the client left.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  cancellation: Cancellation,
  as: 'json' | 'form' | 'any' = 'json',
): Buffer | Promise<Buffer> {
  const { headers } = request;
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const type = headers['content-type'];
  if (as === 'form') checkForm(type);
  else if (as === 'json' && type !== 'application/json') checkType(type);
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') {
    return request.complete && cancellation.reason === undefined
      ? arrived(request, limit)
      : gather(request, request, limit, cancellation);
  }
  const decoder = DECODERS.get(encoding)?.();
  if (decoder === undefined) {
    throw new GatewayError(
      'invalid_request',
      `content-encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported; send gzip, br, deflate or none`,
    );
  }
  request.pipe(decoder);
  return gather(decoder, request, limit, cancellation);
}

/** Another type than JSON is an error; no type at all is taken as JSON. */
function checkType(type: string | undefined): void {
  if (type === undefined || type.trim() === '') return;
  const essence = (type.split(';')[0] ?? '').trim().toLowerCase();
  if (essence === 'application/json' || /^application\/[\w.-]+\+json$/.test(essence)) return;
  throw new GatewayError(
    'invalid_request',
    `content-type must be application/json, not ${JSON.stringify(essence.slice(0, 80))}`,
  );
}

const FORM = 'application/x-www-form-urlencoded';

/** A client without parameters may send no type. */
function checkForm(type: string | undefined): void {
  const essence = (type?.split(';')[0] ?? '').trim().toLowerCase();
  if (essence !== '' && essence !== FORM)
    throw new GatewayError('invalid_request', `content-type must be ${FORM}`);
}

/** A small body arrives with its head: reading it at once costs less than waiting for its events. */
function arrived(request: IncomingMessage, limit: number): Buffer {
  // Since Node 26, `read()` without a size gives one chunk of what is buffered.
  const body = (request.read(request.readableLength) as Buffer | null) ?? Buffer.alloc(0);
  // Only now the request ends.
  request.read(0);
  if (body.length > limit) throw tooLarge(limit);
  return body;
}

/** Does not remove its listeners, since that costs more than all the rest. */
function gather(
  source: IncomingMessage | Transform,
  request: IncomingMessage,
  limit: number,
  cancellation: Cancellation,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    // The listeners stay as long as the request, and would keep a promise's value as long.
    let waiting: { resolve: typeof resolve; reject: typeof reject } | undefined = { resolve, reject };
    function settle(): typeof waiting {
      const settled = waiting;
      waiting = undefined;
      chunks = [];
      cancellation.unsubscribe(onCancel);
      return settled;
    }
    /** Discards the rest of the body, so that the client can read the answer, and ignores its errors. */
    function fail(error: Error): void {
      const settled = settle();
      if (settled === undefined) return;
      if (source !== request) {
        request.unpipe();
        source.destroy();
      }
      request.resume();
      settled.reject(error);
    }
    function onCancel(): void {
      fail(cancellation.reason ?? new Error('cancelled'));
    }
    if (cancellation.reason !== undefined) return onCancel();
    cancellation.subscribe(onCancel);
    source.on('data', (chunk: Buffer) => {
      if (waiting === undefined) return;
      length += chunk.length;
      if (length > limit) fail(tooLarge(limit));
      else chunks.push(chunk);
    });
    source.on('end', () => {
      if (waiting === undefined) return;
      const [only] = chunks;
      const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
      settle()?.resolve(body);
    });
    source.on('error', () => {
      const message = 'the body could not be decoded as its content-encoding says';
      fail(cancellation.reason ?? new GatewayError('invalid_request', message));
    });
  });
}
