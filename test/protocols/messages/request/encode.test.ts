// Canonical requests as bodies for a provider of this protocol: options, limits, thinking, tools and the answer's form.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { FunctionTool, Part, GenerationRequest } from '../../../../src/canonical/request.ts';
import type { Traits } from '../../../../src/canonical/traits.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { encode, warningsOf } from '../support.ts';

function paramOf(request: Partial<GenerationRequest>, traits: Partial<Traits> = {}): string | undefined {
  try {
    encode(request, traits);
  } catch (error) {
    if (error instanceof GatewayError) return error.options.param;
    throw error;
  }
  return undefined;
}

const F: FunctionTool = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
const G: FunctionTool = { type: 'function', name: 'g' };
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const FORMAT = { type: 'json_schema', name: 'person', schema: SCHEMA, strict: true } as const;

interface Row {
  request?: Partial<GenerationRequest>;
  traits?: Partial<Traits>;
  body: JsonObject;
  absent?: string[];
  warnings?: string[];
}

function table(rows: Record<string, Row>): void {
  it.each(Object.entries(rows))('%s', (_, { request, traits, body, absent = [], warnings = [] }) => {
    const encoded = encode(request, traits);
    expect(encoded.body).toMatchObject(body);
    for (const name of absent) expect(encoded.body).not.toHaveProperty(name);
    expect(warningsOf(encoded).sort()).toEqual([...warnings].sort());
  });
}

describe('limits and sampling', () => {
  table({
    'a limit is carried': {
      request: { maxOutputTokens: 9 },
      body: { model: 'target', max_tokens: 9, stream: false },
    },
    'no limit is the default': {
      request: { maxOutputTokens: undefined },
      body: { max_tokens: 4096 },
      warnings: ['changed maxOutputTokens'],
    },
    'no limit is the most of the model': {
      request: { maxOutputTokens: undefined },
      traits: { maxOutput: 64_000 },
      body: { max_tokens: 64_000 },
      warnings: ['changed maxOutputTokens'],
    },
    'a limit above the most is clamped': {
      request: { maxOutputTokens: 9000 },
      traits: { maxOutput: 8000 },
      body: { max_tokens: 8000 },
      warnings: ['changed maxOutputTokens'],
    },
    'sampling is carried, temperature up to 1': {
      request: { temperature: 1.7, topP: 0.5, topK: 4 },
      body: { temperature: 1, top_p: 0.5, top_k: 4 },
      warnings: ['changed temperature'],
    },
    'a model that takes no sampling gets none': {
      request: { temperature: 0, topP: 0.5, topK: 4 },
      traits: { rejectsSampling: true },
      body: {},
      absent: ['temperature', 'top_p', 'top_k'],
      warnings: ['dropped temperature', 'dropped topP', 'dropped topK'],
    },
    'values that change nothing go without a word': {
      request: { temperature: 1, topP: 1 },
      traits: { rejectsSampling: true },
      body: {},
      absent: ['temperature', 'top_p'],
      warnings: ['quiet temperature', 'quiet topP'],
    },
    'a model that takes one of the two gets temperature': {
      request: { temperature: 0, topP: 0.5 },
      traits: { oneSamplingParameter: true },
      body: { temperature: 0 },
      absent: ['top_p'],
      warnings: ['dropped topP'],
    },
    'an end user, a tier': {
      request: { user: 'u', serviceTier: 'default' },
      body: { metadata: { user_id: 'u' }, service_tier: 'standard_only' },
    },
    'a tier that is not known here': {
      request: { serviceTier: 'flex' },
      body: {},
      absent: ['service_tier'],
      warnings: ['dropped serviceTier'],
    },
    'a cache key': {
      request: { cacheKey: { value: 'k', from: 'asked' } },
      body: {},
      warnings: ['dropped cacheKey'],
    },
  });

  it('cuts at the stop sequences that the provider would refuse or does not take', () => {
    const { body, restore } = encode({ stop: ['a', '', '\n', 'b', 'c'] }, { maxStop: 2 });
    expect(body.stop_sequences).toEqual(['a', 'b']);
    expect(restore.stop).toEqual(['\n', 'c']);
  });
});

describe('fields of another protocol', () => {
  const field = { protocol: 'chat', name: 'seed', value: 1 } as const;
  it('are left out and reported, or refused, as their protocol says', () => {
    const native = [
      { ...field, path: 'seed', fate: 'report' as const },
      { ...field, path: 'store', fate: 'quiet' as const },
    ];
    expect(warningsOf(encode({ native }))).toEqual(['dropped seed', 'quiet store']);
    expect(paramOf({ native: [{ ...field, path: 'logprobs', fate: 'reject' }] })).toBe('logprobs');
  });
});

describe('thinking', () => {
  const budget = { thinkingBudget: true, thinkingAdaptive: false };
  const adaptive = { thinkingAdaptive: true };
  table({
    'is not spoken of where the client does not': { body: {}, absent: ['thinking', 'output_config'] },
    'is a budget from the effort': {
      request: { maxOutputTokens: 50_000, reasoning: { effort: 'high' } },
      traits: budget,
      body: { thinking: { type: 'enabled', budget_tokens: 24_000 } },
      absent: ['output_config'],
    },
    'is a budget on top of the default limit': {
      request: { maxOutputTokens: undefined, reasoning: { effort: 'low' } },
      traits: budget,
      body: { max_tokens: 8192, thinking: { budget_tokens: 4096 } },
      warnings: ['changed maxOutputTokens'],
    },
    "leaves room in the client's limit": {
      request: { maxOutputTokens: 3000, reasoning: { effort: 'high' } },
      traits: budget,
      body: { max_tokens: 3000, thinking: { type: 'enabled', budget_tokens: 2488 } },
      warnings: ['changed reasoning.effort'],
    },
    'has at least 1024 tokens': {
      request: { maxOutputTokens: 1200, reasoning: { effort: 'high' } },
      traits: budget,
      body: { thinking: { budget_tokens: 1024 } },
      warnings: ['changed reasoning.effort'],
    },
    'of 500 tokens is 1024': {
      request: { maxOutputTokens: 9000, reasoning: { mode: 'on', budgetTokens: 500 } },
      traits: budget,
      body: { thinking: { budget_tokens: 1024 } },
      warnings: ['changed reasoning.budgetTokens'],
    },
    ...Object.fromEntries(
      (
        [
          [1025, 9000, 1024],
          [1536, 9000, 1024],
          [1537, 9000, 1025],
          [9512, 9000, 9000],
          [9511, 9000, 8999],
          [9000, 1024, 1024],
          [9000, 1023, 1024],
          [9000, 0.5, 1024],
          [9000, 2048.7, 2048],
          [3000, 2488.9, 2488],
          [3000.5, 9000, 2488],
        ] as const
      ).map(([limit, asked, sent]) => [
        `of ${asked} tokens within ${limit} is ${sent}`,
        {
          request: { maxOutputTokens: limit, reasoning: { mode: 'on' as const, budgetTokens: asked } },
          traits: budget,
          body: { thinking: { type: 'enabled', budget_tokens: sent } },
          ...(sent !== asked && { warnings: ['changed reasoning.budgetTokens'] }),
        },
      ]),
    ),
    'of a fraction on top of the default limit is whole': {
      request: { maxOutputTokens: undefined, reasoning: { mode: 'on', budgetTokens: 2048.7 } },
      traits: budget,
      body: { max_tokens: 6144, thinking: { budget_tokens: 2048 } },
      warnings: ['changed maxOutputTokens', 'changed reasoning.budgetTokens'],
    },
    'of too few tokens counts as the least on top of the default limit': {
      request: { maxOutputTokens: undefined, reasoning: { mode: 'on', budgetTokens: 1 } },
      traits: budget,
      body: { max_tokens: 5120, thinking: { budget_tokens: 1024 } },
      warnings: ['changed maxOutputTokens', 'changed reasoning.budgetTokens'],
    },
    'is off without room': {
      request: { maxOutputTokens: 1024, reasoning: { effort: 'low' } },
      traits: budget,
      body: { thinking: { type: 'disabled' } },
      warnings: ['dropped reasoning'],
    },
    'is adaptive with an effort': {
      request: { reasoning: { effort: 'xhigh' } },
      traits: adaptive,
      body: { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
    },
    'minimal is low': {
      request: { reasoning: { effort: 'minimal' } },
      traits: adaptive,
      body: { output_config: { effort: 'low' } },
      warnings: ['changed reasoning.effort'],
    },
    'xhigh is max where there is none': {
      request: { reasoning: { effort: 'xhigh' } },
      traits: { ...adaptive, efforts: ['low', 'medium', 'high', 'max'] },
      body: { output_config: { effort: 'max' } },
      warnings: ['changed reasoning.effort'],
    },
    'max is high where there is nothing more': {
      request: { reasoning: { effort: 'max' } },
      traits: { ...adaptive, efforts: ['low', 'medium', 'high'] },
      body: { output_config: { effort: 'high' } },
      warnings: ['changed reasoning.effort'],
    },
    'has no effort where none is taken': {
      request: { reasoning: { effort: 'max' } },
      traits: { ...adaptive, efforts: [] },
      body: { thinking: { type: 'adaptive' } },
      absent: ['output_config'],
    },
    'with a budget is an effort where no budget is taken': {
      request: { reasoning: { mode: 'on', budgetTokens: 12_000 } },
      traits: { ...adaptive, thinkingBudget: false },
      body: { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
      warnings: ['changed reasoning.budgetTokens'],
    },
    'of a model that always thinks is an effort alone': {
      request: { reasoning: { effort: 'high' } },
      traits: { thinkingBudget: false },
      body: { output_config: { effort: 'high' } },
      absent: ['thinking'],
    },
    'of a model that always thinks has a middling effort where none is given': {
      request: { reasoning: { mode: 'on' } },
      traits: { thinkingBudget: false },
      body: { output_config: { effort: 'medium' } },
      absent: ['thinking'],
    },
    'is switched off': {
      request: { reasoning: { effort: 'none' } },
      body: { thinking: { type: 'disabled' } },
      absent: ['output_config'],
    },
    'is low where it can not be switched off': {
      request: { reasoning: { effort: 'none' } },
      traits: { thinkingOff: 'never' },
      body: { output_config: { effort: 'low' } },
      absent: ['thinking'],
      warnings: ['changed reasoning'],
    },
    'is switched off with an effort up to high': {
      request: { protocol: 'messages', reasoning: { mode: 'off', effort: 'max' } },
      traits: { thinkingOff: 'up_to_high' },
      body: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
      warnings: ['changed reasoning.effort'],
    },
    'is switched off with any effort elsewhere': {
      request: { protocol: 'messages', reasoning: { mode: 'off', effort: 'max' } },
      body: { thinking: { type: 'disabled' }, output_config: { effort: 'max' } },
    },
    'is that between tools where nothing comes nearer to none': {
      request: { reasoning: { effort: 'none' } },
      traits: { thinkingOff: 'between_tools' },
      body: { thinking: { type: 'between_tools' }, output_config: { effort: 'low' } },
      warnings: ['changed reasoning'],
    },
    'between tools goes up to high': {
      request: { reasoning: { mode: 'off', effort: 'xhigh' } },
      traits: { thinkingOff: 'between_tools' },
      body: { thinking: { type: 'between_tools' }, output_config: { effort: 'high' } },
      warnings: ['changed reasoning.effort', 'changed reasoning'],
    },
    'between tools keeps a lower effort': {
      request: { reasoning: { mode: 'off', effort: 'medium' } },
      traits: { thinkingOff: 'between_tools' },
      body: { thinking: { type: 'between_tools' }, output_config: { effort: 'medium' } },
      warnings: ['changed reasoning'],
    },
    'is left out for a model that does not think': {
      request: { reasoning: { effort: 'high' } },
      traits: { thinking: false },
      body: {},
      absent: ['thinking', 'output_config'],
      warnings: ['dropped reasoning'],
    },
    'takes sampling away': {
      request: { maxOutputTokens: 9000, temperature: 0.2, reasoning: { effort: 'low' } },
      body: { thinking: { type: 'enabled' } },
      absent: ['temperature'],
      warnings: ['dropped temperature'],
    },
    'keeps a forced call from being forced': {
      request: {
        maxOutputTokens: 9000,
        tools: [F],
        toolChoice: { type: 'required' },
        reasoning: { effort: 'low' },
      },
      body: { tool_choice: { type: 'auto' } },
      warnings: ['changed toolChoice'],
    },
    'of messages clients passes as it is': {
      request: { protocol: 'messages', reasoning: { mode: 'adaptive', display: 'omitted', effort: 'high' } },
      traits: adaptive,
      body: { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'high' } },
    },
    'an effort alone of messages clients stays one': {
      request: { protocol: 'messages', reasoning: { effort: 'low', ofAnswer: true } },
      body: { output_config: { effort: 'low' } },
      absent: ['thinking'],
    },
  });

  const toolTurn: Partial<GenerationRequest> = {
    maxOutputTokens: 9000,
    reasoning: { effort: 'low' },
    tools: [F],
    messages: [
      { role: 'user', parts: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'a', name: 'f', arguments: '{}' }] },
      { role: 'user', parts: [{ type: 'tool_result', callId: 'a', content: 'x' }] },
    ],
  };
  table({
    'is off while a tool turn is open that lost its own': {
      request: toolTurn,
      traits: budget,
      body: { thinking: { type: 'disabled' } },
      warnings: ['suspended reasoning'],
    },
    'is off there without an effort, which would be one of thinking': {
      request: { ...toolTurn, maxOutputTokens: 50_000, reasoning: { effort: 'high' } },
      traits: budget,
      body: { thinking: { type: 'disabled' } },
      absent: ['output_config'],
      warnings: ['suspended reasoning'],
    },
    'is adaptive in such a turn where the model can': {
      request: { ...toolTurn, reasoning: { mode: 'on', budgetTokens: 2000 } },
      traits: adaptive,
      body: { thinking: { type: 'adaptive' } },
      warnings: ['changed reasoning'],
    },
    'is on again once the turn is over': {
      request: {
        ...toolTurn,
        messages: [
          ...(toolTurn.messages ?? []),
          { role: 'assistant', parts: [{ type: 'text', text: 'y' }] },
          { role: 'user', parts: [{ type: 'text', text: 'z' }] },
        ],
      },
      traits: budget,
      body: { thinking: { type: 'enabled' } },
    },
  });

  it('that a chat client hides is asked for all the same: it is hidden on the way back', () => {
    const { body } = encode({ reasoning: { effort: 'high', hidden: true } }, adaptive);
    expect(body.thinking).toEqual({ type: 'adaptive' });
  });

  it.each([
    ['signed thinking', { signature: 's' }],
    ['redacted thinking', { redacted: 'd' }],
  ])('goes on in an open tool turn that begins with %s', (_, seal) => {
    const [question, answer, result] = toolTurn.messages ?? [];
    const parts: Part[] = [{ type: 'reasoning', text: '', ...seal }, ...(answer?.parts ?? [])];
    const list = [question, { role: 'assistant', parts }, result] as GenerationRequest['messages'];
    const { body } = encode({
      ...toolTurn,
      protocol: 'messages',
      reasoning: { mode: 'on', budgetTokens: 2000 },
      messages: list,
    });
    expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: 2000 });
  });

  it('of a turn that was nothing else takes the turn with it when thinking is switched off', () => {
    const { body } = encode({
      protocol: 'messages',
      reasoning: { mode: 'off' },
      messages: [
        { role: 'user', parts: [{ type: 'text', text: 'a' }] },
        { role: 'assistant', parts: [{ type: 'reasoning', text: '', redacted: 'd' }] },
        { role: 'user', parts: [{ type: 'text', text: 'c' }] },
      ],
    });
    expect((body.messages as JsonObject[]).map(({ role }) => role)).not.toContain('assistant');
  });

  it('of the last turn is taken out when thinking is switched off', () => {
    const { body } = encode({
      protocol: 'messages',
      reasoning: { mode: 'off' },
      messages: [
        { role: 'user', parts: [{ type: 'text', text: 'a' }] },
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'hm', signature: 's' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'user', parts: [{ type: 'text', text: 'c' }] },
      ],
    });
    expect(JSON.stringify(body.messages)).not.toContain('hm');
  });
});

describe('tools', () => {
  const any = { type: 'any' };
  table({
    'have an object for a schema': {
      request: { tools: [G, { ...G, name: 'h', parameters: { properties: {} } }] },
      body: {
        tools: [
          { name: 'g', input_schema: { type: 'object', properties: {} } },
          { name: 'h', input_schema: { type: 'object', properties: {} } },
        ],
      },
      absent: ['tool_choice'],
    },
    'choice auto': {
      request: { tools: [F], toolChoice: { type: 'auto' } },
      body: { tool_choice: { type: 'auto' } },
    },
    'choice none keeps the tools': {
      request: { tools: [F], toolChoice: { type: 'none' } },
      body: { tools: [{ name: 'f' }], tool_choice: { type: 'none' } },
    },
    'choice required': {
      request: { tools: [F], toolChoice: { type: 'required' } },
      body: { tool_choice: any },
    },
    'choice of one': {
      request: { tools: [F], toolChoice: { type: 'tool', name: 'f' } },
      body: { tool_choice: { type: 'tool', name: 'f' } },
    },
    'choice of some filters the list': {
      request: { tools: [F, G], toolChoice: { type: 'allowed', mode: 'required', names: ['g'] } },
      body: { tools: [{ name: 'g' }], tool_choice: any },
      warnings: ['changed toolChoice'],
    },
    'choice without tools is none': {
      request: { toolChoice: { type: 'required' } },
      body: {},
      absent: ['tools', 'tool_choice'],
    },
    'never forced where the model refuses it': {
      request: { tools: [F], toolChoice: { type: 'tool', name: 'f' } },
      traits: { forcedTools: 'never' },
      body: { tool_choice: { type: 'auto' } },
      warnings: ['changed toolChoice'],
    },
    'one call a turn': {
      request: { tools: [F], parallelToolCalls: false },
      body: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    },
    'one call a turn, forced': {
      request: { tools: [F], toolChoice: { type: 'required' }, parallelToolCalls: false },
      body: { tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    },
    'one call a turn for the legacy form': {
      request: { tools: [F], legacyFunctions: true },
      body: { tool_choice: { disable_parallel_tool_use: true } },
    },
    'one call a turn without tools': {
      request: { parallelToolCalls: false },
      body: {},
      absent: ['tool_choice'],
    },
    'strict is carried, its schema closed': {
      request: { tools: [{ ...F, strict: true, parameters: { ...SCHEMA, $schema: 'x' } }] },
      body: { tools: [{ strict: true, input_schema: { ...SCHEMA, additionalProperties: false } }] },
    },
    'strict is left out where the model has none': {
      request: { tools: [{ ...F, strict: true }] },
      traits: { structuredOutput: false },
      body: {},
      warnings: ['dropped tools.strict'],
    },
    'of a provider of another protocol are left out': {
      request: { tools: [{ type: 'native', protocol: 'chat', kind: 'x', value: {} }] },
      body: {},
      absent: ['tools'],
      warnings: ['dropped tools'],
    },
    'web search where it is run': {
      request: { webSearch: { location: { city: 'Bern' }, contextSize: 'low' } },
      traits: { serverTools: true },
      body: {
        tools: [
          {
            type: 'web_search_20260318',
            name: 'web_search',
            user_location: { type: 'approximate', city: 'Bern' },
          },
        ],
      },
      warnings: ['dropped webSearch.contextSize'],
    },
    'no web search elsewhere': {
      request: { webSearch: {} },
      body: {},
      absent: ['tools'],
      warnings: ['dropped webSearch'],
    },
    'of a history that declares none are declared, and not offered': {
      request: {
        messages: [
          { role: 'user', parts: [{ type: 'text', text: 'a' }] },
          { role: 'assistant', parts: [{ type: 'tool_call', id: 'a', name: 'old', arguments: '' }] },
          { role: 'user', parts: [{ type: 'tool_result', callId: 'a', content: '' }] },
        ],
      },
      body: {
        tools: [{ name: 'old', input_schema: { type: 'object', properties: {} } }],
        tool_choice: { type: 'none' },
      },
    },
  });

  it('of free text are functions with one string, to be unwrapped again', () => {
    const encoded = encode({
      tools: [{ type: 'custom', name: 'patch', format: { type: 'grammar', grammar: { syntax: 'lark' } } }],
    });
    expect(encoded.body.tools).toMatchObject([
      { name: 'patch', input_schema: { properties: { input: { type: 'string' } }, required: ['input'] } },
    ]);
    expect(JSON.stringify(encoded.body.tools)).toContain('lark');
    expect([...encoded.restore.customTools]).toEqual(['patch']);
    expect(warningsOf(encoded)).toEqual(['changed tools']);
  });

  it('have names that the wire takes, alike in list, choice and history', () => {
    const name = 'mcp.server/'.repeat(9);
    const { body, restore } = encode({
      tools: [{ type: 'function', name }],
      toolChoice: { type: 'tool', name },
      messages: [
        { role: 'user', parts: [{ type: 'text', text: 'a' }] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: 'x.y', name, arguments: '{}' }] },
        { role: 'user', parts: [{ type: 'tool_result', callId: 'x.y', content: '' }] },
      ],
    });
    const [[wire]] = [...restore.toolNames] as [[string, string]];
    expect(wire).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(restore.toolNames.get(wire)).toBe(name);
    expect(body).toMatchObject({ tools: [{ name: wire }], tool_choice: { name: wire } });
    const [, call, result] = body.messages as { content: JsonObject[] }[];
    expect(call?.content[0]?.name).toBe(wire);
    expect(call?.content[0]?.id).toBe(result?.content[0]?.tool_use_id);
  });
});

describe("the answer's form", () => {
  table({
    'is a closed schema': {
      request: { responseFormat: FORMAT },
      body: {
        output_config: {
          format: { type: 'json_schema', schema: { ...SCHEMA, additionalProperties: false } },
        },
      },
    },
    'stands beside the effort': {
      request: { responseFormat: FORMAT, reasoning: { effort: 'low' } },
      traits: { thinkingAdaptive: true },
      body: { output_config: { effort: 'low', format: { type: 'json_schema' } } },
    },
    'is asked for in words where it is any JSON': {
      request: { responseFormat: { type: 'json_object' } },
      body: { system: [{ type: 'text' }] },
      absent: ['output_config'],
      warnings: ['changed responseFormat'],
    },
    'is a forced tool where the model has none': {
      request: { responseFormat: FORMAT },
      traits: { structuredOutput: false },
      body: {
        tools: [{ name: 'person', input_schema: SCHEMA }],
        tool_choice: { type: 'tool', name: 'person' },
      },
      absent: ['output_config'],
      warnings: ['changed responseFormat'],
    },
    'is a forced tool where the schema has no end': {
      request: {
        responseFormat: { ...FORMAT, schema: { type: 'object', properties: { a: { $ref: '#' } } } },
      },
      body: { tool_choice: { type: 'tool', name: 'person' } },
      warnings: ['changed responseFormat'],
    },
    'is one of the tools where there are others': {
      request: { responseFormat: FORMAT, tools: [F] },
      traits: { structuredOutput: false },
      body: { tools: [{ name: 'f' }, { name: 'person' }], tool_choice: { type: 'any' } },
      warnings: ['changed responseFormat'],
    },
    'is forced at the cost of thinking': {
      request: { maxOutputTokens: 9000, responseFormat: FORMAT, reasoning: { effort: 'low' } },
      traits: { structuredOutput: false },
      body: { thinking: { type: 'disabled' }, tool_choice: { type: 'tool' } },
      warnings: ['changed responseFormat', 'dropped reasoning'],
    },
  });

  it('names the tool that stands for it', () => {
    expect(
      encode({ responseFormat: FORMAT, tools: [{ ...F, name: 'person' }] }, { structuredOutput: false })
        .restore.structuredTool,
    ).toBe('person_');
    expect(encode({ responseFormat: FORMAT }).restore.structuredTool).toBeUndefined();
  });

  it.each<[string, Partial<Traits>]>([
    ['takes no forced call', { forcedTools: 'never' }],
    ['takes none while it thinks, and always thinks', { thinkingOff: 'never', thinksByDefault: true }],
  ])('is asked for in words where the model %s', (_, traits) => {
    const { body, restore } = encode({ responseFormat: FORMAT }, { structuredOutput: false, ...traits });
    expect(JSON.stringify(body.system)).toContain('JSON schema');
    expect(body).not.toHaveProperty('tools');
    expect(restore.structuredTool).toBeUndefined();
  });

  it('moves the keywords that are not enforced into words, and never touches the schema that came', () => {
    const schema = {
      type: 'object',
      properties: {
        age: { type: 'integer', minimum: 1, description: 'years' },
        when: { type: 'string', format: 'date-time', maxLength: 9 },
        list: {
          type: 'array',
          minItems: 2,
          items: { oneOf: [{ type: 'string', format: 'phone' }, { $ref: '#/$defs/x' }] },
        },
      },
      $defs: { x: { type: 'object', properties: {} } },
    };
    const before = structuredClone(schema);
    const { body } = encode({ responseFormat: { type: 'json_schema', schema } });
    expect(schema).toEqual(before);
    expect((body.output_config as JsonObject).format).toEqual({
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: {
          age: { type: 'integer', description: 'years\n\n{minimum: 1}' },
          when: { type: 'string', format: 'date-time', description: '{maxLength: 9}' },
          list: {
            type: 'array',
            items: { anyOf: [{ type: 'string', description: '{format: "phone"}' }, { $ref: '#/$defs/x' }] },
            description: '{minItems: 2}',
          },
        },
        $defs: { x: { type: 'object', properties: {}, additionalProperties: false } },
        additionalProperties: false,
      },
    });
  });
});
