// Operations for what happens now: what needs a person, and how the last seconds were.
import { z } from 'zod';
import { isoTime } from '../../../clock.ts';
import { StoreError } from '../../../store/store.ts';
import { operation, type AdminParts, type Operation } from '../../operation.ts';
import { page } from '../../schemas.ts';
import { ownStates, statesOf } from '../gateway.ts';
import { Attention, Sample } from './schemas.ts';

export const nowOperations: readonly Operation[] = [
  operation({
    id: 'readAttention',
    method: 'GET',
    path: '/attention',
    tag: 'gateway',
    summary: 'What needs a person: a database that is away, targets that are avoided, providers left out',
    reply: Attention,
    async run(_, parts) {
      const { leftOut, warnings } = parts.current.config;
      const [database, targets] = await Promise.all([parts.database.check(), avoidedTargets(parts)]);
      return {
        database,
        targets,
        left_out: leftOut.map(({ provider, why }) => ({ provider, why })),
        warnings,
      };
    },
  }),
  operation({
    id: 'listSamples',
    method: 'GET',
    path: '/samples',
    tag: 'gateway',
    summary: 'The last two minutes, a sample a second, the oldest first',
    query: z.strictObject({}),
    reply: page(Sample),
    async run(_, { live }) {
      const { samples } = await live.moment();
      return { data: samples.map((sample) => ({ ...sample, at: isoTime(1000 * sample.at) })), next: null };
    },
  }),
];

/** Also those that another gateway on the database avoids; where it is away, those of this one. */
async function avoidedTargets(parts: AdminParts) {
  const states = await statesOf(parts).catch((error: unknown) => {
    if (error instanceof StoreError) return ownStates(parts);
    throw error;
  });
  return [...states.values()].map(({ target, state, until }) => {
    const slash = target.indexOf('/');
    const [provider, model] = [target.slice(0, slash), target.slice(slash + 1)];
    return { provider, model, state, until: isoTime(until) };
  });
}
