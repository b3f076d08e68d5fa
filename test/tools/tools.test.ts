// What each tool gets for a gateway, a key, a model and its limits.
import { describe, expect, it } from 'vitest';
import { claudeSettings } from '../../src/tools/claude-setup.ts';
import type { Environment } from '../../src/environment.ts';
import { programSetup, variablesFor, type Pointing, type Setup } from '../../src/tools/setups.ts';
import { findTool, TOOLS } from '../../src/tools/tools.ts';

const TO: Pointing = {
  url: 'http://127.0.0.1:8787',
  key: 'sk-gw-secret',
  model: 'up/m',
  window: 100_000,
  output: 16_000,
  fileAt: (name) => `/private/${name}`,
};
const UNKNOWN: Pointing = { ...TO, window: null, output: null };

const setupOf = (name: string, to: Pointing = TO): Setup => {
  const tool = findTool(name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.setup(to);
};

const fileOf = ({ files }: Setup, name: string): unknown => JSON.parse(files?.[name] ?? '');

describe.each([...TOOLS, { name: 'a program', setup: programSetup }])('$name', ({ setup }) => {
  it.each([
    ['known', TO],
    ['unknown', UNKNOWN],
  ])('has no key in its arguments; limits that are %s leave no other text', (_, to) => {
    const { env, args = [], files = {} } = setup(to);
    const shown = JSON.stringify([args, files]);
    expect(args.join(' ')).not.toContain(to.key);
    expect(JSON.stringify(env)).toContain(to.key);
    expect(shown + JSON.stringify(env)).not.toMatch(/undefined|NaN|Infinity/);
    for (const value of Object.values(env)) if (value !== undefined) expect(value).not.toBe('null');
  });
});

describe('Claude Code', () => {
  it('uses the model for everything, and compacts before the window of the target is full', () => {
    const { env } = setupOf('claude');
    expect(env).toMatchObject({
      ANTHROPIC_BASE_URL: TO.url,
      ANTHROPIC_AUTH_TOKEN: TO.key,
      ANTHROPIC_API_KEY: '',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'up/m',
      CLAUDE_CODE_SUBAGENT_MODEL: 'up/m',
      // 100,000 - 16,000 - 3 %
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: '81000',
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: '16000',
      CLAUDE_CODE_USE_BEDROCK: '0',
    });
  });

  it('is told to show limits, and to send its effort all the same, where the person wants it', () => {
    const marks = ['CLAUDE_CODE_USE_GATEWAY', 'CLAUDE_CODE_ALWAYS_ENABLE_EFFORT', 'ANTHROPIC_CUSTOM_HEADERS'];
    const of = (env: Environment): unknown[] => marks.map((name) => env[name]);
    expect(of(setupOf('claude').env)).toEqual([undefined, undefined, undefined]);
    const native = { ...TO, native: true };
    // The key of a run bears the mark itself; that of settings may be one of the person's.
    expect(of(setupOf('claude', native).env)).toEqual(['1', '1', undefined]);
    expect(of(variablesFor(claudeSettings(native), {}))).toEqual(['1', '1', 'x-gateway-native: 1']);
  });

  it('gets the variables in a file, too, which ranks above the settings of the user', () => {
    const setup = setupOf('claude');
    expect(setup.args).toEqual(['--settings', '/private/claude-settings.json']);
    expect(fileOf(setup, 'claude-settings.json')).toMatchObject({
      env: { ANTHROPIC_BASE_URL: TO.url, ANTHROPIC_AUTH_TOKEN: TO.key, ANTHROPIC_API_KEY: '' },
    });
  });

  it.each([
    ['a large window and output', { window: 1_000_000, output: 128_000 }, '938000', '32000'],
    ['a small window alone', { window: 32_768, output: null }, '23592', '8192'],
    ['an output alone', { window: null, output: 4096 }, undefined, '4096'],
    ['neither', { window: null, output: null }, undefined, undefined],
  ])('of %s', (_, limits, window, output) => {
    const { env } = setupOf('claude', { ...TO, ...limits });
    expect(env['CLAUDE_CODE_MAX_CONTEXT_TOKENS']).toBe(window);
    expect(env['CLAUDE_CODE_MAX_OUTPUT_TOKENS']).toBe(output);
  });
});

it('Codex gets a provider of its own and a catalog with the window of the model', () => {
  const setup = setupOf('codex');
  expect(setup.args?.filter((word) => word !== '-c')).toEqual([
    'model="up/m"',
    'model_provider="gateway"',
    'model_catalog_json="/private/codex-models.json"',
    'web_search="disabled"',
    'model_providers.gateway.name="Gateway"',
    'model_providers.gateway.base_url="http://127.0.0.1:8787/v1"',
    'model_providers.gateway.wire_api="responses"',
    'model_providers.gateway.env_key="GATEWAY_KEY"',
    'model_providers.gateway.request_max_retries=0',
    'model_providers.gateway.stream_max_retries=2',
    'model_providers.gateway.stream_idle_timeout_ms=600000',
    'model_providers.gateway.supports_websockets=true',
  ]);
  expect(setup.env).toEqual({ GATEWAY_KEY: TO.key });
  expect(fileOf(setup, 'codex-models.json')).toMatchObject({
    models: [{ slug: 'up/m', context_window: 100_000 }],
  });
});

it('Codex keeps its web search where the target has one', () => {
  for (const serverTools of [undefined, [], ['messages']])
    expect(setupOf('codex', { ...TO, serverTools }).args).toContain('web_search="disabled"');
  const { args } = setupOf('codex', { ...TO, serverTools: ['chat', 'messages', 'responses'] });
  expect(args?.join(' ')).not.toContain('web_search');
});

it.each([
  [TO, { context: 100_000, output: 16_000 }],
  [
    { ...TO, output: null },
    { context: 100_000, output: 8192 },
  ],
  [UNKNOWN, undefined],
])('opencode gets its configuration inline (%#)', (to, limit) => {
  const { env } = setupOf('opencode', to);
  expect(JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '')).toEqual({
    provider: {
      gateway: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Gateway',
        options: { baseURL: `${TO.url}/v1`, apiKey: '{env:GATEWAY_KEY}' },
        models: { 'up/m': { name: 'up/m', ...(limit && { limit }) } },
      },
    },
    model: 'gateway/up/m',
    small_model: 'gateway/up/m',
  });
});

it('Qwen Code reaches the gateway past a proxy, by settings that rank above those of the user', () => {
  const setup = setupOf('qwen');
  // Its subcommands refuse options of others.
  expect(setup.args).toBeUndefined();
  expect(setup.env).toMatchObject({
    OPENAI_BASE_URL: `${TO.url}/v1`,
    OPENAI_API_KEY: TO.key,
    QWEN_CODE_SYSTEM_SETTINGS_PATH: '/private/qwen-settings.json',
    QWEN_CODE_MAX_OUTPUT_TOKENS: '16000',
  });
  for (const name of ['HTTP_PROXY', 'https_proxy', 'ALL_PROXY']) {
    expect(Object.keys(setup.env)).toContain(name);
    expect(setup.env[name]).toBeUndefined();
  }
  expect(fileOf(setup, 'qwen-settings.json')).toEqual({
    security: { auth: { selectedType: 'openai' } },
    model: { name: 'up/m', generationConfig: { contextWindowSize: 100_000 } },
  });
});

it.each([
  [
    'copilot',
    {
      COPILOT_PROVIDER_BASE_URL: `${TO.url}/v1`,
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_API_KEY: TO.key,
      COPILOT_MODEL: 'up/m',
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '84000',
      COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: '16000',
      COPILOT_OFFLINE: 'true',
    },
  ],
  [
    'aider',
    {
      OPENAI_API_BASE: `${TO.url}/v1`,
      OPENAI_API_KEY: TO.key,
      AIDER_MODEL: 'openai/up/m',
      AIDER_WEAK_MODEL: 'openai/up/m',
      AIDER_MODEL_METADATA_FILE: '/private/aider-models.json',
    },
  ],
  [
    'goose',
    {
      GOOSE_PROVIDER: 'openai',
      GOOSE_MODEL: 'up/m',
      GOOSE_CONTEXT_LIMIT: '100000',
      OPENAI_HOST: TO.url,
      OPENAI_BASE_PATH: 'v1/chat/completions',
      OPENAI_API_KEY: TO.key,
    },
  ],
  [
    'kimi',
    {
      KIMI_MODEL_NAME: 'up/m',
      KIMI_MODEL_BASE_URL: `${TO.url}/v1`,
      KIMI_MODEL_API_KEY: TO.key,
      KIMI_MODEL_MAX_CONTEXT_SIZE: '100000',
    },
  ],
  ['crush', { GATEWAY_KEY: TO.key, CRUSH_GLOBAL_CONFIG: '/private/' }],
])('%s gets its variables', (name, env) => {
  expect(setupOf(name).env).toMatchObject(env);
});

it('aider learns the limits of the model from a file', () => {
  expect(fileOf(setupOf('aider'), 'aider-models.json')).toMatchObject({
    'openai/up/m': { max_input_tokens: 100_000, max_output_tokens: 16_000 },
  });
});

it('pi gets the provider as an extension', () => {
  const { args, files } = setupOf('pi');
  expect(args).toEqual(['--extension', '/private/gateway.ts', '--provider', 'gateway', '--model', 'up/m']);
  expect(files?.['gateway.ts']).toContain('"contextWindow":100000,"maxTokens":16000');
  expect(files?.['gateway.ts']).toMatch(
    /^export default \(pi\) => pi\.registerProvider\('gateway', \{.*\}\);\n$/,
  );
});

it('Crush gets one provider, for large and small tasks', () => {
  expect(fileOf(setupOf('crush'), 'crush.json')).toMatchObject({
    providers: { gateway: { api_key: '$GATEWAY_KEY', models: [{ id: 'up/m', context_window: 100_000 }] } },
    models: { large: { model: 'up/m' }, small: { model: 'up/m' } },
  });
});
