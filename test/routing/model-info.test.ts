import { findProvider } from '@pydantic/genai-prices';
import { describe, expect, it, test } from 'vitest';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import type { ModelConfig } from '../../src/config/config.ts';
import { createModelInfo } from '../../src/routing/model-info.ts';
import { plainName } from '../../src/routing/models/plain-name.ts';
import { rulesOf } from '../../src/routing/models/rules.ts';
import { readPriceBook, costOf } from '../../src/routing/price.ts';
import { createRouting } from '../../src/routing/routing.ts';
import { config, fakeClock, provider, question } from './fixtures.ts';

const NOW = Date.UTC(2026, 10, 1);

describe('names', () => {
  it.each([
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
    ['anthropic/claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
    ['anthropic/claude-sonnet-4.5', 'claude-sonnet-4-5'],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5'],
    ['anthropic.claude-3-haiku-20240307-v1:0', 'claude-haiku-3'],
    ['claude-sonnet-4@20250514', 'claude-sonnet-4'],
    ['claude-3-5-haiku-latest', 'claude-haiku-3-5'],
    ['claude-3.7-sonnet:thinking', 'claude-sonnet-3-7'],
    ['claude-opus-4-20250514', 'claude-opus-4'],
    ['openai/gpt-5.2', 'gpt-5-2'],
    ['gpt-4o-2024-08-06', 'gpt-4o'],
    ['gpt-5-mini-2025-08-07', 'gpt-5-mini'],
    ['accounts/fireworks/models/gpt-oss-120b', 'gpt-oss-120b'],
    ['qwen3:0.6b', 'qwen3'],
    ['Qwen/Qwen3-32B', 'qwen3-32b'],
    ['accounts/fireworks/models/glm-5p3', 'glm-5-3'],
    ['qwen3.8-27b', 'qwen3-8-27b'],
  ])('%s is %s', (name, plain) => {
    expect(plainName(name)).toBe(plain);
  });

  it.each([
    ['claude-opus-4-8', 'claude'],
    ['anthropic/claude-3-opus', 'claude'],
    ['gpt-5.2', 'gpt'],
    ['o4-mini', 'gpt'],
    ['openai/gpt-oss-20b', 'gpt-oss'],
    ['gemini-2.5-pro', 'gemini'],
    ['deepseek-chat', 'deepseek'],
    ['qwen3:0.6b', 'qwen'],
    ['my-own:7b', 'my-own'],
  ])('%s is of the family %s', (name, family) => {
    expect(rulesOf(name, undefined).family).toBe(family);
  });
});

describe('rules of models', () => {
  const old = {
    rejectsSampling: false,
    thinkingBudget: true,
    thinkingOff: 'always',
    thinkingAdaptive: false,
  };
  const plain = {
    rejectsSampling: true,
    thinkingBudget: false,
    thinkingOff: 'always',
    forcedTools: 'not_thinking',
  };
  const strict = { rejectsSampling: true, thinkingBudget: false, thinkingOff: 'never', forcedTools: 'never' };
  const thinks = { thinksByDefault: true };
  const reasoning = {
    rejectsSampling: true,
    maxTokensField: 'max_completion_tokens',
    systemRole: 'developer',
    userField: 'safety_identifier',
  };

  it.each<[string, object]>([
    [
      'claude-3-haiku-20240307',
      { ...old, maxOutput: 4096, thinking: false, structuredOutput: false, prefill: true },
    ],
    ['claude-3-5-haiku-latest', { ...old, maxOutput: 8192, thinking: false, minCacheTokens: 2048 }],
    ['claude-3-7-sonnet-latest', { ...old, maxOutput: 64_000, thinking: true, structuredOutput: false }],
    ['claude-opus-4-20250514', { ...old, maxOutput: 32_000, structuredOutput: false, efforts: [] }],
    ['claude-opus-4-1', { ...old, maxOutput: 32_000, structuredOutput: true, contextWindow: 200_000 }],
    ['claude-sonnet-4-0', { ...old, maxOutput: 64_000, structuredOutput: false }],
    [
      'claude-sonnet-4-5-20250929',
      { ...old, maxOutput: 64_000, structuredOutput: true, efforts: [], minCacheTokens: 1024 },
    ],
    ['claude-haiku-4-5', { ...old, maxOutput: 64_000, structuredOutput: true, minCacheTokens: 4096 }],
    ['claude-opus-4-5', { ...old, efforts: ['low', 'medium', 'high'], minCacheTokens: 4096 }],
    [
      'claude-sonnet-4-6',
      { rejectsSampling: false, maxOutput: 128_000, thinkingAdaptive: true, prefill: false },
    ],
    ['claude-opus-4-6', { rejectsSampling: false, maxOutput: 128_000, contextWindow: 1_000_000 }],
    ['claude-opus-4-7', { ...plain, maxOutput: 128_000, thinkingAdaptive: true, midSystem: false }],
    ['claude-opus-4-8', { ...plain, midSystem: true, minCacheTokens: 1024 }],
    [
      'claude-sonnet-5',
      { ...plain, ...thinks, forcedTools: 'always', midSystem: false, contextWindow: 1_000_000 },
    ],
    [
      'claude-opus-5',
      { ...plain, ...thinks, forcedTools: 'always', thinkingOff: 'up_to_high', minCacheTokens: 512 },
    ],
    ['claude-fable-5', { ...strict, forcedTools: 'always' }],
    ['claude-fable-5-1', strict],
    ['claude-opus-5-5', { ...strict, minCacheTokens: 512 }],
    ['claude-sonnet-5-5', { ...strict, thinkingOff: 'between_tools' }],
    [
      'claude-haiku-5-5',
      {
        ...thinks,
        rejectsSampling: true,
        thinkingBudget: false,
        thinkingOff: 'up_to_high',
        minCacheTokens: 512,
      },
    ],
    ['claude-nova-9', { ...plain, maxOutput: 128_000, structuredOutput: true }],
    ['gpt-5.2', { ...reasoning, maxStop: 0, thinksByDefault: false }],
    ['gpt-5-mini', { ...reasoning, thinksByDefault: true, efforts: ['minimal', 'low', 'medium', 'high'] }],
    ['gpt-5.6-sol', { ...reasoning, cacheMarks: 'prompt_cache_breakpoint' }],
    ['o3', { ...reasoning, maxStop: 0 }],
    ['o3-pro', { ...reasoning, maxStop: 0 }],
    ['o4-mini', { ...reasoning, maxStop: 0 }],
    ['o3-mini', { ...reasoning, vision: false }],
    ['gpt-4o-mini', { rejectsSampling: false, thinking: false, vision: true, maxOutput: 16_384, maxStop: 4 }],
    ['gpt-4.1', { rejectsSampling: false, thinking: false, contextWindow: 1_047_576 }],
    ['gpt-4-0613', { vision: false, structuredOutput: false, contextWindow: 8192 }],
    ['gpt-4-turbo', { contextWindow: 128_000 }],
    ['gpt-4-1106-preview', { contextWindow: 128_000 }],
    ['gpt-oss-120b', { rejectsSampling: false, maxTokensField: 'max_tokens', systemRole: 'system' }],
    ['qwen3:8b', { ...thinks, efforts: ['none', 'low', 'medium', 'high'] }],
    [
      'gpt-4.5-preview',
      { ...DEFAULT_TRAITS, prefill: false, forcedTools: 'always', schemaRoot: 'object', jsonWord: true },
    ],
    ['gemini-2.5-flash', { thinkingOff: 'always', efforts: ['none', 'minimal', 'low', 'medium', 'high'] }],
    ['gemini-2.5-pro', { thinkingOff: 'never' }],
    ['gemini-3-flash', { thinkingOff: 'never' }],
    ...[
      'llama-3.3-70b-versatile',
      'llama3.2:3b',
      'gemma3',
      'gemma-2-9b-it',
      'qwen2.5-coder:7b',
      'qwen-2.5-72b-instruct',
      'qwen3-coder:30b',
      'codestral-latest',
      'mistral-nemo',
      'mistral-large-latest',
      'ministral-14b-latest',
      'phi4',
    ].map((name): [string, object] => [name, { thinking: false, efforts: [] }]),
    ...['qwen3:8b', 'gemma4', 'phi4-reasoning', 'kimi-latest'].map((name): [string, object] => [
      name,
      { efforts: ['none', 'low', 'medium', 'high'] },
    ]),
    ...['mistral-small-latest', 'mistral-medium-2604', 'magistral-medium-latest'].map(
      (name): [string, object] => [name, { efforts: ['none', 'high'] }],
    ),
    ...['grok-3', 'grok-4-fast-reasoning', 'grok-4.20-0309-reasoning', 'x-ai/grok-code-fast-1'].map(
      (name): [string, object] => [name, { efforts: [] }],
    ),
    ...['grok-3-mini', 'grok-4', 'grok-4.20-multi-agent'].map((name): [string, object] => [
      name,
      { efforts: ['none', 'low', 'medium', 'high'] },
    ]),
    ['grok-4.5', { efforts: ['low', 'medium', 'high'] }],
    ['olympus-o3', DEFAULT_TRAITS],
  ])('%s', (name, expected) => {
    const { traits } = createModelInfo().about(provider('any', null), name, undefined, NOW);
    expect(traits).toMatchObject(expected);
  });

  it.each([
    ['claude-nova-9', 'contextWindow'],
    ['gpt-4-turbo', 'vision'],
    ['gpt-4.5-preview', 'vision'],
  ])('does not guess: %s has no %s', (name, trait) => {
    expect(createModelInfo().about(provider('any', null), name, undefined, NOW).traits).not.toHaveProperty(
      trait,
    );
  });

  it('says of an unknown model nothing but the tolerant defaults', () => {
    expect(createModelInfo().about(provider('any', null), 'mystery', undefined, NOW).traits).toEqual(
      DEFAULT_TRAITS,
    );
  });
});

describe('what beats what', () => {
  const traitsOf = (traits: Partial<Traits>, name = 'gpt-5.2', model = {}): Traits =>
    createModelInfo().about(
      provider('any', null, { traits }),
      name,
      { id: name, upstream: name, ...model },
      NOW,
    ).traits;

  it("the provider's traits beat what is known of the model", () => {
    expect(traitsOf({ maxTokensField: 'max_tokens', rejectsSampling: false })).toMatchObject({
      maxTokensField: 'max_tokens',
      rejectsSampling: false,
      systemRole: 'developer',
    });
  });

  it("the file's entry of the model beats everything", () => {
    const entry = { vision: false, contextWindow: 5, maxOutput: 6 };
    expect(traitsOf({ vision: true }, 'gpt-5.2', entry)).toMatchObject(entry);
  });

  it.each<[string, Partial<Traits>, object, object]>([
    [
      'no documents behind a server that takes no PDF',
      { pdfInput: false },
      {},
      { documents: false, pdfInput: false },
    ],
    [
      'documents where the file says so',
      { pdfInput: false },
      { documents: true },
      { documents: true, pdfInput: true },
    ],
    ['no documents where the file says so', {}, { documents: false }, { documents: false, pdfInput: true }],
  ])('a model takes %s', (_, traits, entry, expected) => {
    expect(traitsOf(traits, 'gpt-5.2', entry)).toMatchObject(expected);
  });

  it("at an aggregator the model's rules hold, but not its maker's wire", () => {
    expect(traitsOf({}, 'openai/gpt-5.2')).toMatchObject({
      rejectsSampling: true,
      maxStop: 0,
      maxTokensField: 'max_tokens',
      systemRole: 'system',
      userField: 'user',
    });
  });
});

describe('the price book', () => {
  const anthropic = provider('mine', null, { baseUrls: { messages: 'https://api.anthropic.com/v1' } });

  it('gives prices of the provider at that address, and windows, once it is loaded', async () => {
    const facts = createModelInfo();
    expect(facts.about(anthropic, 'claude-sonnet-4-5-20250929', undefined, NOW).price).toBeUndefined();
    expect(await facts.load([anthropic])).toBe(true);
    expect(await facts.load([anthropic])).toBe(false);
    const { price, traits } = facts.about(anthropic, 'claude-sonnet-4-5-20250929', undefined, NOW);
    expect(price).toMatchObject({ input: { base: 3 }, output: { base: 15 }, cacheRead: { base: 0.3 } });
    expect(traits.contextWindow).toBe(200_000);
  });

  it('has the rows of the package, in the files that the build writes', async () => {
    const urls = ['https://api.openai.com/v1', 'https://openrouter.ai/api/v1', 'http://127.0.0.1:1/v1'];
    const shelves = await readPriceBook(urls);
    expect([...shelves.keys()]).toEqual(urls);
    for (const [url, shelf] of shelves) {
      const models = findProvider({ providerApiUrl: url })?.models ?? [];
      const plain = models.map(({ match, prices, context_window }) => ({ match, prices, context_window }));
      expect(shelf).toEqual(plain);
    }
    expect([...shelves.values()].map(({ length }) => length > 20)).toEqual([true, true, false]);
  });

  it('gives a model of a famous name on an own server no price', async () => {
    const facts = createModelInfo();
    const local = provider('local', null, { baseUrls: { chat: 'http://127.0.0.1:11434/v1' } });
    await facts.load([anthropic, local]);
    expect(facts.about(local, 'gpt-5.2', undefined, NOW).price).toBeUndefined();
  });

  it('takes the price of the day', async () => {
    const facts = createModelInfo();
    await facts.load([anthropic]);
    const steps = (now: number): number | undefined =>
      facts.about(anthropic, 'claude-opus-4-6', undefined, now).price?.input?.steps?.length;
    expect(steps(Date.UTC(2026, 1, 1))).toBe(1);
    expect(steps(NOW)).toBeUndefined();
  });

  it("is beaten by the file's price", async () => {
    const facts = createModelInfo();
    await facts.load([anthropic]);
    const model = { id: 'x', upstream: 'claude-sonnet-5', price: { input: 1, output: 2 } };
    expect(facts.about(anthropic, 'claude-sonnet-5', model, NOW).price).toEqual({
      input: { base: 1 },
      output: { base: 2 },
    });
  });

  it('reaches targets that are already resolved by name', async () => {
    const routing = createRouting({ config: config([anthropic]), clock: fakeClock() });
    const priced = (): boolean =>
      routing.resolve(question('mine/claude-sonnet-5')).targets[0]?.price !== undefined;
    expect(priced()).toBe(false);
    await routing.loadPrices();
    expect(priced()).toBe(true);
  });

  it('is not loaded for servers on this machine alone, and is once another comes', async () => {
    const local = provider('local', ['m'], { baseUrls: { chat: 'http://127.0.0.1:1/v1' } });
    const routing = createRouting({ config: config([local]), clock: fakeClock() });
    await routing.loadPrices();
    routing.update(config([local, anthropic]));
    const priced = (): boolean =>
      routing.resolve(question('mine/claude-sonnet-5')).targets[0]?.price !== undefined;
    expect(priced()).toBe(false);
    await routing.loadPrices();
    expect(priced()).toBe(true);
  });
});

describe('what an answer cost', () => {
  const price = {
    input: { base: 2, steps: [{ above: 1000, rate: 4 }] },
    output: { base: 10 },
    cacheRead: { base: 0.2 },
    cacheWrite: { base: 2.5 },
    cacheWrite1h: { base: 4 },
  };

  it.each([
    ['input and output', { input: 500, output: 100 }, (500 * 2 + 100 * 10) / 1e6],
    ['caches apart', { input: 100, cacheRead: 200, cacheWrite: 300, output: 0 }, (200 + 40 + 750) / 1e6],
    [
      'the part that is kept for an hour',
      { input: 0, cacheWrite: 300, cacheWrite1h: 100, output: 0 },
      (200 * 2.5 + 100 * 4) / 1e6,
    ],
    ['a long input at its higher rate, whole', { input: 1001, output: 0 }, (1001 * 4) / 1e6],
    ['a long input by its whole length', { input: 1, cacheRead: 1000, output: 0 }, (4 + 200) / 1e6],
    ['nothing', { input: 0, output: 0 }, 0],
  ])('%s', (_, usage, expected) => {
    expect(costOf(price, usage)).toBeCloseTo(expected, 12);
  });

  it('takes the input rate for a cache without one', () => {
    const usage = { input: 0, cacheRead: 10, cacheWrite: 20, output: 0 };
    expect(costOf({ input: { base: 1 }, output: { base: 1 } }, usage)).toBeCloseTo(30e-6, 12);
  });

  test('unknown stays unknown', () => {
    const usage = { input: 1, output: 1 };
    expect(costOf(undefined, usage)).toBeUndefined();
    expect(costOf({ input: { base: 1 } }, usage)).toBeUndefined();
  });
});

it('takes the windows that a provider reports, below those of the file', () => {
  const facts = createModelInfo();
  const local = provider('ollama', null);
  const windowOf = (model?: ModelConfig) => facts.about(local, 'qwen3', model, NOW).traits.contextWindow;
  expect(facts.setWindows('ollama', new Map([['qwen3', 4096]]))).toBe(true);
  expect(facts.setWindows('ollama', new Map([['qwen3', 4096]]))).toBe(false);
  expect(windowOf()).toBe(4096);
  expect(windowOf({ id: 'qwen3', upstream: 'qwen3', contextWindow: 8192 })).toBe(8192);
});
