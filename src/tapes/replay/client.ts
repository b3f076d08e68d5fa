// The client for providers that are tapes: answers calls to `TAPE_URL` from the tape's folder, and reaches nothing else.
import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import { FailureError, messageOf } from '../../errors.ts';
import type { ProtocolName } from '../../canonical/request.ts';
import type { Environment } from '../../environment.ts';
import { readTapeUrl } from '../../config/provider/tape.ts';
import type { ProviderCall, ProviderReply } from '../../providers/exchange.ts';
import { createShelf, kindOf, type Shelf } from '../match/shelf.ts';
import type { Asked } from '../match/meaning.ts';
import { readTape, type TapedAttempt } from '../read.ts';
import { secretsOfEnvironment } from '../redact/known.ts';
import { createRedactor, type Redactor } from '../redact/redactor.ts';
import { playedReply } from './answer.ts';
import { playedAnswer } from './played.ts';

export type OpenTape = (call: ProviderCall, cancellation: Cancellation) => Promise<ProviderReply>;

export function createTapeClient({ clock, env }: { clock: Clock; env: Environment }): OpenTape {
  const shelves = new Map<string, Shelf>();
  const redactor = createRedactor(secretsOfEnvironment(env));

  function shelfAt(folder: string): Shelf {
    let shelf = shelves.get(folder);
    if (shelf === undefined) shelves.set(folder, (shelf = createShelf(readTape(folder))));
    return shelf;
  }

  return async (call, cancellation) => {
    const { folder, protocol, pace } = readTapeUrl(call.url);
    try {
      const asked = askedIn(call, protocol, redactor);
      return answerFrom(findOn(shelfAt(folder), asked), asked, { pace, clock, cancellation });
    } catch (error) {
      if (error instanceof FailureError) throw error;
      throw new FailureError({ kind: 'off_tape', message: messageOf(error) });
    }
  };
}

/** The request as it would stand on a tape. */
export function askedIn({ url, body }: ProviderCall, protocol: ProtocolName, redactor: Redactor): Asked {
  return { protocol, kind: kindOf(protocol, url), body: redactor.text(body?.toString('utf8') ?? '') };
}

/** Throws FailureError `off_tape`. */
function findOn(shelf: Shelf, asked: Asked): TapedAttempt {
  const found = shelf.find(asked);
  if ('missing' in found) throw new FailureError({ kind: 'off_tape', message: found.missing });
  return found;
}

interface Playing {
  pace: boolean;
  clock: Clock;
  cancellation: Cancellation;
}

/** Throws FailureError if no answer was recorded. */
export function answerFrom(
  attempt: TapedAttempt,
  asked: Asked,
  { pace, clock, cancellation }: Playing,
): ProviderReply {
  return playedReply(playedAnswer(attempt, asked, pace), clock, cancellation);
}
