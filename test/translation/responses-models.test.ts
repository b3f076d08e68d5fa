// What a model takes of a responses request at a well-known provider. Each case was a refusal, or a loss without a word.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { traitsAt } from '../routing/traits-at.ts';
import { crossTo } from './cross.ts';

const NO_SCHEMA = { type: 'object', properties: {} };
const TOOLS = ['f', 'g'].map((name) => ({ name, input_schema: NO_SCHEMA }));
const NAMED = { tools: TOOLS, tool_choice: { type: 'tool', name: 'g' } };
const FORCING: Partial<Traits> = { forcedTools: 'not_thinking', thinksByDefault: true, thinking: true };

const known = (traits: Partial<Traits> | string) => (typeof traits === 'string' ? traitsAt(traits) : traits);
const sent = (members: JsonObject, traits: Partial<Traits> | string) =>
  crossTo('messages', 'responses', members, known(traits)).body;

it('a union at the root of a schema is joined where an object must stand there', () => {
  const branch = { type: 'object', properties: { b: { type: 'string' } } };
  const input_schema = { type: 'object', properties: { a: { type: 'string' } }, anyOf: [branch] };
  const members = { tools: [{ name: 'f', input_schema }] };
  const joined = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } };
  expect(sent(members, traitsAt('openai/gpt-5.6-sol')).tools).toEqual([
    { type: 'function', name: 'f', parameters: joined, strict: false },
  ]);
  const claude = crossTo(
    'responses',
    'messages',
    { tools: [{ type: 'function', name: 'f', parameters: input_schema }] },
    traitsAt('anthropic/claude-opus-5-5'),
  );
  expect(claude.body.tools).toMatchObject([{ input_schema: joined }]);
  expect(JSON.stringify(claude.body.tools)).not.toContain('anyOf');
});

describe('a forced call at a model that takes none while it thinks', () => {
  it('switches off thinking that nobody asked for', () => {
    const body = sent(NAMED, FORCING);
    expect(body).toMatchObject({
      reasoning: { effort: 'none' },
      tool_choice: { type: 'function', name: 'g' },
    });
  });

  it.each<[string, JsonObject, Partial<Traits> | string]>([
    ['was asked for', { ...NAMED, thinking: { type: 'enabled', budget_tokens: 4096 } }, FORCING],
    ['never ends', NAMED, { ...FORCING, thinkingOff: 'never' }],
    ['is beside the point', NAMED, 'meta/muse-spark-1.3'],
  ])('goes in words where thinking %s', (_, members, traits) => {
    const body = sent({ system: 'S', ...members }, traits);
    expect(body.tool_choice).toBe('auto');
    expect(body.instructions).toBe('S\n\nIn this answer you must call the tool g.');
  });

  it('is forced where the model takes both', () => {
    const thinking = { type: 'enabled', budget_tokens: 4096 };
    expect(sent({ ...NAMED, thinking }, traitsAt('openai/gpt-5.2')).tool_choice).toEqual({
      type: 'function',
      name: 'g',
    });
  });
});

it('a choice by name is the only tool where words alone are taken', () => {
  const body = sent(NAMED, { namedToolChoice: false });
  expect(body.tool_choice).toBe('required');
  expect(body.tools).toMatchObject([{ name: 'g' }]);
});

it.each<[string, Partial<Traits> | string, string | undefined]>([
  ['original where it is taken', 'openai/gpt-5.4', 'original'],
  ['original as high elsewhere', 'openai/gpt-5.2', 'high'],
  ['nothing where it is refused', { imageDetail: 'none' }, undefined],
])('the detail of an image: %s', (_, traits, expected) => {
  const image = { type: 'input_image', image_url: 'https://a.b/c.png', detail: 'original' };
  const members = { input: [{ type: 'message', role: 'user', content: [image] }] };
  const { body } = crossTo('responses', 'responses', members, known(traits));
  const text = JSON.stringify(body.input);
  if (expected === undefined) expect(text).not.toContain('detail');
  else expect(text).toContain(`"detail":"${expected}"`);
});
