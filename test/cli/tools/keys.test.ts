import { expect, it, onTestFinished } from 'vitest';
import { leaseKey } from '../../../src/cli/tools/keys.ts';
import { createIds } from '../../../src/ids.ts';
import { openStore } from '../../../src/store/open.ts';
import { hashKey } from '../../../src/accounts/access.ts';
import { manualClock } from '../../helpers/clock.ts';
import { temporaryDirectory } from '../harness.ts';

const MINUTE = 60_000;

it('a key is extended while its process lives, also after the sleep of the machine, and revoked at the end', async () => {
  const store = await openStore(`${temporaryDirectory()}/gateway.db`);
  onTestFinished(() => store.close());
  const clock = manualClock();
  const lease = await leaseKey({ store, clock, ids: createIds() }, 'run claude');
  const find = async () => store.findKey(hashKey(lease.plaintext));
  const first = (await find())?.expiresAt ?? 0;
  expect(first - clock.now()).toBe(60 * MINUTE);
  clock.advance(29 * MINUTE);
  expect((await find())?.expiresAt).toBe(first);
  clock.advance(10 * 60 * MINUTE);
  const later = (await find())?.expiresAt ?? 0;
  expect(later - clock.now()).toBeGreaterThan(30 * MINUTE);
  await lease.end();
  clock.advance(60 * MINUTE);
  expect(await find()).toMatchObject({ revokedAt: expect.any(Number) as number, expiresAt: later });
});
