// In which order targets are tried: strategies, health, fit, stickiness, open tool turns; waiting and reloading.
import { describe, expect, it, test } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import type { ProviderFailure } from '../../src/errors.ts';
import { NO_NEEDS } from '../../src/canonical/traits.ts';
import { createRouting } from '../../src/routing/routing.ts';
import type { RoutingQuery } from '../../src/routing/resolve.ts';
import type { Routing } from '../../src/routing/routing.ts';
import { config, fakeClock, keys, provider, question } from './fixtures.ts';
import type { FakeClock } from './fixtures.ts';
import { processorTime } from '../helpers/growth.ts';
import type { Identity } from '../../src/conversations/identity.ts';
import { identity } from '../helpers/identity.ts';

const PROVIDERS = [
  provider('a', ['claude-sonnet-5']),
  provider('b', ['gpt-5.2']),
  provider('c', ['claude-opus-5']),
];
const [A, B, C] = ['a/claude-sonnet-5', 'b/gpt-5.2', 'c/claude-opus-5'] as const;

function setUp(strategy: 'priority' | 'fastest' = 'priority'): { clock: FakeClock; routing: Routing } {
  const clock = fakeClock();
  return { clock, routing: createRouting({ config: config(PROVIDERS, { r: [A, B, C] }, strategy), clock }) };
}

function orderOf(routing: Routing, more: Partial<RoutingQuery> = {}): string[] {
  return keys(routing.resolve(question('r', more)).targets);
}

function fail(routing: Routing, key: string, failure: Partial<ProviderFailure> = {}, times = 3): void {
  for (let index = 0; index < times; index++)
    routing.health.begin(key, true)?.failed({ kind: 'failed', message: '', ...failure });
}

const cool = (routing: Routing, key: string, retryAfterMs: number): void =>
  fail(routing, key, { kind: 'rate_limited', retryAfterMs }, 1);

function answer(routing: Routing, key: string, more: Partial<RoutingQuery>, firstByteMs = 10): void {
  routing.health.begin(key, true)?.succeeded(firstByteMs);
  const asked = question('r', more);
  const found = routing.resolve(asked).targets.find((target) => target.key === key);
  if (found !== undefined) routing.remember(asked, found);
}

describe('priority', () => {
  it('tries in the configured order', () => {
    expect(orderOf(setUp().routing)).toEqual([A, B, C]);
  });

  it('puts what is failing or cooling after the healthy, the soonest back first', () => {
    const { routing } = setUp();
    cool(routing, A, 20_000);
    expect(orderOf(routing)).toEqual([B, C, A]);
    fail(routing, B);
    expect(orderOf(routing)).toEqual([C, B, A]);
  });

  it('comes back to a target when its wait is over', () => {
    const { clock, routing } = setUp();
    cool(routing, A, 2000);
    clock.pass(2000);
    expect(orderOf(routing)).toEqual([A, B, C]);
  });

  it('sends one request to a target whose probe is due, the others past it', () => {
    const { clock, routing } = setUp();
    fail(routing, A);
    clock.pass(1000);
    expect(orderOf(routing)[0]).toBe(A);
    routing.health.begin(A);
    expect(orderOf(routing)).toEqual([B, C, A]);
  });

  it('tries a healthy target that lacks something before one that fails', () => {
    const { routing } = setUp();
    fail(routing, A);
    const { targets } = routing.resolve(question('r', { estimate: () => 500_000 }));
    expect(keys(targets)).toEqual([C, B, A]);
  });
});

describe('fastest', () => {
  it('tries first who answered fastest lately, and who was not measured', () => {
    const { routing } = setUp('fastest');
    answer(routing, A, {}, 300);
    answer(routing, B, {}, 100);
    expect(orderOf(routing)).toEqual([C, B, A]);
    answer(routing, C, {}, 200);
    expect(orderOf(routing)).toEqual([B, C, A]);
  });

  it('has no say in a priority route', () => {
    const { routing } = setUp();
    answer(routing, A, {}, 300);
    answer(routing, B, {}, 100);
    expect(orderOf(routing)).toEqual([A, B, C]);
  });

  it('puts a fast target that fails after slow ones that do not', () => {
    const { routing } = setUp('fastest');
    for (const [key, ms] of [
      [A, 300],
      [B, 100],
      [C, 200],
    ] as const)
      answer(routing, key, {}, ms);
    cool(routing, B, 5000);
    expect(orderOf(routing)).toEqual([C, A, B]);
  });
});

describe('a conversation', () => {
  const talk = { identity: identity('conv_x') };

  it('stays with the target that answered it', () => {
    const { routing } = setUp();
    answer(routing, C, talk);
    expect(orderOf(routing, talk)).toEqual([C, A, B]);
  });

  it.each<[string, Partial<RoutingQuery>]>([
    ['another conversation', { identity: identity('conv_y') }],
    ['another agent of it', { identity: identity('conv_x', { agent: 'a1' }) }],
    ['a request that belongs to none', { identity: undefined }],
  ])('does not draw %s after it', (_, other) => {
    const { routing } = setUp();
    answer(routing, C, talk);
    expect(orderOf(routing, other)).toEqual([A, B, C]);
  });

  it('stays in a route of the strategy fastest, too', () => {
    const { routing } = setUp('fastest');
    answer(routing, A, talk, 300);
    answer(routing, B, {}, 100);
    answer(routing, C, {}, 100);
    expect(orderOf(routing, talk)[0]).toBe(A);
  });

  it('leaves a target that fails, and stays where it was answered then', () => {
    const { clock, routing } = setUp();
    answer(routing, C, talk);
    cool(routing, C, 5000);
    expect(orderOf(routing, talk)).toEqual([A, B, C]);
    answer(routing, B, talk);
    clock.pass(5000);
    expect(orderOf(routing, talk)).toEqual([B, A, C]);
  });

  it('leaves a target whose window it has outgrown', () => {
    const { routing } = setUp();
    answer(routing, B, talk);
    expect(orderOf(routing, { ...talk, estimate: () => 500_000 })).toEqual([A, C, B]);
  });

  it('follows the name that is asked for, when that changes', () => {
    const clock = fakeClock();
    const routing = createRouting({ config: config(PROVIDERS, { r: [A, B, C], other: [B, C] }), clock });
    answer(routing, C, talk);
    expect(keys(routing.resolve(question('other', talk)).targets)).toEqual([B, C]);
  });

  it('stays where each of its models was answered, whichever of them was asked for last', () => {
    const clock = fakeClock();
    const routing = createRouting({ config: config(PROVIDERS, { r: [A, B, C], small: [B, C] }), clock });
    answer(routing, C, talk);
    const small = routing.resolve(question('small', talk)).targets.find(({ key }) => key === B);
    if (small === undefined) throw new Error('no target');
    routing.remember(question('small', talk), small);
    expect(orderOf(routing, talk)[0]).toBe(C);
    expect(keys(routing.resolve(question('small', talk)).targets)[0]).toBe(small.key);
  });

  it('is not even hashed for a name that leaves no choice', () => {
    const { routing } = setUp();
    const asked: RoutingQuery = {
      ...question(A),
      get identity(): Identity {
        throw new Error('hashed');
      },
    };
    const { targets } = routing.resolve(asked);
    expect(targets).toHaveLength(1);
    if (targets[0] !== undefined) routing.remember(asked, targets[0]);
  });

  it('is forgotten when many newer ones came', () => {
    const { routing } = setUp();
    answer(routing, C, talk);
    for (let index = 0; index < 10_000; index++) answer(routing, B, { identity: identity(`n${index}`) });
    expect(orderOf(routing, talk)).toEqual([A, B, C]);
    expect(orderOf(routing, { identity: identity('n9999') })[0]).toBe(B);
  });
});

describe('an open tool turn', () => {
  const turn = { identity: identity('conv_x'), openToolTurn: true };
  const flags = (routing: Routing, more: Partial<RoutingQuery> = {}): [string, boolean][] =>
    routing
      .resolve(question('r', { ...turn, ...more }))
      .targets.map((target) => [target.key, target.withoutThinking === 'foreign']);

  it('falls back within the family first, and elsewhere without thinking', () => {
    const { routing } = setUp();
    answer(routing, A, turn);
    cool(routing, A, 20_000);
    expect(flags(routing)).toEqual([
      [C, false],
      [B, true],
      [A, false],
    ]);
  });

  it('marks no target where the turn is not open', () => {
    const { routing } = setUp();
    answer(routing, A, turn);
    expect(flags(routing, { openToolTurn: false })).toEqual([
      [A, false],
      [B, false],
      [C, false],
    ]);
  });

  it('takes the first target as the one that began it, where nothing is remembered', () => {
    expect(flags(setUp().routing)).toEqual([
      [A, false],
      [B, true],
      [C, false],
    ]);
  });

  it('marks the only target that fits, where another family started the turn', () => {
    const clock = fakeClock();
    const blind = provider('a', [{ id: 'claude-sonnet-5', vision: false }]);
    const routing = createRouting({ config: config([blind, ...PROVIDERS.slice(1)], { r: [A, B] }), clock });
    answer(routing, A, turn);
    const { targets, lone } = routing.resolve(
      question('r', { ...turn, needs: { ...NO_NEEDS, image: true } }),
    );
    expect(lone).toBe(true);
    expect(targets).toMatchObject([{ key: B, withoutThinking: 'foreign' }]);
  });
});

describe('when every target cools', () => {
  it('says how long to wait for the first, and puts it first', () => {
    const { clock, routing } = setUp();
    cool(routing, A, 9000);
    cool(routing, B, 4000);
    expect(routing.resolve(question('r')).waitMs).toBeUndefined();
    cool(routing, C, 30_000);
    const { targets, waitMs } = routing.resolve(question('r'));
    expect(waitMs).toBe(4000);
    expect(keys(targets)).toEqual([B, A, C]);
    clock.pass(4000);
    expect(routing.resolve(question('r')).waitMs).toBeUndefined();
  });

  it('is a 503 with the shortest wait, in whole seconds, where that is 10 s or more', () => {
    const { routing } = setUp();
    for (const [key, ms] of [
      [A, 30_000],
      [B, 10_400],
      [C, 60_000],
    ] as const)
      cool(routing, key, ms);
    expect(() => routing.resolve(question('r'))).toThrow(
      expect.objectContaining({ kind: 'unavailable', status: 503, options: { retryAfter: 11 } }),
    );
    expect(() => routing.resolve(question('r'))).toThrow(GatewayError);
  });

  it('tries failing targets all the same: they asked for no wait', () => {
    const { routing } = setUp();
    fail(routing, A);
    fail(routing, B);
    cool(routing, C, 60_000);
    const resolution = routing.resolve(question('r'));
    expect(resolution.waitMs).toBeUndefined();
    expect(keys(resolution.targets)).toEqual([A, B, C]);
  });

  it('tries a lone target at once', () => {
    const { routing } = setUp();
    cool(routing, A, 60_000);
    fail(routing, A);
    for (const asked of [question(A), question('r', { allowed: [A] })])
      expect(routing.resolve(asked)).toMatchObject({ lone: true, targets: [{ key: A }] });
    expect(routing.resolve(question(A)).waitMs).toBeUndefined();
  });
});

describe('a changed file', () => {
  it('keeps the health of targets that remain, and takes new names at once', () => {
    const { routing } = setUp();
    cool(routing, A, 5000);
    routing.update(config([...PROVIDERS, provider('d', ['new'])], { r: [A, B, 'd/new'] }));
    expect(orderOf(routing)).toEqual([B, 'd/new', A]);
  });

  it.each([
    ['key', { apiKey: 'another' }],
    ['address', { baseUrls: { chat: 'https://elsewhere.example/v1' } }],
  ])('forgets how a provider fared whose %s was changed', (_, more) => {
    const { routing } = setUp();
    fail(routing, A);
    fail(routing, B);
    routing.update(
      config([provider('a', ['claude-sonnet-5'], more), ...PROVIDERS.slice(1)], { r: [A, B, C] }),
    );
    expect(orderOf(routing)).toEqual([A, C, B]);
  });

  it('keeps providers that were found after the start', () => {
    const { routing } = setUp();
    routing.addProviders([provider('ollama', null, { source: 'local' })]);
    routing.setDiscovered('ollama', ['qwen3']);
    routing.update(config(PROVIDERS));
    expect(keys(routing.resolve(question('auto')).targets)).toEqual([A, B, C, 'ollama/qwen3']);
  });
});

test('a plain name is resolved within a few microseconds', () => {
  const { routing } = setUp();
  const asked = question(A);
  for (let index = 0; index < 20_000; index++) routing.resolve(asked);
  const time = processorTime(() => {
    for (let index = 0; index < 20_000; index++) routing.resolve(asked);
  });
  // Some 0.5 µs on an idle machine; the bound only catches work that does not belong there.
  expect((time * 1000) / 20_000).toBeLessThan(50);
});

describe('balanced', () => {
  const SHARES = [{ target: A, weight: 3 }, B] as const;
  const conversation = (id: string): Partial<RoutingQuery> => ({ identity: identity(id) });

  function balancedOf(targets: readonly (string | { target: string; weight: number })[] = SHARES) {
    const clock = fakeClock();
    const routing = createRouting({ config: config(PROVIDERS, { r: targets }, 'balanced'), clock });
    const send = (more: Partial<RoutingQuery> = {}): string => {
      const { targets: found, took } = routing.resolve(question('r', more));
      const [first = ''] = keys(found);
      took?.(first);
      return first;
    };
    const sent = (times: number, more: Partial<RoutingQuery> = {}): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (let index = 0; index < times; index++) {
        const target = send(more);
        counts[target] = (counts[target] ?? 0) + 1;
      }
      return counts;
    };
    return { clock, routing, send, sent };
  }

  it('gives each target its share, in every stretch of requests', () => {
    const { sent } = balancedOf();
    for (let round = 0; round < 50; round++) expect(sent(4)).toEqual({ [A]: 3, [B]: 1 });
  });

  it('shares equally without weights', () => {
    expect(balancedOf([A, B, C]).sent(300)).toEqual({ [A]: 100, [B]: 100, [C]: 100 });
  });

  it('does not count a question that sends nothing', () => {
    const { routing, sent } = balancedOf([A, B]);
    for (let index = 0; index < 9; index++) routing.resolve(question('r'));
    expect(sent(2)).toEqual({ [A]: 1, [B]: 1 });
  });

  it('keeps a conversation where its prompt cache is, and gives new ones to the others meanwhile', () => {
    const { routing, send, sent } = balancedOf([A, B]);
    const old = conversation('old');
    answer(routing, A, old);
    for (let index = 0; index < 10; index++) expect(send(old)).toBe(A);
    expect(sent(10)).toEqual({ [B]: 10 });
    expect(sent(10)).toEqual({ [A]: 5, [B]: 5 });
  });

  it('gives what cools to the others, and its share alone when it is back', () => {
    const { clock, routing, sent } = balancedOf([A, B, C]);
    cool(routing, A, 20_000);
    expect(sent(100)).toEqual({ [B]: 50, [C]: 50 });
    clock.pass(20_001);
    const later = sent(300);
    for (const target of [A, B, C]) expect(Math.abs((later[target] ?? 0) - 100)).toBeLessThanOrEqual(1);
  });

  it('does not make up for requests that only one target could take', () => {
    const blind = provider('blind', [{ id: 'm', vision: false }]);
    const providers = [provider('a', ['claude-sonnet-5']), blind];
    const routing = createRouting({
      config: config(providers, { r: [A, 'blind/m'] }, 'balanced'),
      clock: fakeClock(),
    });
    const send = (more: Partial<RoutingQuery> = {}): string => {
      const { targets, took } = routing.resolve(question('r', more));
      const [first = ''] = keys(targets);
      took?.(first);
      return first;
    };
    for (let index = 0; index < 50; index++) expect(send({ needs: { ...NO_NEEDS, image: true } })).toBe(A);
    expect([send(), send(), send(), send()].filter((target) => target === A)).toHaveLength(2);
  });
});
