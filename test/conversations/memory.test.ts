// What a gateway keeps of conversations in memory is bounded, however many there are.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createBeginnings } from '../../src/conversations/beginnings.ts';
import { createAffinity } from '../../src/routing/affinity.ts';
import { identity } from '../helpers/identity.ts';
import { target } from '../routing/fixtures.ts';

const MANY = 60_000;
/** Of text and tables for 10,000 conversations with 4 names each; all 60,000 would take four times as much. */
const MOST_BYTES = 24_000_000;

it('for 60,000 conversations of several agents and models', () => {
  const affinity = createAffinity();
  const beginnings = createBeginnings();
  const answered = target('p/m');
  const before = heapUsed();
  for (let number = 0; number < MANY; number += 1) {
    const who = identity(`conv_${String(number).padStart(16, '0')}`, { agent: `agent-${number}` });
    for (const model of ['a', 'b', 'c', 'd', 'e']) affinity.remember({ identity: who, model }, answered);
    beginnings.slotOf(`begun_${String(number).padStart(16, '0')}`, number);
  }
  expect(heapUsed() - before).toBeLessThan(MOST_BYTES);
  const first = identity(`conv_${'0'.padStart(16, '0')}`, { agent: 'agent-0' });
  expect(affinity.recall({ identity: first, model: 'a' })).toBeUndefined();
});

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
