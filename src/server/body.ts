// A request's body in memory: decompressed, within the limit, never more of it held than the limit allows.
import type { IncomingMessage } from 'node:http';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Transform } from 'node:stream';
import { GatewayError } from '../errors.ts';

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

function tooLarge(limit: number): GatewayError {
  return new GatewayError('too_large', `the body is larger than ${limit} bytes (limits.max_body)`);
}

/** Rejects with GatewayError 413 or 400; with the signal's reason where the client left. */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  checkType(request.headers['content-type']);
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return gather(request, request, limit, signal);
  const decoder = DECODERS.get(encoding)?.();
  if (decoder === undefined) {
    throw new GatewayError(
      'invalid_request',
      `content-encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported; send gzip, br, deflate or none`,
    );
  }
  request.pipe(decoder);
  return gather(decoder, request, limit, signal);
}

/** Another type than JSON is a mistake worth telling; no type at all is taken as JSON. */
function checkType(type: string | undefined): void {
  if (type === undefined || type.trim() === '') return;
  const essence = (type.split(';')[0] ?? '').trim().toLowerCase();
  if (essence === 'application/json' || /^application\/[\w.-]+\+json$/.test(essence)) return;
  throw new GatewayError(
    'invalid_request',
    `content-type must be application/json, not ${JSON.stringify(essence.slice(0, 80))}`,
  );
}

function gather(
  source: IncomingMessage | Transform,
  request: IncomingMessage,
  limit: number,
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (finish: () => void): void => {
      source.off('data', onData).off('end', onEnd).off('error', onError);
      // What still comes is thrown away, so that the answer can be read; errors of it mean nothing any more.
      source.on('error', () => undefined);
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const fail = (error: Error): void => {
      settle(() => {
        if (source !== request) {
          request.unpipe();
          source.destroy();
        }
        request.resume();
        reject(error);
      });
    };
    function onData(chunk: Buffer): void {
      length += chunk.length;
      if (length > limit) fail(tooLarge(limit));
      else chunks.push(chunk);
    }
    function onEnd(): void {
      settle(() =>
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)),
      );
    }
    function onError(): void {
      if (signal.aborted) fail(signal.reason as Error);
      else
        fail(
          new GatewayError('invalid_request', 'the body could not be decoded as its content-encoding says'),
        );
    }
    function onAbort(): void {
      fail(signal.reason as Error);
    }
    if (signal.aborted) return fail(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    source.on('data', onData).on('end', onEnd).on('error', onError);
  });
}
