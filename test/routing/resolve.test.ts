// Which target serves a model: each rule; the lists; the key's own list.
import { describe, expect, it, test } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { NO_NEEDS } from '../../src/canonical/traits.ts';
import { protocolFor } from '../../src/routing/catalog.ts';
import { createRouting } from '../../src/routing/routing.ts';
import type { RoutingQuery } from '../../src/routing/resolve.ts';
import type { Routing } from '../../src/routing/routing.ts';
import { config, fakeClock, keys, provider, question, target } from './fixtures.ts';

function routingOf(...args: Parameters<typeof config>): Routing {
  return createRouting({ config: config(...args), clock: fakeClock() });
}

function resolved(routing: Routing, model: string, allowed: string[] | null = null): string[] {
  return keys(routing.resolve(question(model, { allowed })).targets);
}

function refusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error('nothing was refused');
}

const names = (routing: Routing, allowed: string[] | null = null): string[] =>
  routing.models(allowed).map(({ name }) => name);

describe('which target serves a name', () => {
  const routing = routingOf(
    [
      provider('alpha', ['big', 'shared']),
      provider('beta', ['shared', { id: 'tiny', upstream: 'tiny:0.6b' }]),
      provider('hub', null, { defaultModel: 'preset' }),
      provider('shop', ['alpha/foreign', 'hub/big']),
    ],
    { fast: ['beta/tiny', 'alpha/big'], 'alpha/big': ['beta/tiny'], shared: ['beta/shared'] },
  );

  it.each([
    ['a route before everything', 'fast', ['beta/tiny', 'alpha/big']],
    ['a route of the form provider/model before the target', 'alpha/big', ['beta/tiny']],
    ['a route before a listed model', 'shared', ['beta/shared']],
    ['provider/model', 'alpha/shared', ['alpha/shared']],
    ['a listed model', 'big', ['alpha/big']],
    ["the clients' name, not the provider's", 'tiny', ['beta/tiny']],
    ['any name at a provider without a list', 'hub/what/ever', ['hub/what/ever']],
    ['split at the first slash: the provider before a listed name', 'hub/big', ['hub/big']],
    ['a listed name with a slash', 'alpha/foreign', ['shop/alpha/foreign']],
    ['a target whose model has a slash', 'shop/alpha/foreign', ['shop/alpha/foreign']],
  ])('%s', (_, name, expected) => {
    expect(resolved(routing, name)).toEqual(expected);
  });

  it.each(['nothing', 'alpha/tiny', 'beta/tiny:0.6b', 'tiny:0.6b', 'preset', 'hub/', '/big', 'hub', ''])(
    'refuses %j as unknown',
    (name) => {
      const error = refusal(() => routing.resolve(question(name)));
      expect(error).toMatchObject({ kind: 'model_not_found', status: 400, options: { param: 'model' } });
    },
  );

  it("sends the provider's own name for the model", () => {
    expect(routing.resolve(question('tiny')).targets[0]?.upstream).toBe('tiny:0.6b');
  });

  it('makes providers that list the same name a chain in file order', () => {
    const two = routingOf([provider('one', ['m']), provider('two', ['m'])]);
    expect(resolved(two, 'm')).toEqual(['one/m', 'two/m']);
    expect(two.resolve(question('m')).lone).toBe(false);
    expect(two.resolve(question('two/m')).lone).toBe(true);
  });

  it('is not led astray by names that every object has', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty/x'])
      expect(refusal(() => routing.resolve(question(name))).kind).toBe('model_not_found');
  });

  it('keeps answering rightly after more names than it remembers', () => {
    for (let index = 0; index < 5000; index++)
      expect(resolved(routing, `hub/m${index}`)).toEqual([`hub/m${index}`]);
    expect(resolved(routing, 'hub/m0')).toEqual(['hub/m0']);
    expect(resolved(routing, 'big')).toEqual(['alpha/big']);
  });
});

describe('auto', () => {
  const providers = [
    provider('hub', null, { defaultModel: 'preset' }),
    provider('alpha', ['big', 'shared']),
    provider('bare', null),
    provider('beta', ['shared', 'tiny']),
  ];

  it('is every listed model in order, then the default model of each provider that lists none', () => {
    expect(resolved(routingOf(providers), 'auto')).toEqual([
      'alpha/big',
      'alpha/shared',
      'beta/shared',
      'beta/tiny',
      'hub/preset',
    ]);
  });

  it('is the route of that name where there is one', () => {
    expect(resolved(routingOf(providers, { auto: ['beta/tiny'] }), 'auto')).toEqual(['beta/tiny']);
  });

  it('takes the first model that a local server lists, but none that only embeds', () => {
    const routing = routingOf([provider('alpha', ['big']), provider('ollama', null, { source: 'local' })]);
    expect(resolved(routing, 'auto')).toEqual(['alpha/big']);
    routing.setDiscovered('ollama', ['nomic-embed-text', 'qwen3:8b', 'other']);
    expect(resolved(routing, 'auto')).toEqual(['alpha/big', 'ollama/qwen3:8b']);
  });

  it('exists as soon as anything is known, even without lists and presets', () => {
    const routing = routingOf([provider('bare', null)]);
    expect(refusal(() => routing.resolve(question('auto'))).kind).toBe('model_not_found');
    routing.setDiscovered('bare', ['m']);
    expect(resolved(routing, 'auto')).toEqual(['bare/m']);
  });
});

describe('a route', () => {
  it('tries a target once, however often it is named', () => {
    const routing = routingOf([provider('a', ['m', 'n'])], { r: ['a/m', 'a/n', 'a/m'] });
    expect(resolved(routing, 'r')).toEqual(['a/m', 'a/n']);
  });

  it('goes on without targets whose provider was left out', () => {
    const routing = routingOf([provider('a', ['m'])], { r: ['gone/x', 'a/m'], none: ['gone/x'] });
    expect(resolved(routing, 'r')).toEqual(['a/m']);
    expect(refusal(() => routing.resolve(question('none'))).kind).toBe('model_not_found');
  });

  it('named auto and left without targets does not send requests elsewhere', () => {
    const routing = routingOf([provider('a', ['m'])], { auto: ['gone/x'] });
    expect(refusal(() => routing.resolve(question('auto'))).kind).toBe('model_not_found');
    expect(names(routing)).toEqual(['m']);
  });
});

describe('sim', () => {
  const sim = provider('sim', ['echo', 'slow', 'error-500'], { source: 'builtin', defaultModel: 'echo' });
  /** As the file names it: where it listens is not known yet. */
  const named = (models: string[] | null): ReturnType<typeof provider> =>
    provider('sim', models, { source: 'builtin', defaultModel: 'echo', baseUrls: {} });

  function withSim(...args: Parameters<typeof config>): Routing {
    const routing = routingOf(...args);
    routing.addProviders([sim]);
    return routing;
  }

  it('is auto, with its default model, and the lists where there is no other provider', () => {
    const routing = withSim([]);
    expect(resolved(routing, 'auto')).toEqual(['sim/echo']);
    expect(names(routing)).toEqual(['auto', 'sim/echo', 'sim/slow', 'sim/error-500']);
  });

  it('is reachable but in no list where another provider is', () => {
    const routing = withSim([provider('alpha', ['big'])]);
    expect(resolved(routing, 'sim/slow')).toEqual(['sim/slow']);
    expect(resolved(routing, 'auto')).toEqual(['alpha/big']);
    expect(names(routing)).toEqual(['auto', 'big']);
  });

  it.each(['echo', 'sim/ecco'])('has no %s', (name) => {
    expect(refusal(() => withSim([]).resolve(question(name)))).toMatchObject({
      kind: 'model_not_found',
      message: expect.stringContaining('`sim/echo`') as string,
    });
  });

  it('leaves auto when a local server is found', () => {
    const routing = withSim([]);
    routing.addProviders([provider('ollama', null, { source: 'local' })]);
    routing.setDiscovered('ollama', ['qwen3']);
    expect(resolved(routing, 'auto')).toEqual(['ollama/qwen3']);
    expect(names(routing)).toEqual(['auto', 'ollama/qwen3']);
  });

  it('is in the lists where the file names it, at the address where it listens, but not in auto', () => {
    const routing = withSim([provider('alpha', ['big']), named(null)]);
    expect(resolved(routing, 'auto')).toEqual(['alpha/big']);
    expect(names(routing)).toEqual(['auto', 'big', 'sim/echo', 'sim/slow', 'sim/error-500']);
    expect(routing.resolve(question('sim/echo')).targets[0]?.provider.baseUrls).toEqual(sim.baseUrls);
  });

  it('has only the models that the file lists, under their bare names', () => {
    const routing = withSim([provider('alpha', ['big']), named(['slow'])]);
    expect(resolved(routing, 'auto')).toEqual(['alpha/big']);
    expect(names(routing)).toEqual(['auto', 'big', 'slow']);
  });

  it.each([
    ['no provider', []],
    ['itself', [named(null)]],
    ['some of its models', [named(['slow'])]],
  ])('stands in for auto, as the model that says so, where the file names %s', (_, providers) => {
    const { targets } = withSim(providers).resolve(question('auto'));
    expect(targets.map(({ upstream }) => upstream)).toEqual(['stand-in']);
  });

  it('answers itself where it is asked for by name', () => {
    const routing = withSim([named(['slow'])]);
    expect(routing.resolve(question('sim/slow')).targets[0]?.upstream).toBe('slow');
    expect(routing.has('auto')).toBe(false);
    expect(routing.has('sim/slow')).toBe(true);
    expect(refusal(() => routing.resolve(question('sim/stand-in'))).kind).toBe('model_not_found');
  });

  it('does not stand in again once there was another provider', () => {
    const routing = withSim([provider('alpha', ['big'])]);
    routing.update(config([named(null)]));
    expect(refusal(() => routing.resolve(question('auto'))).kind).toBe('model_not_found');
    expect(resolved(routing, 'sim/echo')).toEqual(['sim/echo']);
  });

  it('does not stand in for a local server whose models are not known, which the refusal names', () => {
    const routing = withSim([provider('ollama', null), named(null)]);
    const { kind, message } = refusal(() => routing.resolve(question('auto')));
    expect(kind).toBe('model_not_found');
    expect(message).toContain('`ollama/NAME`');
  });

  it('does not stand in for a provider of the file that lacks its key, which the refusal names', () => {
    const leftOut = [{ provider: 'mistral', why: 'MISTRAL_API_KEY is not set', names: [] }];
    const routing = createRouting({
      config: { ...config([named(null)]), file: '/gateway.yaml', leftOut },
      clock: fakeClock(),
    });
    routing.addProviders([sim]);
    expect(refusal(() => routing.resolve(question('auto'))).message).toContain('MISTRAL_API_KEY is not set');
  });

  it('may stand in a route', () => {
    const routing = withSim([provider('alpha', ['big'])], { demo: ['sim/echo', 'alpha/big'] });
    expect(resolved(routing, 'demo')).toEqual(['sim/echo', 'alpha/big']);
  });

  it('is one of the providers, after the configured ones', () => {
    expect(
      withSim([provider('alpha', ['big'])])
        .providers()
        .map(({ name }) => name),
    ).toEqual(['alpha', 'sim']);
  });
});

describe("a key's list", () => {
  const routing = routingOf([provider('alpha', ['big', 'shared']), provider('beta', ['shared'])], {
    fast: ['beta/shared', 'alpha/big'],
    auto: ['alpha/big', 'beta/shared'],
  });

  it.each<[string, string[], string, string[]]>([
    ['a target', ['beta/shared'], 'shared', ['beta/shared']],
    ['a target behind a route', ['alpha/big'], 'fast', ['alpha/big']],
    ['a model at any provider', ['shared'], 'shared', ['alpha/shared', 'beta/shared']],
    ['a model behind a route', ['shared'], 'fast', ['beta/shared']],
    ['a model asked for at its provider', ['shared'], 'alpha/shared', ['alpha/shared']],
    ['the route that was asked for', ['fast'], 'fast', ['beta/shared', 'alpha/big']],
    ['auto', ['auto'], 'auto', ['alpha/big', 'beta/shared']],
  ])('admits %s', (_, allowed, asked, expected) => {
    expect(resolved(routing, asked, allowed)).toEqual(expected);
  });

  it.each<[string, string[], string]>([
    ['a target of an admitted route, asked for by itself', ['fast'], 'alpha/big'],
    ['another route to the same targets', ['fast'], 'auto'],
    ['a name that begins alike', ['bi'], 'big'],
    ['anything, with an empty list', [], 'big'],
  ])('is a 403 for %s', (_, allowed, asked) => {
    const error = refusal(() => routing.resolve(question(asked, { allowed })));
    expect(error).toMatchObject({ kind: 'forbidden_model', status: 403 });
  });

  it('makes an unknown name a 400 that names only what the key may use', () => {
    const error = refusal(() => routing.resolve(question('shred', { allowed: ['beta/shared'] })));
    expect(error.kind).toBe('model_not_found');
    expect(error.message).toContain('`shared`');
    expect(refusal(() => routing.resolve(question('bigg', { allowed: ['shared'] }))).message).not.toContain(
      '`big`',
    );
    expect(refusal(() => routing.resolve(question('zzzzzz', { allowed: [] }))).message).toContain('no model');
    const limited = refusal(() => routing.resolve(question('zzzzzz', { allowed: ['shared'] })));
    expect(limited.message).toMatch(/here\. This key may use `/);
  });

  it('does not speak of the key where every key may use every model', () => {
    const { message } = refusal(() => routing.resolve(question('zzzzzz')));
    expect(message).toMatch(/here\. Known are `/);
    expect(message).not.toContain('key');
  });

  it.each([
    ['sim/ehco', '`sim/echo`'],
    ['alpha/only-x', '`beta/only-x`'],
    ['alpha/bgi', '`alpha/big`'],
    ['alpah/big', '`alpha/big`'],
  ])('makes the unknown name %s a 400 that names %s', (asked, near) => {
    const routing = routingOf([provider('alpha', ['big']), provider('beta', ['only-x'])]);
    routing.addProviders([{ ...provider('sim', ['echo', 'slow']), source: 'builtin' }]);
    const { message } = refusal(() => routing.resolve(question(asked)));
    expect(message).toContain('Did you mean');
    expect(message).toContain(near);
  });

  it('leaves out what is not admitted, and makes the only one that is left a lone target', () => {
    const { lone, skipped } = routing.resolve(question('shared', { allowed: ['beta/shared'] }));
    expect(lone).toBe(true);
    expect(skipped).toMatchObject([{ target: { key: 'alpha/shared' } }]);
  });

  it('cuts the lists: names with a target that the key may use, with those targets alone', () => {
    expect(names(routing, ['beta/shared'])).toEqual(['auto', 'fast', 'shared']);
    expect(routing.model('shared', ['beta/shared'])?.targets.map(({ key }) => key)).toEqual(['beta/shared']);
    expect(routing.model('big', ['beta/shared'])).toBeUndefined();
  });

  test('a 403 comes before the question whether anything fits', () => {
    const blind = routingOf([provider('alpha', [{ id: 'big', vision: false }])]);
    const needs = { ...NO_NEEDS, image: true };
    expect(refusal(() => blind.resolve(question('big', { needs, allowed: ['x'] }))).kind).toBe(
      'forbidden_model',
    );
  });
});

describe('the list of names', () => {
  it('has auto, routes, listed models once, and provider/name of providers without a list', () => {
    const routing = routingOf(
      [
        provider('alpha', ['big', 'shared']),
        provider('beta', ['shared']),
        provider('hub', null, { defaultModel: 'p' }),
      ],
      { fast: ['alpha/big'] },
    );
    expect(names(routing)).toEqual(['auto', 'fast', 'big', 'shared', 'hub/p']);
    routing.setDiscovered('hub', ['x', 'vendor/y']);
    expect(names(routing)).toEqual(['auto', 'fast', 'big', 'shared', 'hub/x', 'hub/vendor/y']);
  });

  it('gives any name that resolves an entry, and no other', () => {
    const routing = routingOf([provider('alpha', ['big']), provider('hub', null)]);
    expect(routing.model('alpha/big', null)?.name).toBe('alpha/big');
    expect(routing.model('hub/anything', null)?.name).toBe('hub/anything');
    expect(routing.model('anything', null)).toBeUndefined();
  });

  it('says what some target of the name can do, unknown as possible, and real windows or null', () => {
    const routing = routingOf([
      provider('alpha', [{ id: 'm', vision: false, thinking: false, contextWindow: 1000 }, 'n']),
      provider('beta', [{ id: 'm', thinking: false, contextWindow: 2000, maxOutput: 10 }]),
    ]);
    expect(routing.model('m', null)).toMatchObject({
      vision: true,
      tools: true,
      thinking: false,
      contextWindow: 2000,
      maxOutput: 10,
    });
    expect(routing.model('n', null)).toMatchObject({ vision: true, contextWindow: null, maxOutput: null });
    expect(routing.model('m', ['alpha/m'])).toMatchObject({
      vision: false,
      contextWindow: 1000,
      maxOutput: null,
    });
  });
});

describe('what fits', () => {
  const routing = routingOf(
    [
      provider('alpha', [{ id: 'blind', vision: false, tools: false, contextWindow: 100 }]),
      provider('beta', [{ id: 'seeing', thinking: false }]),
      provider('gamma', [{ id: 'small', contextWindow: 50 }]),
    ],
    { all: ['alpha/blind', 'beta/seeing', 'gamma/small'] },
  );

  it('passes over what cannot take the request, and says why', () => {
    const { targets, skipped } = routing.resolve(question('all', { needs: { ...NO_NEEDS, image: true } }));
    expect(keys(targets)).toEqual(['beta/seeing', 'gamma/small']);
    expect(skipped).toMatchObject([{ target: { key: 'alpha/blind' }, why: 'it takes no images' }]);
  });

  it('is a 400 that says why for each, if none is left', () => {
    const needs = { ...NO_NEEDS, image: true, tools: true };
    const error = refusal(() => routing.resolve(question('blind', { needs })));
    expect(error).toMatchObject({ kind: 'invalid_request', status: 400 });
    expect(error.message).toContain('alpha/blind: it takes no images, no tools');
  });

  it('puts last what lacks something lesser', () => {
    const { targets, weak } = routing.resolve(question('all', { needs: { ...NO_NEEDS, thinking: true } }));
    expect(keys(targets)).toEqual(['alpha/blind', 'gamma/small', 'beta/seeing']);
    expect([...weak]).toEqual([['beta/seeing', ['thinking']]]);
  });

  it('puts last what the estimate exceeds, and refuses nothing for it', () => {
    const estimate = (): number => 101;
    expect(keys(routing.resolve(question('all', { estimate })).targets)).toEqual([
      'beta/seeing',
      'alpha/blind',
      'gamma/small',
    ]);
    expect(keys(routing.resolve(question('small', { estimate })).targets)).toEqual(['gamma/small']);
  });

  it.each([
    ['messages', ['messages'], true, 'long/claude-sonnet-4-5'],
    ['messages', ['messages'], false, 'wide/gemini-3-pro'],
    ['messages', ['chat'], true, 'wide/gemini-3-pro'],
    ['chat', ['messages'], true, 'wide/gemini-3-pro'],
  ] as const)(
    'a %s client of a provider of %j that asks for the long window (%s) is answered by %s',
    (protocol, protocols, longContext, first) => {
      const routing = routingOf(
        [provider('long', ['claude-sonnet-4-5'], { protocols }), provider('wide', ['gemini-3-pro'])],
        { both: ['long/claude-sonnet-4-5', 'wide/gemini-3-pro'] },
      );
      const asked = question('both', { protocol, longContext, estimate: () => 500_000 });
      expect(keys(routing.resolve(asked).targets)[0]).toBe(first);
    },
  );

  it('estimates only where a window matters, and once', () => {
    let asked = 0;
    const estimate = (): number => ++asked;
    routing.resolve(question('small', { estimate }));
    expect(asked).toBe(0);
    routing.resolve(question('all', { estimate }));
    expect(asked).toBe(1);
    routingOf([provider('a', ['m']), provider('b', ['m'])]).resolve(question('m', { estimate }));
    expect(asked).toBe(1);
  });
});

describe('server tools', () => {
  const unsaid = provider('mirror', ['m'], { protocols: ['messages'] });
  const chat = provider('chat', ['m']);
  const asked = { protocol: 'messages', needs: { ...NO_NEEDS, serverTools: true } } as const;
  const first = (of: ReturnType<typeof provider>[], more: Partial<RoutingQuery> = asked) =>
    routingOf(of).resolve(question('m', more));

  it('are taken as possible at a provider that speaks messages and says nothing of them', () => {
    const { targets, weak } = first([chat, unsaid]);
    expect(keys(targets)).toEqual(['mirror/m', 'chat/m']);
    expect([...weak]).toEqual([['chat/m', ['server tools']]]);
  });

  it('are not where the file says no, nor where the request is translated', () => {
    const without = { ...unsaid, traits: { serverTools: false } };
    expect(keys(first([chat, without]).targets)).toEqual(['chat/m', 'mirror/m']);
    expect(keys(first([chat, unsaid], { ...asked, protocol: 'chat' }).targets)).toEqual([
      'chat/m',
      'mirror/m',
    ]);
  });
});

describe('the protocol towards a target', () => {
  it.each([
    [['messages', 'chat'], 'chat', 'chat'],
    [['messages', 'chat'], 'messages', 'messages'],
    [['messages'], 'chat', 'messages'],
    [['chat'], 'messages', 'chat'],
    [['chat', 'messages'], undefined, 'chat'],
    [['messages', 'chat'], undefined, 'messages'],
  ] as const)('a provider of %j is used by a %s client in %s', (protocols, client, expected) => {
    expect(protocolFor(target('a/m', {}, { provider: provider('a', null, { protocols }) }), client)).toBe(
      expected,
    );
  });
});
