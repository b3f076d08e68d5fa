// Reads what a provider says beside an answer: the error of a reply with another status than 200, and the headers that go back to the
// client.
import type { Clock } from '../../clock.ts';
import { FailureError } from '../../errors.ts';
import { withoutKeys } from '../../ids.ts';
import type { Protocol } from '../../protocols/interface/protocol.ts';
import type { ProviderReply } from '../../providers/exchange.ts';
import { readBody, type ReplyBody } from '../../providers/reply-body.ts';
import { failureOf } from './refused.ts';

/** Much longer than any error that a person reads. */
const MAX_ERROR_BODY = 64 * 1024;
/** An error is short: a provider that stops in the middle of it will not go on. */
const ERROR_BODY_MS = 5000;

/**
 * What a reply with another status than 200 means, and what it says of the request's form. A body that breaks or never ends does not hide the status. Rejects only if the
 * request was aborted.
 */
export async function readErrorReply(
  reply: ProviderReply,
  protocol: Protocol,
  clock: Clock,
): Promise<FailureError> {
  const { status } = reply;
  const text = await errorText(reply.body, clock);
  if (status < 300) {
    return new FailureError({
      kind: 'failed',
      message: `unexpected status ${status}`,
      status,
      reason: 'status',
    });
  }
  const failure = { ...protocol.provider.decodeError(status, reply.headers(), text), status };
  return failureOf(failure, text);
}

function errorText(body: ReplyBody, clock: Clock): Promise<string> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ERROR_BODY_MS, () => {
      body.abort();
      resolve('');
    });
    const read = async (): Promise<Buffer> => readBody(body, MAX_ERROR_BODY);
    read()
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

const NONE_RETURNED: readonly string[] = [];
/** Characters of a header that is returned to the client. */
const MOST_RETURNED = 8192;

/** The provider's headers with these names, for the client, as a flat list. */
export function returned(reply: ProviderReply, names: readonly string[]): readonly string[] {
  let list = NONE_RETURNED;
  for (const name of names) {
    const value = reply.header(name);
    if (value === undefined || value.length > MOST_RETURNED || !/^[\x21-\x7e][\x20-\x7e]*$/.test(value))
      continue;
    list = [...list, name, withoutKeys(value)];
  }
  return list;
}
