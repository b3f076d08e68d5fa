import { expect, it } from 'vitest';
import type { DatabaseHealth } from '../../../src/gateway/database-health.ts';
import type { Notice } from '../../../src/observe/notices/notice.ts';
import { createDatabaseNotices, createTargetNotices } from '../../../src/observe/notices/outages.ts';
import { createHealth } from '../../../src/routing/state/health.ts';
import { manualClock } from '../../helpers/clock.ts';

function targetPlace() {
  const clock = manualClock();
  const notices: Notice[] = [];
  const health = createHealth(clock);
  const look = createTargetNotices({ health, clock, emit: (notice) => void notices.push(notice) });
  const seconds = (count: number, each = (): void => undefined): void => {
    for (let index = 0; index < count; index += 1) {
      clock.advance(1000);
      each();
      look();
    }
  };
  const fail = (): void =>
    health.begin('p/a/b', true)?.failed({ kind: 'failed', message: 'no', reason: undefined });
  return { clock, notices, health, seconds, fail };
}

it('a target that fails for over a minute is a notice once, until it was well again', () => {
  const { clock, notices, health, seconds, fail } = targetPlace();
  for (let index = 0; index < 3; index += 1) fail();
  seconds(61);
  expect(notices).toEqual([]);
  seconds(1);
  const at = new Date(clock.now()).toISOString();
  const until = new Date(clock.now() + 60_000).toISOString();
  const notice = { event: 'target', provider: 'p', model: 'a/b', until, reason: 'its requests fail', at };
  expect(notices).toEqual([notice]);
  seconds(600, fail);
  expect(notices).toHaveLength(1);
  health.begin('p/a/b', true)?.succeeded(1);
  seconds(10);
  for (let index = 0; index < 3; index += 1) fail();
  seconds(62);
  expect(notices).toHaveLength(2);
});

it('a target that asks for a long wait is one, and one that is tried in vain after each short wait', () => {
  const { notices, health, seconds } = targetPlace();
  const limit = (retryAfterMs?: number) => () =>
    health
      .begin('p/a/b', true)
      ?.failed({ kind: 'rate_limited', message: 'no', reason: undefined, retryAfterMs });
  limit(120_000)();
  seconds(62);
  expect(notices).toMatchObject([{ event: 'target', reason: 'it is rate limited or overloaded' }]);
  const other = targetPlace();
  other.seconds(62, () => {
    if (other.health.state('p/a/b').coolingMs > 0) return;
    other.health.begin('p/a/b', true)?.failed({ kind: 'rate_limited', message: 'no', reason: undefined });
  });
  expect(other.notices).toHaveLength(1);
});

it('one short wait now and then is none', () => {
  const { notices, health, seconds } = targetPlace();
  let second = 0;
  seconds(600, () => {
    second += 1;
    if (second % 20 === 0)
      health
        .begin('p/a/b', true)
        ?.failed({ kind: 'rate_limited', message: 'no', reason: undefined, retryAfterMs: 2000 });
  });
  expect(notices).toEqual([]);
});

it('a database that is away is a notice once, until it was there again', async () => {
  const clock = manualClock();
  const notices: Notice[] = [];
  let state: Awaited<ReturnType<DatabaseHealth['check']>> = 'ok';
  const database = { check: () => Promise.resolve(state) };
  const look = createDatabaseNotices({ database, clock, emit: (notice) => void notices.push(notice) });
  for (const next of [
    'ok',
    'slow',
    'away',
    'ok',
    'away',
    'slow',
    'away',
    'away',
    'ok',
    'away',
    'away',
  ] as const) {
    state = next;
    await look();
  }
  const notice = { event: 'database', at: new Date(clock.now()).toISOString() };
  expect(notices).toEqual([notice, notice]);
});
