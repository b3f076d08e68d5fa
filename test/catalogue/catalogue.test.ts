// The catalogue of models: what we keep of its rows, what is said when it moves, and that what was kept is read as it was meant.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Traits } from '../../src/canonical/traits.ts';
import { PRESETS } from '../../src/config/presets/presets.ts';
import { CATALOGUE } from '../../src/routing/models/catalogue.data.ts';
import { catalogued, readCatalogue } from '../../src/routing/models/catalogue.ts';
import { changes, lines, modelsOf, readLines, seals, SOURCES, unsealed, type Entry } from './facts.ts';

const ENTRY: Entry = {
  id: 'maker/Model-1',
  type: 'chat',
  api: 'any',
  reasoning: true,
  input: ['text'],
  contextWindow: 200_000,
  maxTokens: 64_000,
};
const GRADED = { minimal: null, low: 'low', medium: null, high: 'high', xhigh: null, max: 'max' };

/** From a row of the catalogue to the traits that the gateway goes by. */
function kept(entry: Partial<Entry>, preset = 'groq'): Partial<Traits> | undefined {
  return readCatalogue(lines(modelsOf(preset, [{ ...ENTRY, ...entry }])).join('\n')).get('model-1');
}

describe('of a row is kept', () => {
  const SIZES = { contextWindow: 200_000, maxOutput: 64_000, vision: false };
  const NEVER_OFF = { thinking: true, thinksByDefault: true, thinkingOff: 'never' };

  it.each<[string, Partial<Entry>, object]>([
    ['its sizes and inputs', { input: ['text', 'image'] }, { ...SIZES, vision: true }],
    [
      'that it does not think',
      { reasoning: false },
      { ...SIZES, thinking: false, efforts: [], thinksByDefault: false },
    ],
    [
      'its efforts, with the word for none',
      { thinkingLevelMap: { ...GRADED, off: 'none' } },
      {
        ...SIZES,
        thinking: true,
        efforts: ['none', 'low', 'high', 'max'],
        thinkingOff: 'always',
        thinkingForm: 'effort',
      },
    ],
    [
      'that thinking is never off, and needs no switch',
      { thinkingLevelMap: { ...GRADED, off: null }, compat: { thinkingFormat: 'zai' } },
      { ...SIZES, ...NEVER_OFF, efforts: ['low', 'high', 'max'], thinkingForm: 'effort' },
    ],
    [
      'its switch, where there are no grades',
      { thinkingLevelMap: GRADED, compat: { thinkingFormat: 'together', supportsReasoningEffort: false } },
      { ...SIZES, thinking: true, efforts: [], thinkingOff: 'always', thinkingForm: 'reasoning_enabled' },
    ],
    [
      'its switch beside grades',
      {
        thinkingLevelMap: GRADED,
        compat: { thinkingFormat: 'deepseek', requiresReasoningContentOnAssistantMessages: true },
      },
      { efforts: ['low', 'high', 'max'], thinkingForm: 'type', replayReasoning: 'tool_turns' },
    ],
    [
      'efforts that nothing is said of, up to high, and none that becomes another',
      { thinkingLevelMap: { minimal: 'low', low: 'LOW' } },
      { efforts: ['low', 'medium', 'high'] },
    ],
    ['that sampling is fixed', { compat: { supportsTemperature: false } }, { rejectsSampling: true }],
    [
      'that thinking is adaptive',
      { compat: { forceAdaptiveThinking: true } },
      { thinkingAdaptive: true, thinkingBudget: false },
    ],
  ])('%s', (_, entry, expected) => {
    expect(kept(entry)).toMatchObject(expected);
  });

  it('nothing of thinking where the catalogue does not know it', () => {
    expect(kept({ thinkingLevelMap: { off: null } })).toMatchObject({ thinkingOff: 'never' });
    expect(kept({})).toEqual(SIZES);
    expect(kept({ thinkingLevelMap: GRADED }, 'azure')).toEqual(SIZES);
    expect(kept({ type: 'image' })).toBeUndefined();
  });

  it('no size that is not the limit', () => {
    expect(kept({ contextWindow: 272_000 }, 'openai')).toEqual({ maxOutput: 64_000, vision: false });
    expect(kept({ maxTokens: 4096 })).toEqual({ contextWindow: 200_000, vision: false });
    expect(kept({ contextWindow: 8192, maxTokens: 8192 })).toMatchObject({ maxOutput: 8192 });
  });
});

it('says what changed when the catalogue moved', () => {
  const before = modelsOf('groq', [ENTRY, { ...ENTRY, id: 'old' }]);
  const after = modelsOf('groq', [
    { ...ENTRY, maxTokens: 32_000 },
    { ...ENTRY, id: 'new' },
  ]);
  expect(changes('groq', before, after)).toEqual([
    'groq/model-1: 200000/64000 text -> 200000/32000 text',
    'groq/new: new: 200000/64000 text',
    'groq/old: gone, was: 200000/64000 text',
  ]);
  expect(changes('groq', after, after)).toEqual([]);
});

const CONTENT = new URL('../../src/routing/models/catalogue.data.ts', import.meta.url);
const SEALS = new URL('seals.txt', import.meta.url);

it('names the rows that were edited by hand', () => {
  const sealed = seals({ groq: 'a b | 1/1 text\nc | 2/2 text', xai: 'd | 3/3 text' });
  const edited = { groq: 'a | 1/1 text\nb | 1/1 image\ne | 2/2 text', xai: 'd | 3/3 text' };
  expect(unsealed(edited, sealed)).toEqual([
    'groq/b: changed, now: 1/1 image',
    'groq/c: gone',
    'groq/e: new, now: 2/2 text',
  ]);
  // The order and the grouping of rows say nothing.
  expect(unsealed({ xai: 'd | 3/3 text', groq: 'c | 2/2 text\nb | 1/1 text\na | 1/1 text' }, sealed)).toEqual(
    [],
  );
});

describe('the catalogue that is kept', () => {
  it('was not edited by hand', () => {
    const version = /pi-ai (\d[\w.-]*)/.exec(readFileSync(CONTENT, 'utf8'))?.[1] ?? 'VERSION';
    const rows = unsealed(CATALOGUE, readFileSync(SEALS, 'utf8'));
    // Rows of our own belong to src/routing/models/, beside the catalogue and over it.
    const advice = `catalogue.data.ts was edited by hand. Take it back with: npm run models -- ${version}`;
    expect(rows, [advice, ...rows].join('\n')).toEqual([]);
  });

  it.each(Object.keys(SOURCES))('of %s is written as `npm run models` writes it', (preset) => {
    const text = CATALOGUE[preset] ?? '';
    expect(text.trim().split('\n')).toEqual(lines(readLines(text)));
    expect(readLines(text).size).toBeGreaterThan(1);
  });

  it('is of presets, and has no more', () => {
    expect(Object.keys(CATALOGUE)).toEqual(Object.keys(SOURCES));
    const names = PRESETS.map(({ name }) => name);
    expect(Object.keys(CATALOGUE).filter((name) => !names.includes(name))).toEqual([]);
  });

  it('has no word that is not understood', () => {
    const known = Object.keys(readWords()).sort();
    const used = Object.values(CATALOGUE).flatMap((text) => [...readLines(text ?? '').values()]);
    const odd = used.flatMap((text) => text.split(' ').slice(1)).filter((word) => !known.includes(word));
    expect(odd).toEqual([]);
  });

  it.each([
    ['openai', 'gpt-4o-2024-08-06', { maxOutput: 16_384 }],
    ['openai', 'gpt-5.2-2025-12-11', { contextWindow: 400_000 }],
    ['mistral', 'mistral-medium-latest', { maxOutput: 262_144 }],
    ['fireworks', 'accounts/fireworks/models/glm-5p3', { maxOutput: 262_144 }],
    ['groq', 'qwen/qwen3.6-27b', { efforts: ['none'] }],
    ['openai', 'mystery', {}],
    ['unknown', 'gpt-5.2', {}],
  ])('%s/%s is found by its name', (preset, model, expected) => {
    const found = catalogued(preset, model);
    if (Object.keys(expected).length === 0) expect(found).toEqual({});
    expect(found).toMatchObject(expected);
  });
});

/** Every word that a line may hold, as a line of it alone is read: an unknown one would say nothing. */
function readWords(): Record<string, Partial<Traits>> {
  const all = new Set(Object.values(CATALOGUE).flatMap((text) => (text ?? '').split(/[\s|]+/)));
  const read = [...all].map((word): [string, Partial<Traits>] => [
    word,
    readCatalogue(`a | -/- ${word}`).get('a') ?? {},
  ]);
  return Object.fromEntries(read.filter(([, traits]) => Object.keys(traits).length > 0));
}
