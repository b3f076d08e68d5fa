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
  const lease = await leaseKey(
    store,
    { clock, ids: createIds(), stderr: { write: () => true } },
    'run claude',
  );
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

it('a key of `gateway run` has rows in the audit, when it is made and when it is revoked', async () => {
  const store = await openStore(`${temporaryDirectory()}/gateway.db`);
  onTestFinished(() => store.close());
  const context = { clock: manualClock(), ids: createIds(), stderr: { write: () => true } };
  const lease = await leaseKey(store, context, 'run claude');
  await lease.end();
  const id = (await store.findKey(hashKey(lease.plaintext)))?.id;
  const rows = (await store.listAudit(Number.MAX_SAFE_INTEGER, 9)).reverse();
  expect(rows.map(({ action, status, detail }) => [action, status, JSON.parse(detail) as unknown])).toEqual([
    ['createKey', 201, expect.objectContaining({ account: 'local', name: 'run claude' })],
    ['revokeKey', 200, { id }],
  ]);
  for (const { detail } of rows) expect(detail).not.toContain(lease.plaintext);
});
