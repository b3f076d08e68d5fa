// What `/health` says of the database, and how soon. Its time is moved by hand.
import { expect, it } from 'vitest';
import { createDatabaseHealth } from '../../src/gateway/database-health.ts';
import { StoreError } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';

function setUp() {
  const clock = manualClock();
  const pings: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const store = {
    ping: () => new Promise<void>((resolve, reject) => pings.push({ resolve, reject })),
  };
  const health = createDatabaseHealth({ store, clock, log: { error: () => undefined } });
  /** Asked now; the answer comes within this time. */
  const within = async (ms: number): Promise<string> => {
    const answer = health.check();
    await settled();
    clock.advance(ms);
    return Promise.race([answer, settled().then(() => 'no answer')]);
  };
  return { clock, pings, health, within };
}

/** Lets promises run on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('P31: /health answers while the database stalls: slow at first, away once requests are refused, and asks it once', async () => {
  const { clock, pings, within } = setUp();
  expect(await within(300)).toBe('slow');
  clock.advance(1000);
  expect(await within(300)).toBe('slow');
  clock.advance(400);
  expect(await within(300)).toBe('away');
  expect(pings).toHaveLength(1);
  // It answers again.
  pings[0]?.resolve();
  await settled();
  const well = within(0);
  await settled();
  pings[1]?.resolve();
  expect(await well).toBe('ok');
});

it.each([
  ['a lock of another program', new StoreError('busy', 'locked'), 'ok'],
  ['a lost database', new StoreError('unavailable', 'gone'), 'away'],
  ['any other failure', new Error('a fault'), 'away'],
])('%s is said at once', async (_, error, state) => {
  const { pings, health } = setUp();
  const answer = health.check();
  await settled();
  pings[0]?.reject(error);
  expect(await answer).toBe(state);
});
