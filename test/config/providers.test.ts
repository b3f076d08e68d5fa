import { describe, expect, it, test } from 'vitest';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { PROTOCOL_NAMES } from '../../src/canonical/request.ts';
import { readBaseUrl } from '../../src/config/provider/base-url.ts';
import { LOCAL_CANDIDATES } from '../../src/config/providers.ts';
import type { ProviderConfig } from '../../src/config/config.ts';
import { FLAG_NAMES, readFlag } from '../../src/config/schema/flags.ts';
import { inRegion, PRESETS } from '../../src/config/presets/presets.ts';
import { load } from './folder.ts';

const provider = (text: string, env: Record<string, string> = {}): ProviderConfig | undefined =>
  load(`providers:\n  ${text}\n  sim:\n`, { env }).providers[0];

describe('a provider of the file', () => {
  it('that is well known needs nothing but its name', () => {
    expect(provider('deepseek:', { DEEPSEEK_API_KEY: 'd' })).toMatchObject({
      name: 'deepseek',
      protocols: ['chat', 'messages'],
      baseUrls: { chat: 'https://api.deepseek.com/v1', messages: 'https://api.deepseek.com/anthropic/v1' },
      apiKey: 'd',
      models: null,
      traits: { replayReasoning: 'tool_turns' },
      source: 'file',
    });
  });

  it('of the user’s own is taken unchanged', () => {
    const text = `own: { protocol: [messages, chat], base_url: "http://h:1/x/", api_key: k, shared_ids: true, headers: { X-A: b },
    flags: { max_tokens_field: max_completion_tokens, reject_fields: [seed], efforts: [low, high], max_stop: 2 },
    timeout: { idle: 1m }, models: [a, { id: b, upstream: "c:d", vision: false, structured_output: true, max_output: 9, price: { cache_read: 0.1 } }] }`;
    expect(provider(text)).toEqual({
      name: 'own',
      protocols: ['messages', 'chat'],
      baseUrls: { messages: 'http://h:1/x/v1', chat: 'http://h:1/x' },
      apiKey: 'k',
      keyFrom: 'providers.own.api_key',
      auth: 'protocol',
      headers: { 'x-a': 'b' },
      sharedIds: true,
      traits: {
        maxTokensField: 'max_completion_tokens',
        rejectFields: ['seed'],
        efforts: ['low', 'high'],
        maxStop: 2,
        promptCache: 'auto',
      },
      flags: {
        maxTokensField: 'max_completion_tokens',
        rejectFields: ['seed'],
        efforts: ['low', 'high'],
        maxStop: 2,
      },
      repairTools: false,
      timeout: { connect: 10_000, firstByte: 600_000, idle: 60_000, whole: 900_000 },
      models: [
        { id: 'a', upstream: 'a' },
        {
          id: 'b',
          upstream: 'c:d',
          vision: false,
          structuredOutput: true,
          maxOutput: 9,
          price: { cacheRead: 0.1 },
        },
      ],
      defaultModel: undefined,
      source: 'file',
    });
  });

  it('that is well known may lie elsewhere, then without a key, in the protocols that are certain there', () => {
    const openai = provider('openai: { base_url: "http://127.0.0.1:9" }');
    expect(openai).toMatchObject({
      protocols: ['chat'],
      baseUrls: { chat: 'http://127.0.0.1:9/v1' },
      apiKey: undefined,
    });
    expect(provider('deepseek: { base_url: "http://h" }')?.protocols).toEqual(['chat']);
    expect(provider('openrouter: { base_url: "http://h" }')?.protocols).toEqual(['chat', 'messages']);
    expect(provider('deepseek: { base_url: "http://h", protocol: messages }')?.baseUrls).toEqual({
      messages: 'http://h/v1',
    });
  });

  it('that is local may be asked in its other protocol', () => {
    expect(provider('ollama: { protocol: messages }')).toMatchObject({
      protocols: ['messages'],
      baseUrls: { messages: 'http://127.0.0.1:11434/v1' },
    });
  });

  it('takes the key that the file names before the well-known variable', () => {
    const env = { OPENAI_API_KEY: 'o', MINE: 'm' };
    expect(provider('openai: { api_key: "${MINE}" }', env)?.apiKey).toBe('m');
  });

  it('of a local preset may take half an hour to begin, any other ten minutes', () => {
    expect(provider('ollama:')?.timeout).toMatchObject({ firstByte: 1_800_000, whole: 1_800_000 });
    expect(provider('own: { protocol: chat, base_url: "http://h:1" }')?.timeout.firstByte).toBe(600_000);
    expect(provider('ollama: { timeout: { first_byte: 5s } }')?.timeout.firstByte).toBe(5000);
  });

  it('repairs calls of servers on this machine, unless told', () => {
    const repairs = (text: string): boolean | undefined => provider(text)?.repairTools;
    expect(repairs('own: { protocol: chat, base_url: "http://localhost:1/v1" }')).toBe(true);
    expect(repairs('own: { protocol: chat, base_url: "http://127.0.0.1:1/v1", repair_tools: false }')).toBe(
      false,
    );
    expect(repairs('own: { protocol: chat, base_url: "http://gpu.lan:1/v1" }')).toBe(false);
    expect(repairs('own: { protocol: chat, base_url: "http://gpu.lan:1/v1", repair_tools: true }')).toBe(
      true,
    );
  });

  it('prompt_cache beats the preset', () => {
    const env = { ANTHROPIC_API_KEY: 'a' };
    expect(provider('anthropic:', env)?.traits.promptCache).toBe('auto');
    expect(provider('anthropic: { prompt_cache: "off" }', env)?.traits.promptCache).toBe('off');
    expect(provider('own: { protocol: chat, base_url: "http://h" }')?.traits.promptCache).toBeUndefined();
  });

  it('sim is built in: its URLs are filled in by who starts it', () => {
    const config = load('providers:\n  sim: { models: [echo] }\n');
    expect(config.providers[0]).toMatchObject({
      name: 'sim',
      source: 'builtin',
      baseUrls: {},
      models: [{ id: 'echo', upstream: 'echo' }],
      timeout: { connect: 3000, firstByte: 3000, idle: 3000, whole: 3000 },
    });
  });
});

describe('a base URL is understood as an official SDK takes it', () => {
  test.each([
    ['https://api.openai.com/v1', 'https://api.openai.com/v1'],
    ['https://api.anthropic.com', 'https://api.anthropic.com/v1'],
    [' http://127.0.0.1:11434/ ', 'http://127.0.0.1:11434/v1'],
    ['http://h/v1///', 'http://h/v1'],
    ['http://h/v1beta/openai/', 'http://h/v1beta/openai'],
    ['http://h/api/paas/v4', 'http://h/api/paas/v4'],
    ['http://h/openai/v1', 'http://h/openai/v1'],
    ['http://[::1]:80/v1', 'http://[::1]/v1'],
    ['https://h/v1/chat/completions', 'https://h/v1'],
    ['https://h/v1/messages/', 'https://h/v1'],
    ['https://h/x/v1/responses', 'https://h/x/v1'],
    ['https://h/chat/completions', 'https://h'],
  ])('%s', (text, url) => {
    expect(urlsOf(text)).toEqual({ chat: url, messages: url, responses: url });
  });

  test.each([
    ['https://models.github.ai/inference', 'https://models.github.ai/inference/v1'],
    ['http://127.0.0.1:3000/api', 'http://127.0.0.1:3000/api/v1'],
    ['http://h/anthropic', 'http://h/anthropic/v1'],
    ['http://h/vault', 'http://h/vault/v1'],
  ])('%s stays, but for the SDKs of messages, which add their version', (text, ofMessages) => {
    expect(urlsOf(text)).toEqual({ chat: text, messages: ofMessages, responses: text });
  });

  test.each([
    'h:1',
    'localhost:11434',
    '/v1',
    'file:///x',
    'http://u:p@h',
    'http://u@h',
    'http://h?key=1',
    'http://h#x',
    '',
  ])('not %s', (text) => {
    expect(readBaseUrl(text)).toHaveProperty('fault');
  });
});

function urlsOf(text: string): object {
  const base = readBaseUrl(text);
  if ('fault' in base) return base;
  return Object.fromEntries(PROTOCOL_NAMES.map((protocol) => [protocol, base.urlFor(protocol)]));
}

/** Their addresses have no version. */
const UNVERSIONED = ['copilot', 'perplexity'];

describe('presets', () => {
  test.each(PRESETS.map((preset) => [preset.name, preset] as const))('%s is whole', (_, preset) => {
    for (const [protocol, url] of Object.entries(inRegion(preset, 'eu-central-1').baseUrls))
      if (!UNVERSIONED.includes(preset.name)) expect(urlsOf(url)).toHaveProperty(protocol, url);
    for (const member of Object.keys(preset.traits))
      expect({ ...DEFAULT_TRAITS, tools: true, embeddings: false }).toHaveProperty(member);
    for (const key of preset.keys)
      expect(key).toMatch(/^[A-Z]+(_[A-Z]+)*_API_KEY$|^AWS_BEARER_TOKEN_BEDROCK$/);
    if (preset.rules !== undefined) expect(PRESETS.map(({ name }) => name)).toContain(preset.rules);
    if (Object.keys(preset.baseUrls).length > 0)
      for (const protocol of preset.protocols) expect(preset.baseUrls[protocol]).toBeDefined();
    expect(preset.localPort === undefined).toBe(preset.keys.length > 0);
    expect(PRESETS.filter(({ name }) => name === preset.name)).toHaveLength(1);
  });

  it('of a region takes the addresses there', () => {
    const key = { AWS_BEARER_TOKEN_BEDROCK: 'k' };
    const url = 'https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1';
    const found = (text: string | undefined, env: Record<string, string>) =>
      load(text, { env }).providers.find(({ name }) => name === 'bedrock');
    const named = found('providers: { bedrock: { region: eu-central-1 } }', {
      ...key,
      AWS_REGION: 'us-west-2',
    });
    expect(named).toMatchObject({ baseUrls: { chat: url }, auth: 'bearer', apiKey: 'k', preset: 'bedrock' });
    const fromEnv = found('providers: { bedrock: }', { ...key, AWS_REGION: 'eu-central-1' });
    expect(fromEnv?.baseUrls).toEqual({ chat: url, responses: url });
    expect(found(undefined, { ...key, AWS_DEFAULT_REGION: 'eu-central-1' })?.baseUrls.chat).toBe(url);
    expect(load(undefined, { env: { ...key, OPENAI_API_KEY: 'k' } }).leftOut).toContainEqual({
      provider: 'bedrock',
      why: 'AWS_REGION is not set',
      names: [],
    });
  });

  it('of a plan has its own address and key, and all else of its provider', () => {
    const [plan] = load('providers: { kimi-coding: }', { env: { KIMI_API_KEY: 'k' } }).providers;
    expect(plan).toMatchObject({
      baseUrls: { chat: 'https://api.kimi.com/coding/v1' },
      preset: 'moonshot',
      traits: { reasoningFill: ' ', imageUrl: false },
    });
  });

  it('are not found by variables that are there for other purposes', () => {
    const env = { GITHUB_TOKEN: 'k', HF_TOKEN: 'k', AWS_REGION: 'eu-central-1', OPENAI_API_KEY: 'k' };
    expect(load(undefined, { env }).providers.map(({ name }) => name)).toEqual(['openai']);
  });

  it('local servers are candidates without a credential', () => {
    expect(LOCAL_CANDIDATES.map(({ name, baseUrls }) => [name, baseUrls.chat])).toEqual([
      ['ollama', 'http://127.0.0.1:11434/v1'],
      ['lmstudio', 'http://127.0.0.1:1234/v1'],
      ['llamacpp', 'http://127.0.0.1:8080/v1'],
      ['vllm', 'http://127.0.0.1:8000/v1'],
      ['sglang', 'http://127.0.0.1:30000/v1'],
      ['jan', 'http://127.0.0.1:1337/v1'],
      ['koboldcpp', 'http://127.0.0.1:5001/v1'],
      ['docker', 'http://127.0.0.1:12434/engines/v1'],
      ['gpt4all', 'http://127.0.0.1:4891/v1'],
    ]);
    for (const { apiKey, source } of LOCAL_CANDIDATES) expect([apiKey, source]).toEqual([undefined, 'local']);
  });
});

describe('flags', () => {
  it('every default of the wire can be written as its flag', () => {
    const written: Record<string, unknown> = {};
    for (const name of FLAG_NAMES) {
      const member = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      const value = DEFAULT_TRAITS[member as keyof typeof DEFAULT_TRAITS];
      expect(readFlag(name, value)).toEqual({ traits: { [member]: value } });
      written[member] = value;
    }
    expect({ ...written, promptCache: 'off' }).toEqual(DEFAULT_TRAITS);
  });

  it.each([[[]], [[128, 32_768]], [[0, 0]]])('%j is a range of thinking budgets', (value) => {
    expect(readFlag('budget_range', value)).toEqual({ traits: { budgetRange: value } });
  });

  it.each([['128-32768'], [[128]], [[2, 1]], [[1, 2, 3]], [[-1, 2]], [['a', 'b']]])(
    '%j is no range of thinking budgets',
    (value) => {
      expect(readFlag('budget_range', value)).toEqual({
        fault: 'is not a range; write the least and the most tokens, like [128, 32768], or []',
      });
    },
  );
});
