// What a translated request is changed in for models that take some things in other forms, on the chat wire. Each was a refusal, or a loss
// without a word.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { translated } from './translated.ts';

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const TOOLS = [
  { name: 'f', input_schema: SCHEMA },
  { name: 'g', input_schema: SCHEMA },
];
const OFF = { thinking: { type: 'disabled' } };
const HIGH = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
const THINKS = { thinking: true, thinksByDefault: true } as const;
const SYSTEM = { system: 'Be brief.' };

const asked = (members: JsonObject, traits: Partial<Traits>) => translated('messages', members, traits);

describe('thinking', () => {
  it.each<[string, JsonObject, Partial<Traits>, JsonObject, string[]]>([
    ['off, by a type', OFF, { thinkingForm: 'type' }, { thinking: { type: 'disabled' } }, []],
    ['off, by a switch', OFF, { thinkingForm: 'enable_thinking' }, { enable_thinking: false }, []],
    ['off, at Together', OFF, { thinkingForm: 'reasoning_enabled' }, { reasoning: { enabled: false } }, []],
    [
      'off, by the template',
      OFF,
      { thinkingForm: 'template' },
      { chat_template_kwargs: { enable_thinking: false } },
      [],
    ],
    [
      'on with a grade beside it',
      HIGH,
      { thinkingForm: 'type' },
      { thinking: { type: 'enabled' }, reasoning_effort: 'high' },
      [],
    ],
    [
      'on where there are no grades',
      HIGH,
      { thinkingForm: 'adaptive', efforts: [] },
      { thinking: { type: 'adaptive' } },
      ['changed reasoning.effort'],
    ],
    [
      'a budget within its bounds',
      { thinking: { type: 'enabled', budget_tokens: 50_000 } },
      { thinkingForm: 'enable_thinking', budgetRange: [128, 32_768] },
      { enable_thinking: true, thinking_budget: 32_768 },
      ['changed reasoning.budgetTokens'],
    ],
    [
      'an effort as a budget',
      HIGH,
      { thinkingForm: 'enable_thinking', budgetRange: [128, 32_768], efforts: [] },
      { enable_thinking: true, thinking_budget: 24_000 },
      ['changed reasoning.effort'],
    ],
    [
      'off at a switch that cannot be off',
      OFF,
      { ...THINKS, thinkingForm: 'type', thinkingOff: 'never', efforts: ['low', 'max'] },
      { reasoning_effort: 'low' },
      ['changed reasoning.effort'],
    ],
    [
      'off at a model that has no word for it',
      OFF,
      { ...THINKS, thinkingOff: 'never', efforts: [] },
      {},
      ['dropped reasoning'],
    ],
    [
      'the greatest effort, which is on other protocols alone',
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
      { maxEffortOnChat: false },
      { reasoning_effort: 'xhigh' },
      ['changed reasoning.effort'],
    ],
    [
      'beside tools, where chat takes one of both',
      { ...HIGH, tools: TOOLS },
      { ...THINKS, toolsWhileThinking: 'not_on_chat' },
      { reasoning_effort: 'none' },
      ['changed reasoning.effort'],
    ],
    [
      'without a word beside tools, where chat takes one of both',
      { tools: TOOLS },
      { ...THINKS, toolsWhileThinking: 'not_on_chat' },
      { reasoning_effort: 'none' },
      ['changed reasoning'],
    ],
  ])('%s', (_, members, traits, expected, reports) => {
    const { body, reports: told } = asked(members, traits);
    const { model: _model, messages: _messages, tools: _tools, max_tokens: _limit, ...rest } = body;
    expect(rest).toEqual(expected);
    expect(told).toEqual(reports);
  });

  it('without tools it stays as the model does it', () => {
    const { body } = asked({}, { ...THINKS, toolsWhileThinking: 'not_on_chat' });
    expect(body).not.toHaveProperty('reasoning_effort');
  });
});

describe('a forced call', () => {
  const ONE = { tools: TOOLS, tool_choice: { type: 'tool', name: 'g' } };
  const words = 'Be brief.\n\nAnswer with a call of the tool g.';

  it('switches thinking off where nobody asked for thinking', () => {
    const { body, reports } = asked(ONE, { ...THINKS, thinkingForm: 'type' });
    expect(body).toMatchObject({ thinking: { type: 'disabled' }, tool_choice: { function: { name: 'g' } } });
    expect(reports).toEqual(['changed reasoning']);
  });

  it.each<[string, JsonObject, Partial<Traits>]>([
    ['somebody asked to think', HIGH, THINKS],
    ['thinking cannot be off', {}, { ...THINKS, thinkingOff: 'never' }],
    ['no call can be forced', {}, { forcedTools: 'never' }],
  ])('is asked for in words where %s', (_, members, traits) => {
    const { body, messages, reports } = asked({ ...SYSTEM, ...ONE, ...members }, traits);
    expect(body.tool_choice).toBe('auto');
    expect(messages[0]).toEqual({ role: 'system', content: words });
    expect(reports).toEqual(['changed toolChoice']);
  });

  it('stays where it is always taken, or nothing is known of the model', () => {
    expect(asked({ ...ONE, ...HIGH }, { ...THINKS, forcedTools: 'always' }).body.tool_choice).toBeTypeOf(
      'object',
    );
    expect(asked({ ...ONE, ...HIGH }, {}).reports).toEqual([]);
  });

  it('of a named tool is a word, and that tool stands alone, where words alone are taken', () => {
    const { body, reports } = asked(ONE, { namedToolChoice: false });
    expect(body).toMatchObject({ tool_choice: 'required', tools: [{ function: { name: 'g' } }] });
    expect(body.tools).toHaveLength(1);
    expect(reports).toEqual(['changed toolChoice']);
  });
});

describe('structured output', () => {
  const FORMAT = { output_config: { format: { type: 'json_schema', schema: SCHEMA } } };
  const withTools = { ...FORMAT, tools: TOOLS };

  it('is an object with the schema in the system text where no schema is taken', () => {
    const { body, messages, reports } = asked(FORMAT, { responseFormats: ['json_object'], jsonWord: true });
    expect(body.response_format).toEqual({ type: 'json_object' });
    expect(messages[0]?.role).toBe('system');
    expect(messages[0]?.content).toContain(`JSON schema:\n${JSON.stringify(SCHEMA)}`);
    expect(messages).toHaveLength(2);
    expect(reports).toEqual(['changed responseFormat']);
  });

  it('beside tools is a forced call, else asked for in words, where a server takes one of both', () => {
    const traits = { formatsWithTools: false } as const;
    expect(asked(withTools, traits).body).toMatchObject({ tool_choice: 'required' });
    expect(asked(withTools, traits).body).not.toHaveProperty('response_format');
    expect(asked(FORMAT, traits).body).toHaveProperty('response_format');
    const { body, messages, reports } = asked(withTools, { ...traits, forcedTools: 'never' });
    expect(body).not.toHaveProperty('response_format');
    expect(messages[0]?.content).toContain(JSON.stringify(SCHEMA));
    expect(reports).toEqual(['changed responseFormat']);
  });

  it('by a forced call switches thinking off, and has the one tool alone where words alone are taken', () => {
    const none = { ...THINKS, responseFormats: [], namedToolChoice: false } as const;
    const { body } = asked({ ...withTools, tool_choice: { type: 'none' } }, none);
    expect(body).toMatchObject({ reasoning_effort: 'none', tool_choice: 'required' });
    expect(body.tools).toMatchObject([{ function: { name: 'structured_output' } }]);
  });

  const object = (text: string, traits: Partial<Traits>) =>
    translatedResponses({ input: text, text: { format: { type: 'json_object' } } }, traits);

  it('of any object is the schema of an object where schemas alone are taken', () => {
    const { body } = object('hi', { responseFormats: ['json_schema'] });
    expect(body.response_format).toMatchObject({ json_schema: { schema: { type: 'object' } } });
  });

  it('has the word that a server demands', () => {
    expect(object('hi', { jsonWord: true }).messages[0]?.content).toBe(
      'Answer with one JSON object and nothing else: no explanation, no code fence.',
    );
    expect(object('as json', { jsonWord: true }).messages).toHaveLength(1);
    expect(object('hi', {}).messages).toHaveLength(1);
  });
});

describe('messages and tools', () => {
  it('the root of a schema is an object without a union', () => {
    const union = { type: 'object', properties: {}, anyOf: [SCHEMA, { properties: { b: {} } }] };
    const tools = [{ name: 'f', input_schema: union }];
    const { body, reports } = asked({ tools }, { schemaRoot: 'object' });
    expect(body.tools).toMatchObject([
      { function: { parameters: { type: 'object', properties: { a: {}, b: {} } } } },
    ]);
    expect(JSON.stringify(body.tools)).not.toContain('anyOf');
    expect(reports).toEqual(['changed tools']);
  });

  it('a turn with calls has a blank where an empty text counts as missing', () => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] },
    ];
    const traits = { replayReasoning: 'tool_turns', reasoningFill: ' ' } as const;
    expect(asked({ messages, tools: TOOLS }, traits).messages[1]).toHaveProperty('reasoning_content', ' ');
  });

  const TWO = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ];

  it('texts are one where lists are refused', () => {
    const messages = [{ role: 'user', content: TWO }];
    expect(asked({ messages }, { contentLists: false }).messages[0]?.content).toBe('a\n\nb');
    expect(asked({ messages }, {}).messages[0]?.content).toEqual(TWO);
  });

  it("late system text is the user's where a server moves it to the front", () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'system', content: 'late' },
      { role: 'user', content: 'c' },
    ];
    const sent = asked({ messages }, { lateSystem: 'user' });
    expect(sent.messages[2]).toEqual({ role: 'user', content: '<system>\nlate\n</system>' });
    expect(sent.reports).toEqual(['changed messages']);
  });

  it.each<[Traits['imageDetail'], string, string | undefined, string[]]>([
    ['usual', 'original', 'high', ['changed messages.image.detail']],
    ['original', 'original', 'high', ['changed messages.image.detail']],
    ['none', 'low', undefined, ['dropped messages.image.detail']],
    ['usual', 'low', 'low', []],
  ])('of an image, where the detail is %s: %s becomes %s', (imageDetail, detail, sent, reports) => {
    const part = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail };
    const input = [{ role: 'user', content: [part] }];
    const { messages, reports: told } = translatedResponses({ input }, { imageDetail });
    const [wire] = messages[0]?.content as { image_url: { detail?: string } }[];
    expect(wire?.image_url.detail).toBe(sent);
    expect(told).toEqual(reports);
  });

  it('a temperature above the most is the most', () => {
    const { body, reports } = translatedResponses({ input: 'hi', temperature: 1.5 }, { maxTemperature: 1 });
    expect(body.temperature).toBe(1);
    expect(reports).toEqual(['changed temperature']);
  });
});

function translatedResponses(members: JsonObject, traits: Partial<Traits>) {
  return translated('responses', { max_tokens: undefined, messages: undefined, ...members }, traits);
}
