// How well-known providers deviate from their protocol, as a file gets it that says no more than their names.
import { expect, it } from 'vitest';
import type { Traits } from '../../src/canonical/traits.ts';
import { PRESETS } from '../../src/config/presets/presets.ts';
import { FLAG_NAMES } from '../../src/config/schema/flags.ts';
import { CLAUDE } from '../../src/routing/models/claude.data.ts';
import { HOSTS } from '../../src/routing/models/hosts.data.ts';
import { OPENAI } from '../../src/routing/models/openai.data.ts';
import { OTHERS } from '../../src/routing/models/others.data.ts';
import { snakeCase } from '../../src/snake-case.ts';
import { load } from './folder.ts';

const KEYS = { OPENAI_API_KEY: 'k', MISTRAL_API_KEY: 'k', GEMINI_API_KEY: 'k', AZURE_OPENAI_API_KEY: 'k' };

it.each<[string, Partial<Traits>]>([
  ['openai', { toolIds: 'openai', maxTokensField: 'max_completion_tokens', systemRole: 'developer' }],
  ['mistral', { toolIds: 'mistral', userAfterTool: false, streamUsage: false }],
  ['gemini', { thoughtSignatures: true }],
  ['ollama', { reasoningField: 'reasoning', imageUrl: false }],
  ['vllm', { reasoningField: 'reasoning', strictAlternation: true }],
  ['lmstudio', { strictAlternation: true }],
  ['llamacpp', { reasoningField: 'reasoning_content' }],
])('%s needs no flags in the file', (name, traits) => {
  const { providers } = load(`providers: { ${name}: {} }`, { env: KEYS });
  expect(providers[0]?.traits).toMatchObject(traits);
});

it('azure needs its address alone', () => {
  const text = 'providers: { azure: { base_url: "https://own.openai.azure.com/openai/v1" } }';
  expect(load(text, { env: KEYS }).providers[0]?.traits).toMatchObject({ toolIds: 'openai' });
});

it.each<[string, string, Partial<Traits>]>([
  ['vllm', '{ strict_alternation: false }', { strictAlternation: false, reasoningField: 'reasoning' }],
  ['ollama', '{ reasoning_field: reasoning_content }', { reasoningField: 'reasoning_content' }],
])('%s with flags in the file goes by those: %s', (name, flags, traits) => {
  const { providers } = load(`providers: { ${name}: { flags: ${flags} } }`);
  expect(providers[0]?.traits).toMatchObject(traits);
});

it('no flag is without a well-known provider or a model that wants it', () => {
  const atHosts = Object.values(HOSTS).flatMap((rows) => rows ?? []);
  const rows = [...CLAUDE, ...OPENAI, ...OTHERS, ...atHosts, ...PRESETS];
  const wanted = new Set(rows.flatMap(({ traits }) => Object.keys(traits)).map(snakeCase));
  expect(FLAG_NAMES.filter((name) => !wanted.has(name))).toEqual([]);
});
