// Refused requests on their way to the store: like ones of a minute are one row, and a flood of them makes few rows and few writes.
import { expect, it } from 'vitest';
import type { RefusedRequest } from '../../src/accounts/request-json.ts';
import type { Asked } from '../../src/errors.ts';
import { silentLog } from '../../src/log.ts';
import { createRefusalRecorder } from '../../src/observe/refusals.ts';
import type { RefusalRow } from '../../src/store/holds/refusals.ts';
import { manualClock } from '../helpers/clock.ts';

const MINUTE = 60_000;

const refused = (change: Partial<RefusedRequest> = {}, asked: Partial<Asked> = {}): RefusedRequest => ({
  ...{ at: 10 * MINUTE, requestId: 'req_1', account: 'alice', path: '/v1/chat/completions', status: 429 },
  ...{ kind: 'rate_limited', message: 'used up' },
  asked: {
    ...{ accountId: 1, keyId: 'key_one', endpoint: 'chat', model: 'auto', conversation: null, label: null },
    ...{ client: null, ...asked },
  },
  ...change,
});

function started(away = () => false) {
  const stored = new Map<string, RefusalRow>();
  let writes = 0;
  let most = 0;
  const clock = manualClock();
  const recorder = createRefusalRecorder({
    store: {
      recordRefusals(rows) {
        if (away()) return Promise.reject(new Error('away'));
        writes += 1;
        most = Math.max(most, rows.length);
        for (const row of rows) stored.set(row.requestId, { ...row });
        return Promise.resolve();
      },
    },
    clock,
    log: silentLog,
  });
  return { clock, recorder, stored, counts: () => ({ writes, most }) };
}

it('makes one row of like requests of a minute, with their number', async () => {
  const { clock, recorder, stored } = started();
  recorder.wasRefused(refused());
  clock.advance(100);
  await expect.poll(() => stored.get('req_1')?.times).toBe(1);
  for (let n = 2; n <= 5000; n += 1) recorder.wasRefused(refused({ requestId: `req_${n}` }));
  recorder.wasRefused(refused({ requestId: 'req_b' }, { model: 'other' }));
  recorder.wasRefused(refused({ requestId: 'req_c', at: 11 * MINUTE }));
  await recorder.flush();
  expect([...stored].map(([id, { times }]) => [id, times])).toEqual([
    ['req_1', 5000],
    ['req_b', 1],
    ['req_c', 1],
  ]);
});

it('keeps no request of an unknown account', async () => {
  const { recorder, stored } = started();
  recorder.wasRefused(refused({ asked: undefined }));
  await recorder.flush();
  expect(stored.size).toBe(0);
});

it('keeps few rows of a client that names another model each time, and counts all of them', async () => {
  const { recorder, stored } = started();
  for (let n = 0; n < 3000; n += 1)
    recorder.wasRefused(refused({ requestId: `req_${n}` }, { model: `m${n}` }));
  for (let n = 0; n < 3000; n += 1)
    recorder.wasRefused(refused({ requestId: `f_${n}`, kind: 'forbidden_model' }, { model: `m${n}` }));
  await recorder.flush();
  expect(stored.size).toBe(22);
  expect([...stored.values()].reduce((sum, { times }) => sum + times, 0)).toBe(6000);
  expect(stored.get('req_20')).toMatchObject({ times: 2980, modelAsked: null });
});

it('keeps a bounded number of rows of a minute, and writes them in small batches', async () => {
  const { clock, recorder, stored, counts } = started();
  for (let n = 0; n < 5000; n += 1)
    recorder.wasRefused(refused({ requestId: `req_${n}` }, { accountId: n % 1000, model: `m${n}` }));
  clock.advance(100);
  await recorder.flush();
  expect(stored.size).toBe(500);
  expect(counts().most).toBeLessThanOrEqual(100);
});

it('waits with a bounded number of rows while the database is away', async () => {
  let isAway = true;
  const { clock, recorder, stored } = started(() => isAway);
  for (let minute = 0; minute < 30; minute += 1) {
    for (let n = 0; n < 400; n += 1) {
      const asked = { accountId: n, model: 'm' };
      recorder.wasRefused(refused({ requestId: `${minute}_${n}`, at: minute * MINUTE }, asked));
    }
    clock.advance(1000);
    await new Promise(setImmediate);
  }
  isAway = false;
  await recorder.flush();
  expect(stored.size).toBeLessThanOrEqual(2500);
  expect(stored.size).toBeGreaterThan(1500);
  expect(stored.has('29_399')).toBe(true);
});

it('cuts what a client or a provider chose', async () => {
  const { recorder, stored } = started();
  recorder.wasRefused(refused({ message: 'x'.repeat(5000) }, { model: 'm'.repeat(5000) }));
  await recorder.flush();
  expect(stored.get('req_1')?.message).toHaveLength(500);
  expect(stored.get('req_1')?.modelAsked).toHaveLength(256);
});
