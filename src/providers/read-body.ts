// A provider's whole reply in memory, within a bound. A body that just stopped is a failure, never a short answer.
import { FailureError } from '../errors.ts';
import type { ReplyBody } from './exchange.ts';

export function readBody(body: ReplyBody, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    body.start({
      chunk(bytes) {
        length += bytes.length;
        if (length > limit) {
          body.abort();
          const message = `the provider's answer is larger than ${limit} bytes`;
          reject(new FailureError({ kind: 'failed', message, reason: 'too_large' }));
          return;
        }
        chunks.push(bytes);
      },
      // Without a declared end (HTTP/1.0 style) the JSON itself tells whether it is whole.
      end: () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
      fail: (failure) => reject(new FailureError(failure)),
    });
  });
}
