// A batch of usage rows whose reply was lost is written again as it was, so that the store can tell that it has it.
import { expect, it } from 'vitest';
import type { FinishedTrace } from '../../src/gateway/trace.ts';
import { silentLog } from '../../src/log.ts';
import { createUsageRecorder } from '../../src/observe/records.ts';
import type { UsageSpool } from '../../src/store/usage-spool.ts';
import type { Batch, Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { identity } from '../helpers/identity.ts';

const TRACE = {
  failures: [],
  passedOver: [],
  key: {},
  outcome: { status: 200, error: null },
  modelAsked: 'm',
  identity: identity(),
} as unknown as FinishedTrace;

const NO_SPOOL: UsageSpool = {
  save: () => Promise.resolve(0),
  drain: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

it('is repeated with its number; newer rows follow with the next', async () => {
  const batches: [rows: number, batch: Batch | undefined][] = [];
  let failing = true;
  const store: Pick<Store, 'recordUsage' | 'idle'> = {
    recordUsage(rows, batch) {
      batches.push([rows.length, batch]);
      return failing ? Promise.reject(new Error('the reply was lost')) : Promise.resolve();
    },
    idle: () => Promise.resolve(),
  };
  const clock = manualClock();
  const recorder = createUsageRecorder({ store, spool: NO_SPOOL, clock, log: silentLog });
  recorder.finished(TRACE);
  recorder.finished(TRACE);
  clock.advance(100);
  await expect.poll(() => batches.length).toBe(1);
  recorder.finished(TRACE);
  failing = false;
  expect(await recorder.flush()).toBe(0);
  const writer = batches[0]?.[1]?.writer;
  expect(batches).toEqual([
    [2, { writer, number: 1 }],
    [2, { writer, number: 1 }],
    [1, { writer, number: 2 }],
  ]);
});

it('holds at most 1,000 rows: a long outage is not written as one transaction', async () => {
  const written: number[] = [];
  let failing = true;
  const store: Pick<Store, 'recordUsage' | 'idle'> = {
    recordUsage(rows) {
      if (failing) return Promise.reject(new Error('away'));
      written.push(rows.length);
      return Promise.resolve();
    },
    idle: () => Promise.resolve(),
  };
  const clock = manualClock();
  const recorder = createUsageRecorder({ store, spool: NO_SPOOL, clock, log: silentLog });
  for (let at = 0; at < 2500; at += 1) recorder.finished(TRACE);
  clock.advance(100);
  await Promise.resolve();
  failing = false;
  expect(await recorder.flush()).toBe(0);
  expect(written).toEqual([1000, 1000, 500]);
});
