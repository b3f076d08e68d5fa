import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { PRESETS } from '../../src/config/presets/presets.ts';
import { faultsOf, load } from './folder.ts';

const text = readFileSync(path.resolve(import.meta.dirname, '../../config.example.yaml'), 'utf8');
const KEYS = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o', WORKSTATION_KEY: 'w' };

it('the example starts without a single key, on the simulated provider', () => {
  const config = load(text);
  expect(config.providers.map(({ name }) => name)).toEqual(['sim']);
  expect([...config.routes].map(([name, { targets }]) => [name, targets])).toEqual([
    ['auto', []],
    ['fast', []],
    ['shared', []],
    ['coding', []],
  ]);
});

it('the example never answers with the simulated provider in place of a real one', () => {
  const config = load(text, { env: KEYS });
  const targets = [...config.routes.values()].flatMap((route) => route.targets);
  expect(targets.map(({ provider }) => provider)).not.toContain('sim');
});

it('the example is used whole once its keys are set', () => {
  const config = load(text, { env: KEYS });
  expect(config.warnings).toEqual([]);
  expect(config.providers.map(({ name }) => name)).toEqual(['anthropic', 'openai', 'workstation', 'sim']);
  expect(config.routes.get('auto')?.targets).toHaveLength(3);
});

it('what the example says is what is taken without it', () => {
  const { listen, tiers, defaultTier, strict, usage, limits, maintenance, admin, metrics } =
    load('providers:\n  sim:\n');
  expect(load(text)).toMatchObject({
    listen: { ...listen, defaultHosts: false },
    defaultTier,
    strict,
    usage,
    limits,
    maintenance,
    admin,
    metrics,
  });
  expect(load(text).tiers).toEqual(tiers);
});

it('the example shows every key that a file may hold', () => {
  const probe = `zzzzzz: 1
listen: { zzzzzz: 1 }
providers:
  own: { zzzzzz: 1, timeout: { zzzzzz: 1 }, models: [{ id: a, zzzzzz: 1, price: { zzzzzz: 1 } }] }
routes: { a: { zzzzzz: 1, targets: [own/a] } }
usage: { zzzzzz: 1 }
brakes: { zzzzzz: 1 }
limits: { zzzzzz: 1 }
metrics: { zzzzzz: 1 }
`;
  const faults = faultsOf(probe);
  expect(faults).toHaveLength(11);
  const keys = faults.flatMap((line) => (/known: (.*)$/.exec(line)?.[1] ?? '…').split(', '));
  expect(keys).not.toContain('…');
  for (const key of keys) expect(text).toMatch(new RegExp(`\\b${key}:`));
});

it('the brakes that the example shows are none until their line counts, and read as they stand', () => {
  expect(load(text).brakes).toBeNull();
  expect(load(text.replace('# brakes:', 'brakes:')).brakes).toEqual({
    conversation: 3e9,
    repeatedCall: 5,
    requestsAPrompt: 200,
  });
});

it('the example lists every well-known name', () => {
  for (const { name } of PRESETS) expect(text).toMatch(new RegExp(`\\b${name}\\b`));
});
