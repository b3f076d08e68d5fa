// What each family of models takes, from its name to the bytes that its provider gets: every cell of the table of models.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { createModelInfo } from '../../src/routing/model-info.ts';
import { translated } from '../translation/translated.ts';
import { provider } from './fixtures.ts';

function sent(model: string, members: JsonObject): JsonObject {
  const { traits } = createModelInfo().about(provider('any', null), model, undefined, 0);
  return translated('chat', members, traits).body;
}

type Off = 'disabled' | 'between_tools low' | 'low';

interface Family {
  /** The most tokens of an answer; undefined: no limit is known. */
  most: number | undefined;
  sampling: boolean;
  /** What becomes of a budget of 3000 tokens. */
  budget: 'enabled' | 'adaptive';
  /** What becomes of thinking switched off: alone, and beside effort max. */
  off: Off;
  offAtMax: 'disabled' | 'disabled max' | 'disabled high' | 'between_tools high' | 'low';
  /** What becomes of a forced call: without a word of thinking, and beside an effort. */
  forced: 'any' | 'auto';
  forcedThinking: 'any' | 'auto';
  /** How a schema is asked for. */
  structured: 'format' | 'tool';
}

const OLD = { sampling: true, budget: 'enabled', off: 'disabled', offAtMax: 'disabled' } as const;
const FORCED = { forced: 'any', forcedThinking: 'auto' } as const;
const NEW = { most: 128_000, sampling: false, budget: 'adaptive', structured: 'format' } as const;

const OPUS_4: Family = { ...OLD, ...FORCED, most: 32_000, structured: 'tool' };
const CLAUDE_4_5: Family = { ...OLD, ...FORCED, most: 64_000, structured: 'format' };
const CLAUDE_4_6: Family = { ...CLAUDE_4_5, most: 128_000, offAtMax: 'disabled max' };
const OPUS_4_7: Family = { ...NEW, ...FORCED, off: 'disabled', offAtMax: 'disabled max' };
const SONNET_5: Family = { ...OPUS_4_7, forcedThinking: 'any' };
const OPUS_5: Family = { ...SONNET_5, offAtMax: 'disabled high' };
const FABLE_5: Family = { ...NEW, off: 'low', offAtMax: 'low', forced: 'any', forcedThinking: 'any' };
const FABLE_5_1: Family = { ...FABLE_5, forced: 'auto', forcedThinking: 'auto' };
const SONNET_5_5: Family = { ...FABLE_5_1, off: 'between_tools low', offAtMax: 'between_tools high' };

const FAMILIES: Record<string, Family> = {
  'claude-opus-4': OPUS_4,
  'claude-sonnet-4': { ...OPUS_4, most: 64_000 },
  'claude-opus-4-1': { ...OPUS_4, structured: 'format' },
  'claude-sonnet-4-5': CLAUDE_4_5,
  'claude-haiku-4-5': CLAUDE_4_5,
  'claude-opus-4-5': { ...CLAUDE_4_5, offAtMax: 'disabled high' },
  'claude-opus-4-6': CLAUDE_4_6,
  'claude-sonnet-4-6': CLAUDE_4_6,
  'claude-opus-4-7': OPUS_4_7,
  'claude-opus-4-8': OPUS_4_7,
  'claude-sonnet-5': SONNET_5,
  'claude-opus-5': OPUS_5,
  'claude-fable-5': FABLE_5,
  'claude-fable-5-1': FABLE_5_1,
  'claude-opus-5-5': FABLE_5_1,
  'claude-sonnet-5-5': SONNET_5_5,
  'claude-haiku-5-5': OPUS_5,
  'claude-nova-9': OPUS_4_7,
  // Its provider is taken at its word: nothing is known of the model.
  'mystery-5': { ...OLD, ...FORCED, most: undefined, offAtMax: 'disabled max', structured: 'format' },
};

const DATED = Object.entries(FAMILIES).flatMap(([name, family]): [string, Family][] => [
  [name, family],
  [`${name}-20260801`, family],
  [`anthropic/${name.replace(/-(\d)-(\d)$/, '-$1.$2')}`, family],
]);

/** The type of thinking and the effort, as far as they are sent. */
function thinking({ thinking: option, output_config: output }: JsonObject): string {
  const type = (option as JsonObject | undefined)?.type;
  const effort = (output as JsonObject | undefined)?.effort;
  return [type, effort].filter((word) => typeof word === 'string').join(' ');
}

const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };

describe.each(DATED)('%s', (model, family) => {
  it('writes so much at most', () => {
    const asked = sent(model, { max_completion_tokens: 1_000_000 });
    expect(asked.max_tokens).toBe(family.most ?? 1_000_000);
    const silent = sent(model, { max_completion_tokens: null });
    expect(silent.max_tokens).toBe(family.most ?? 4096);
  });

  it('takes sampling parameters, or none', () => {
    const { temperature } = sent(model, { temperature: 0.5 });
    const { top_p: topP } = sent(model, { top_p: 0.5 });
    const { top_k: topK } = sent(model, { top_k: 5 });
    const expected = family.sampling ? [0.5, 0.5, 5] : [undefined, undefined, undefined];
    expect([temperature, topP, topK]).toEqual(expected);
  });

  it('takes a budget, or an effort', () => {
    const { thinking: option } = sent(model, { reasoning: { max_tokens: 3000 } });
    expect(option).toEqual(
      family.budget === 'enabled' ? { type: 'enabled', budget_tokens: 3000 } : { type: 'adaptive' },
    );
  });

  it('has thinking switched off in the form that it accepts', () => {
    expect(thinking(sent(model, { reasoning_effort: 'none' }))).toBe(family.off);
    const both = { reasoning_effort: 'max', enable_thinking: false };
    expect(thinking(sent(model, both))).toBe(family.offAtMax);
  });

  it('is forced to call, or asked', () => {
    const asked = { tools: [TOOL], tool_choice: 'required' };
    expect(sent(model, asked).tool_choice).toEqual({ type: family.forced });
    const thinks = { ...asked, reasoning_effort: 'high' };
    expect(sent(model, thinks).tool_choice).toEqual({ type: family.forcedThinking });
  });

  it('is asked for a schema in the way that it takes', () => {
    const format = { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } };
    const { output_config: output, tool_choice: choice } = sent(model, { response_format: format });
    if (family.structured === 'format') expect(output).toHaveProperty('format.type', 'json_schema');
    else expect(choice).toMatchObject({ type: 'tool' });
  });
});
