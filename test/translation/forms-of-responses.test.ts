// What a request is changed in towards responses providers whose models take some things in other forms.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { translated } from './translated.ts';

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const FUNCTION = { type: 'function', function: { name: 'f', parameters: SCHEMA } };
const OBJECT = { response_format: { type: 'json_object' } };
const SHAPED = { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } } };
const THINKS = { thinking: true, thinksByDefault: true } as const;

const asked = (members: JsonObject, traits: Partial<Traits>) =>
  translated('chat', members, traits, 'responses');
const input = ({ body }: { body: JsonObject }): JsonObject[] => body.input as JsonObject[];

describe('structured output', () => {
  it('says JSON in the input where that is demanded, and only where nothing says it', () => {
    const sent = asked(OBJECT, { jsonWord: true, systemRole: 'developer' });
    expect(sent.body.text).toEqual({ format: { type: 'json_object' } });
    expect(input(sent)[0]).toMatchObject({
      role: 'developer',
      content: expect.stringContaining('JSON') as string,
    });
    expect(sent.reports).toEqual(['changed responseFormat']);
    const said = asked({ ...OBJECT, messages: [{ role: 'user', content: 'As json.' }] }, { jsonWord: true });
    expect(input(said)).toHaveLength(1);
    expect(said.reports).toEqual([]);
  });

  it('sends a schema in words where json_object alone is taken, and the other way round', () => {
    const words = asked(SHAPED, { responseFormats: ['json_object'] });
    expect(words.body.text).toEqual({ format: { type: 'json_object' } });
    expect(words.body.instructions).toContain(JSON.stringify(SCHEMA));
    expect(words.reports).toEqual(['changed responseFormat']);
    const schema = asked(OBJECT, { responseFormats: ['json_schema'] });
    expect(schema.body.text).toMatchObject({ format: { type: 'json_schema', schema: { type: 'object' } } });
    expect(schema.reports).toEqual(['changed responseFormat']);
  });

  it('forces a tool where it is not taken beside tools, without thinking where nobody asked for that', () => {
    const traits: Partial<Traits> = { ...THINKS, formatsWithTools: false, efforts: ['none', 'low'] };
    const { body, reports } = asked({ ...SHAPED, tools: [FUNCTION] }, traits);
    expect(body.text).toBeUndefined();
    expect(body.tool_choice).toBe('required');
    expect(body.tools).toHaveLength(2);
    expect(body.reasoning).toEqual({ effort: 'none' });
    expect(reports).toEqual(['changed reasoning', 'changed responseFormat']);
  });

  it('asks for it in words where no call may be forced', () => {
    const { body, reports } = asked(
      { ...SHAPED, tools: [FUNCTION], reasoning_effort: 'high' },
      { ...THINKS, formatsWithTools: false },
    );
    expect(body.tools).toHaveLength(1);
    expect(body.instructions).toContain(JSON.stringify(SCHEMA));
    expect(reports).toEqual(['changed responseFormat']);
  });
});

describe('thinking', () => {
  it.each<[string, JsonObject, Partial<Traits>, JsonObject | undefined, string[]]>([
    [
      'off, whatever switches it on chat',
      { reasoning_effort: 'none' },
      { ...THINKS, thinkingForm: 'type', efforts: ['low', 'high'] },
      { effort: 'none' },
      [],
    ],
    [
      'off, of a model without grades',
      { reasoning_effort: 'none' },
      { ...THINKS, thinkingForm: 'type', efforts: [] },
      { effort: 'none' },
      [],
    ],
    [
      'a grade of a model without grades',
      { reasoning_effort: 'high' },
      { ...THINKS, thinkingForm: 'type', efforts: [] },
      undefined,
      ['changed reasoning.effort'],
    ],
    [
      'off where nothing does it',
      { reasoning_effort: 'none' },
      { ...THINKS, thinkingForm: 'type', thinkingOff: 'never', efforts: ['low', 'high'] },
      { effort: 'low', summary: 'auto' },
      ['changed reasoning.effort'],
    ],
  ])('%s', (_, members, traits, reasoning, reports) => {
    const sent = asked(members, traits);
    expect(sent.body.reasoning).toEqual(reasoning);
    expect(sent.reports).toEqual(reports);
  });

  it.each([
    ['none', 0.3, []],
    ['low', undefined, ['dropped temperature']],
  ])('takes sampling at effort none alone: %s', (effort, temperature, reports) => {
    const sent = asked({ reasoning_effort: effort, temperature: 0.3 }, { ...THINKS, rejectsSampling: true });
    expect(sent.body.temperature).toBe(temperature);
    expect(sent.reports).toEqual(reports);
  });
});

describe('the order of the input', () => {
  const LATE = [
    { role: 'system', content: 'first' },
    { role: 'user', content: 'a' },
    { role: 'system', content: 'late' },
    { role: 'user', content: 'b' },
  ];

  it('sends late system text as the user where servers move it to the front', () => {
    const sent = asked({ messages: LATE }, { lateSystem: 'user' });
    expect(sent.body.instructions).toBe('first');
    expect(input(sent)[1]).toMatchObject({ role: 'user', content: '<system>\nlate\n</system>' });
    expect(sent.reports).toEqual(['changed messages']);
  });

  it('joins neighbours where roles must alternate', () => {
    expect(input(asked({ messages: LATE }, { strictAlternation: true }))).toEqual([
      { type: 'message', role: 'user', content: 'a\n<system>\nlate\n</system>\nb' },
    ]);
  });

  it('lets the user speak first, joins texts, and puts a word between a tool and the user', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const messages = [
      { role: 'assistant', content: 'a' },
      { role: 'user', content: ['b', 'c'].map((text) => ({ type: 'text', text })) },
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'd' },
      { role: 'user', content: 'e' },
    ];
    const sent = asked(
      { messages, tools: [FUNCTION] },
      { strictAlternation: true, contentLists: false, userAfterTool: false },
    );
    expect(input(sent).map(({ role, type, content }) => [role ?? type, content])).toEqual([
      ['user', '.'],
      ['assistant', 'a'],
      ['user', 'b\n\nc'],
      ['function_call', undefined],
      ['function_call_output', undefined],
      ['assistant', 'I have read the results.'],
      ['user', 'e'],
    ]);
  });
});
