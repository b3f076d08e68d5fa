import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { FailureKind, ProviderFailure } from '../../src/errors.ts';
import { FAILURES } from '../../src/failures.ts';
import { coolDown, createHealth } from '../../src/routing/state/health.ts';
import type { HealthTicket, Health } from '../../src/routing/state/health.ts';
import { fakeClock } from './fixtures.ts';
import type { FakeClock } from './fixtures.ts';

const KEY = 'alpha/big';

function setUp(): { clock: FakeClock; health: Health } {
  const clock = fakeClock();
  return { clock, health: createHealth(clock) };
}

const failure = (kind: FailureKind, retryAfterMs?: number): ProviderFailure => ({
  kind,
  message: '',
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});

function begin(health: Health, lone = false): HealthTicket {
  const attempt = health.begin(KEY, lone);
  if (attempt === undefined) throw new Error('the contact was refused');
  return attempt;
}

function fail(health: Health, kind: FailureKind = 'failed', times = 1, retryAfterMs?: number): void {
  for (let index = 0; index < times; index++) begin(health).failed(failure(kind, retryAfterMs));
}

describe('cooling', () => {
  it('takes the wait that the provider asks for', () => {
    const { clock, health } = setUp();
    fail(health, 'rate_limited', 1, 7000);
    expect(health.state(KEY).coolingMs).toBe(7000);
    clock.pass(6999);
    expect(health.state(KEY).coolingMs).toBe(1);
    clock.pass(1);
    expect(health.state(KEY).coolingMs).toBe(0);
  });

  it('is 1 s at first and doubles to 30 s where the provider asks for no wait', () => {
    const { clock, health } = setUp();
    const waits = Array.from({ length: 7 }, () => {
      fail(health, 'overloaded');
      const { coolingMs } = health.state(KEY);
      clock.pass(coolingMs);
      return coolingMs;
    });
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('begins anew after a success', () => {
    const { clock, health } = setUp();
    fail(health, 'rate_limited', 3);
    clock.pass(30_000);
    begin(health).succeeded(5);
    fail(health, 'rate_limited');
    expect(health.state(KEY).coolingMs).toBe(1000);
  });

  it('counts requests that are refused together as one', () => {
    const { health } = setUp();
    const together = Array.from({ length: 10 }, () => begin(health));
    for (const attempt of together) attempt.failed(failure('rate_limited'));
    expect(health.state(KEY).coolingMs).toBe(1000);
  });

  it('is not ended by an answer to a request from before it', () => {
    const { health } = setUp();
    const before = begin(health);
    fail(health, 'rate_limited', 1, 5000);
    before.succeeded(5);
    expect(health.state(KEY).coolingMs).toBe(5000);
    begin(health).succeeded(5);
    expect(health.state(KEY).coolingMs).toBe(0);
  });

  it.each([0, -5, NaN])('does not take %s ms as a wait', (told) => {
    const { health } = setUp();
    fail(health, 'rate_limited', 1, told);
    expect(health.state(KEY).coolingMs).toBe(1000);
  });

  it('believes no wait over an hour', () => {
    const { health } = setUp();
    fail(health, 'rate_limited', 1, 1e15);
    expect(health.state(KEY).coolingMs).toBe(3_600_000);
  });

  test('a cool-down is never outside 1 to 30 s', () => {
    fc.assert(
      fc.property(fc.nat(), (times) => {
        const wait = coolDown(times);
        return wait >= 1000 && wait <= 30_000 && wait <= coolDown(times + 1);
      }),
    );
  });
});

describe('the breaker', () => {
  it('opens after three failures in a row, and is due for a probe a second later', () => {
    const { clock, health } = setUp();
    fail(health, 'failed', 2);
    expect(health.state(KEY).breaker).toBe('closed');
    fail(health, 'timeout');
    expect(health.state(KEY)).toMatchObject({ breaker: 'open', openMs: 1000, coolingMs: 0 });
    clock.pass(1000);
    expect(health.state(KEY)).toMatchObject({ breaker: 'half_open', openMs: 0, probing: false });
  });

  it('forgets failures that a success parts', () => {
    const { health } = setUp();
    fail(health, 'failed', 2);
    begin(health).succeeded(5);
    fail(health, 'failed', 2);
    expect(health.state(KEY).breaker).toBe('closed');
  });

  it('lets exactly one probe through, until it tells', () => {
    const { clock, health } = setUp();
    fail(health, 'failed', 3);
    clock.pass(1000);
    const probe = begin(health);
    expect(health.state(KEY).probing).toBe(true);
    expect(health.begin(KEY)).toBeUndefined();
    expect(health.begin(KEY)).toBeUndefined();
    probe.succeeded(5);
    expect(health.state(KEY)).toMatchObject({ breaker: 'closed', probing: false, failures: 0 });
    expect(health.begin(KEY)).toBeDefined();
    expect(health.begin(KEY)).toBeDefined();
  });

  it('stays open for twice as long after each probe that fails, up to 30 s', () => {
    const { clock, health } = setUp();
    fail(health, 'failed', 3);
    const waits = Array.from({ length: 6 }, () => {
      clock.pass(health.state(KEY).openMs);
      fail(health);
      return health.state(KEY).openMs;
    });
    expect(waits).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('gives the probe to another where its client left', () => {
    const { clock, health } = setUp();
    fail(health, 'failed', 3);
    clock.pass(1000);
    begin(health).abandoned();
    expect(health.state(KEY)).toMatchObject({ breaker: 'half_open', probing: false });
    expect(health.begin(KEY)).toBeDefined();
  });

  it('gives the probe to another where the probe failed by its own fault', () => {
    const { clock, health } = setUp();
    fail(health, 'failed', 3);
    clock.pass(1000);
    begin(health).failed(failure('invalid_request'));
    expect(health.begin(KEY)).toBeDefined();
  });

  it('is neither closed nor opened longer by requests from before it opened', () => {
    const { health } = setUp();
    const [late, later] = [begin(health), begin(health)];
    fail(health, 'failed', 3);
    late.failed(failure('failed'));
    later.succeeded(5);
    expect(health.state(KEY)).toMatchObject({ breaker: 'open', openMs: 1000 });
  });

  it('does not free the probe when another request ends', () => {
    const { clock, health } = setUp();
    const old = begin(health);
    fail(health, 'failed', 3);
    clock.pass(1000);
    const probe = begin(health);
    old.failed(failure('failed'));
    expect(health.begin(KEY)).toBeUndefined();
    probe.abandoned();
    expect(health.begin(KEY)).toBeDefined();
  });

  it('never refuses a lone target', () => {
    const { health } = setUp();
    fail(health, 'failed', 3);
    const contacts = Array.from({ length: 5 }, () => health.begin(KEY, true));
    expect(contacts).not.toContain(undefined);
  });

  test('at most one probe is ever under way, whatever happens', () => {
    const step = fc.oneof(
      fc.constant('begin' as const),
      fc.record({
        end: fc.constantFrom('succeeded', 'failed', 'abandoned', 'rate_limited', 'over'),
        which: fc.nat(20),
      }),
      fc.record({ pass: fc.integer({ min: 0, max: 40_000 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { clock, health } = setUp();
        fail(health, 'failed', 3);
        let flying: { attempt: HealthTicket; probe: boolean }[] = [];
        const answering: HealthTicket[] = [];
        for (const action of steps) {
          if (action === 'begin') {
            const probe = health.state(KEY).breaker !== 'closed';
            const attempt = health.begin(KEY);
            if (attempt !== undefined) flying.push({ attempt, probe });
          } else if ('pass' in action) clock.pass(action.pass);
          else if (action.end === 'over') answering.shift()?.ended();
          else {
            const one = flying[action.which % Math.max(flying.length, 1)];
            flying = flying.filter((other) => other !== one);
            if (action.end === 'succeeded' && one !== undefined) {
              one.attempt.succeeded(1);
              answering.push(one.attempt);
            }
            if (action.end === 'abandoned') one?.attempt.abandoned();
            if (action.end === 'failed' || action.end === 'rate_limited')
              one?.attempt.failed(failure(action.end));
          }
          if (health.state(KEY).breaker === 'closed') for (const one of flying) one.probe = false;
          expect(flying.filter(({ probe }) => probe).length).toBeLessThanOrEqual(1);
          expect(health.state(KEY).inFlight).toBe(flying.length + answering.length);
        }
      }),
    );
  });
});

describe('which failures do what', () => {
  it.each<[FailureKind, 'cools' | 'counts' | 'neither']>([
    ['rate_limited', 'cools'],
    ['overloaded', 'cools'],
    ['failed', 'counts'],
    ['timeout', 'counts'],
    ['provider_key', 'counts'],
    ['billing', 'counts'],
    ['invalid_request', 'neither'],
    ['context_overflow', 'neither'],
    ['too_large', 'neither'],
    ['not_found', 'neither'],
  ])('%s: %s', (kind, effect) => {
    const { health } = setUp();
    fail(health, kind, 5, 4000);
    const { breaker, coolingMs } = health.state(KEY);
    expect({ open: breaker !== 'closed', cooling: coolingMs > 0 }).toEqual({
      open: effect === 'counts',
      cooling: effect === 'cools',
    });
    expect(FAILURES[kind].health).toBe(effect);
  });
});

describe('the pace', () => {
  it('follows recent times to first byte', () => {
    const { health } = setUp();
    begin(health).succeeded(100);
    expect(health.pace(KEY)).toBe(100);
    begin(health).succeeded(200);
    expect(health.pace(KEY)).toBeCloseTo(130);
    expect(health.state(KEY).firstByteMs).toBeCloseTo(130);
  });

  it('lets one request measure what is not known, and keeps the others away meanwhile', () => {
    const { health } = setUp();
    expect(health.pace(KEY)).toBe(0);
    const first = begin(health);
    expect(health.pace(KEY)).toBe(Infinity);
    first.succeeded(40);
    expect(health.pace(KEY)).toBe(40);
  });

  it('measures again what was measured long ago', () => {
    const { clock, health } = setUp();
    begin(health).succeeded(900);
    clock.pass(300_000);
    expect(health.pace(KEY)).toBe(0);
    begin(health);
    expect(health.pace(KEY)).toBe(900);
  });
});

describe('in flight', () => {
  it('is a contact until the end of its answer, not until its first byte', () => {
    const { health } = setUp();
    const [one, other] = [begin(health), begin(health)];
    one.succeeded(10);
    expect(health.state(KEY).inFlight).toBe(2);
    one.ended();
    one.ended();
    expect(health.state(KEY).inFlight).toBe(1);
    other.failed(failure('failed'));
    other.ended();
    expect(health.state(KEY).inFlight).toBe(0);
  });

  it('a long answer keeps nobody from measuring the target again', () => {
    const { clock, health } = setUp();
    const stream = begin(health);
    stream.succeeded(900);
    clock.pass(300_000);
    expect(health.pace(KEY)).toBe(0);
    expect(health.state(KEY).inFlight).toBe(1);
    stream.ended();
  });

  it('a probe is over with its first byte, while its answer goes on', () => {
    const { clock, health } = setUp();
    fail(health, 'failed', 3);
    clock.pass(30_000);
    begin(health).succeeded(10);
    expect(health.state(KEY)).toMatchObject({ breaker: 'closed', probing: false, inFlight: 1 });
  });
});

test('only the first statement about a contact counts', () => {
  const { health } = setUp();
  const attempt = begin(health);
  attempt.succeeded(10);
  attempt.failed(failure('rate_limited'));
  attempt.abandoned();
  expect(health.state(KEY)).toMatchObject({ coolingMs: 0, inFlight: 0 });
});

test('states are visible, and forgotten where asked', () => {
  const { health } = setUp();
  fail(health, 'failed', 3);
  health.begin('beta/m');
  expect(health.states().map(([key, { breaker }]) => [key, breaker])).toEqual([
    [KEY, 'open'],
    ['beta/m', 'closed'],
  ]);
  health.forget((key) => key.startsWith('alpha/'));
  expect(health.states().map(([key]) => key)).toEqual(['beta/m']);
  expect(health.state(KEY).breaker).toBe('closed');
});

test('endless names fill no memory and push out no target that is in trouble', () => {
  const { health } = setUp();
  fail(health, 'failed', 3);
  for (let index = 0; index < 6000; index++) {
    const contact = health.begin(`hub/m${index}`);
    contact?.succeeded(1);
    contact?.ended();
  }
  expect(health.states().length).toBeLessThanOrEqual(4096);
  expect(health.state(KEY).breaker).toBe('open');
});

describe('two workers that share what they learn', () => {
  function two(): { clock: FakeClock; one: Health; other: Health; shared: () => number } {
    const clock = fakeClock();
    let shared = 0;
    const one: Health = createHealth(clock, (key, value) => {
      shared += 1;
      other.adopt(key, value);
    });
    const other = createHealth(clock, (key, value) => one.adopt(key, value));
    return { clock, one, other, shared: () => shared };
  }

  it('count the failures in a row of both', () => {
    const { one, other } = two();
    fail(one, 'failed');
    fail(other, 'failed');
    fail(one, 'failed');
    expect([one, other].map((health) => health.state(KEY).breaker)).toEqual(['open', 'open']);
    expect(other.state(KEY).openMs).toBe(1000);
  });

  it('avoid a target that asked one of them for a pause, and use it again after a success of the other', () => {
    const { clock, one, other } = two();
    fail(one, 'rate_limited', 1, 7000);
    expect(other.state(KEY).coolingMs).toBe(7000);
    clock.pass(7000);
    begin(other).succeeded(5);
    fail(one, 'rate_limited');
    expect([one, other].map((health) => health.state(KEY).coolingMs)).toEqual([1000, 1000]);
  });

  it('close the breaker of both when a probe of one succeeds', () => {
    const { clock, one, other } = two();
    fail(one, 'failed', 3);
    clock.pass(1000);
    begin(other).succeeded(5);
    expect([one, other].map((health) => health.state(KEY).breaker)).toEqual(['closed', 'closed']);
  });

  it('send nothing for successes in a row', () => {
    const { one, shared } = two();
    for (let index = 0; index < 100; index++) begin(one).succeeded(5);
    expect(shared()).toBe(0);
  });
});
