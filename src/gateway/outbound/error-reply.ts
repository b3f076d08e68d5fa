// A reply that is no answer: what its status and its body say. A body that breaks or never ends hides no status.
import { FailureError, type ProviderFailure } from '../../errors.ts';
import type { Clock } from '../../clock.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import type { ProviderReply, ReplyBody } from '../../providers/exchange.ts';
import { readBody } from '../../providers/read-body.ts';

/** Much longer than any error that a person reads. */
const MAX_ERROR_BODY = 64 * 1024;
/** An error that was begun is short: a provider that stops in the middle of it will not go on. */
const ERROR_BODY_MS = 5000;

/** Rejects only where the request was aborted. */
export async function readErrorReply(
  reply: ProviderReply,
  protocol: Protocol,
  clock: Clock,
): Promise<ProviderFailure> {
  const { status } = reply;
  const text = await errorText(reply.body, clock);
  if (status < 300) {
    return { kind: 'failed', message: `unexpected status ${status}`, status, reason: 'status' };
  }
  return { ...protocol.provider.decodeError(status, reply.headers(), text), status };
}

function errorText(body: ReplyBody, clock: Clock): Promise<string> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ERROR_BODY_MS, () => {
      body.abort();
      resolve('');
    });
    readBody(body, MAX_ERROR_BODY)
      .then(
        (bytes) => resolve(bytes.toString('utf8')),
        (error: Error) => {
          if (error instanceof FailureError && error.failure.reason !== 'aborted') resolve('');
          else reject(error);
        },
      )
      .finally(cancel);
  });
}
