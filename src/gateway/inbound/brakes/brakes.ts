// The brakes of a request's conversation, before its admission: a call that repeats itself is found in the history that the request
// carries; what the database counts is handed to the admission. Without `brakes:` in the configuration nothing of it runs.
import { databaseAway } from '../../../accounts/access.ts';
import { stopped } from '../../../accounts/brakes.ts';
import type { Brakes } from '../../../config/config.ts';
import type { Identity } from '../../../conversations/identity.ts';
import type { Step } from '../../../protocols/interface/steps.ts';
import type { Braked } from '../../../store/holds/brakes.ts';
import type { GatewayDeps } from '../../exchange.ts';
import type { Inbound } from '../read-request.ts';
import { isBeginning, promptOf } from './prompt.ts';
import { runAtEnd } from './repeated-call.ts';

type BrakeDeps = Pick<GatewayDeps, 'store' | 'clock' | 'log'>;

/** Rejects with GatewayError `conversation_stopped`. Resolves to undefined where nothing has to be counted. `inbound`: with what was found of
 *  its references. */
export async function brakesOn(
  inbound: Inbound,
  { identity, accountId }: { identity: Identity; accountId: number },
  brakes: Brakes,
  deps: BrakeDeps,
): Promise<Braked | undefined> {
  const { conversation } = identity;
  if (conversation === null) return undefined;
  const steps = [...inbound.protocol.client.hints.steps(inbound.value)];
  const { conversation: most, repeatedCall, requestsAPrompt } = brakes;
  if (repeatedCall !== undefined)
    await checkRun(steps, { conversation, accountId, most: repeatedCall }, deps);
  const prompt = requestsAPrompt === undefined ? undefined : promptOf(steps, identity);
  if (most === undefined && prompt === undefined) return undefined;
  return {
    conversation,
    most,
    begins: identity.begun && isBeginning(steps),
    prompt: prompt && requestsAPrompt !== undefined ? { ...prompt, most: requestsAPrompt } : undefined,
  };
}

interface Watched extends Pick<Braked, 'conversation'> {
  accountId: number;
  most: number;
}

async function checkRun(
  steps: readonly Step[],
  { conversation, accountId, most }: Watched,
  { store, clock, log }: BrakeDeps,
): Promise<void> {
  const run = runAtEnd(steps, most);
  if (run === undefined) return;
  const { id, name, calls } = run;
  const forgiven = await store.forgivenCalls(conversation, id).catch((error: unknown) => {
    throw databaseAway(error);
  });
  if (calls - forgiven < most) return;
  const stop = { conversation, accountId, at: clock.now(), run: { id, calls } };
  throw await stopped(store, log, stop, { brake: 'repeated_call', calls, most, name });
}
