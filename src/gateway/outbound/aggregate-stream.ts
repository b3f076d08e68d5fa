// A stream where a whole answer was asked for: some servers know nothing else. It is read to its end and put together.
import { createCollector } from '../../canonical/collect.ts';
import { FailureError } from '../../errors.ts';
import type { StreamEvent } from '../../canonical/events.ts';
import type { Reply } from '../../canonical/reply.ts';
import type { Ids } from '../../ids.ts';
import type { FrameSource } from './provider-frames.ts';
import type { BuiltRequest } from './build-request.ts';
import { TRUNCATED } from '../reply/pump.ts';

/** Rejects with FailureError where the stream fails, breaks off or grows beyond `limit` bytes. */
export function aggregateStream(
  source: FrameSource,
  prepared: BuiltRequest,
  ids: Ids,
  limit: number,
): Promise<Reply> {
  const decoder = prepared.protocol.provider.createStreamDecoder({ ids, traits: prepared.target.traits });
  const collector = createCollector();
  let length = 0;
  return new Promise((resolve, reject) => {
    /** Whether the answer is complete, one way or the other. */
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
        const message = `the provider's answer is larger than ${limit} bytes`;
        reject(new FailureError({ kind: 'failed', message, reason: 'too_large' }));
      },
      end(clean) {
        if (!take(decoder.finish(clean))) reject(new FailureError(TRUNCATED));
      },
      fail: (failure) => reject(new FailureError(failure)),
    });
  });
}
