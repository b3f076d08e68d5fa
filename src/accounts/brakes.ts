// The error of a request in a conversation that a brake stopped: which brake, what it counted, and how a person lets it go on.
import { GatewayError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { plural } from '../plural.ts';
import type { BrakeRefusal, BrakeStore, Stop } from '../store/holds/brakes.ts';
import { amountText } from '../tier.ts';

/** Characters of a tool's name in the sentence. */
const MOST_OF_NAME = 100;

function counted(refusal: BrakeRefusal): string {
  switch (refusal.brake) {
    case 'conversation': {
      const { spent, held, most } = refusal;
      const holding = held === 0 ? '' : `, and requests under way hold ${amountText('cost', held)} USD`;
      return `it has spent ${amountText('cost', spent)} of ${amountText('cost', most)} USD${holding}`;
    }
    case 'repeated_call': {
      const name = JSON.stringify(refusal.name.slice(0, MOST_OF_NAME));
      return `the tool ${name} was called ${refusal.calls} times in a row with the same arguments and the same result`;
    }
    case 'requests_a_prompt':
      return `one prompt has taken ${plural(refusal.requests, 'request')}, and ${refusal.most} is the most`;
  }
}

/** Notes the stop, for `gateway conversations`. Resolves to the error for the client, also where the database is away. */
export async function stopped(
  store: Pick<BrakeStore, 'noteStop'>,
  log: Pick<Logger, 'warn'>,
  stop: Omit<Stop, 'brake'>,
  refusal: BrakeRefusal,
): Promise<GatewayError> {
  const { conversation } = stop;
  try {
    await store.noteStop({ ...stop, brake: refusal.brake });
  } catch (error) {
    log.warn('the stop of a conversation could not be noted', { conversation, reason: String(error) });
  }
  const message =
    `the brake ${refusal.brake} stopped this conversation: ${counted(refusal)}; ` +
    `to let it go on, on the gateway's machine: gateway conversations continue ${conversation}`;
  return new GatewayError('conversation_stopped', message);
}
