// Efforts and budgets of thinking across the protocols, and conversations in which a model can't think, or not go on.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { createModelInfo } from '../../src/routing/model-info.ts';
import { provider } from '../routing/fixtures.ts';
import { translated } from './translated.ts';

const BUDGETS = { thinkingBudget: true, thinkingAdaptive: false };
const OF_BUDGETS = { thinkingForm: 'enable_thinking', budgetRange: [1, 81_920], efforts: [] } as const;
const EFFORTS = { thinkingBudget: false, thinkingAdaptive: true };

/** The effort of the last column is the messages protocol's, which has no `minimal`. */
const TABLE = [
  ['minimal', 1024, 'low'],
  ['low', 4096, 'low'],
  ['medium', 10_000, 'medium'],
  ['high', 24_000, 'high'],
  ['xhigh', 32_000, 'xhigh'],
  ['max', 48_000, 'max'],
] as const;

/** What the budget that a messages client sends is to a chat provider. */
function effortOnChat(budget: number): unknown {
  const thinking = { type: 'enabled', budget_tokens: budget };
  return translated('messages', { thinking }).body.reasoning_effort;
}

/** What the budget that a chat client sends is to a messages provider whose model takes efforts alone. */
function effortOnMessages(budget: number): unknown {
  const { body } = translated('chat', { reasoning: { max_tokens: budget } }, EFFORTS);
  return (body.output_config as JsonObject).effort;
}

describe('efforts and budgets', () => {
  it.each(TABLE)('%s is a budget of %d', (effort, budget) => {
    const { body } = translated('chat', { reasoning_effort: effort }, BUDGETS);
    expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: budget });
  });

  it.each(TABLE)('%s begins at a budget of %d, whichever way it goes', (effort, budget, written) => {
    expect([effortOnChat(budget), effortOnMessages(budget)]).toEqual([effort, written]);
    expect([effortOnChat(budget + 1), effortOnMessages(budget + 1)]).toEqual([effort, written]);
  });

  it.each(TABLE.slice(1).map(([, budget], at) => [budget - 1, TABLE[at]] as const))(
    'a budget of %d is still the effort below',
    (budget, below) => {
      expect([effortOnChat(budget), effortOnMessages(budget)]).toEqual([below?.[0], below?.[2]]);
    },
  );

  it('an effort beside a budget wins, for models of efforts and for models of budgets', () => {
    const asked = (effort: string) => ({
      ...{ thinking: { type: 'enabled', budget_tokens: 31_999, display: 'omitted' } },
      output_config: { effort },
    });
    expect(translated('messages', asked('low')).body.reasoning_effort).toBe('low');
    const [low, high] = ['low', 'high'].map(
      (effort) => translated('messages', asked(effort), OF_BUDGETS).body,
    );
    expect([low, high]).toMatchObject([{ thinking_budget: 4096 }, { thinking_budget: 24_000 }]);
  });

  it('a budget below the least is the least effort', () => {
    expect([effortOnChat(500), effortOnMessages(500)]).toEqual(['minimal', 'low']);
  });
});

describe('sampling of models that think', () => {
  const sampling = { temperature: 0.4, top_p: 0.9 };
  function onChat(model: string, members: JsonObject) {
    const { traits } = createModelInfo().about(provider('any', null), model, undefined, 0);
    const { body, reports } = translated('messages', { ...sampling, ...members }, traits);
    const { temperature, top_p, reasoning_effort } = body;
    return { sent: { temperature, top_p, reasoning_effort }, reports };
  }
  const off = { thinking: { type: 'disabled' } };

  it.each(['gpt-5.1', 'gpt-5.2-2026-01-01', 'openai/gpt-5.6-sol', 'gpt-6'])(
    '%s takes it while it does not',
    (model) => {
      expect(onChat(model, off)).toEqual({ sent: { ...sampling, reasoning_effort: 'none' }, reports: [] });
    },
  );

  it.each<[string, string, JsonObject, string | undefined]>([
    ['where it thinks', 'gpt-5.1', { thinking: { type: 'adaptive' } }, 'medium'],
    ['where an effort is asked for', 'gpt-5.2', { output_config: { effort: 'low' } }, 'low'],
    ['where nothing is said of thinking', 'gpt-5.2', {}, undefined],
    ['where it can not be kept from thinking', 'gpt-5', off, 'minimal'],
    ['where it can not be kept from thinking', 'o3', off, 'low'],
  ])('is left out and named %s: %s', (_, model, members, effort) => {
    const { sent, reports } = onChat(model, members);
    expect(sent).toEqual({ reasoning_effort: effort });
    expect(reports).toEqual(expect.arrayContaining(['dropped temperature', 'dropped topP']));
  });

  it('is left out and named by a messages provider whose model thinks', () => {
    const { body, reports } = translated('chat', { ...sampling, top_k: 3, reasoning_effort: 'low' }, BUDGETS);
    expect(body).not.toHaveProperty('temperature');
    expect(body).not.toHaveProperty('top_p');
    expect(body).not.toHaveProperty('top_k');
    expect(reports).toEqual(['dropped temperature', 'dropped topP', 'dropped topK']);
  });
});

describe('budgets that a provider would refuse', () => {
  it.each<[limit: number, budget: number, sent: object, reports: string[]]>([
    [1024, 2000, { type: 'disabled' }, ['dropped reasoning']],
    [1024, 500, { type: 'disabled' }, ['dropped reasoning']],
    [1025, 2000, { type: 'enabled', budget_tokens: 1024 }, ['changed reasoning.budgetTokens']],
    [1535, 2000, { type: 'enabled', budget_tokens: 1024 }, ['changed reasoning.budgetTokens']],
    [1536, 1024, { type: 'enabled', budget_tokens: 1024 }, []],
    [1537, 2000, { type: 'enabled', budget_tokens: 1025 }, ['changed reasoning.budgetTokens']],
    [2512, 2000, { type: 'enabled', budget_tokens: 2000 }, []],
    [2511, 2000, { type: 'enabled', budget_tokens: 1999 }, ['changed reasoning.budgetTokens']],
    [9000, 1023, { type: 'enabled', budget_tokens: 1024 }, ['changed reasoning.budgetTokens']],
    [9000, 2048.7, { type: 'enabled', budget_tokens: 2048 }, ['changed reasoning.budgetTokens']],
  ])('within %d tokens one of %d', (limit, budget, sent, reports) => {
    const asked = { max_completion_tokens: limit, reasoning: { max_tokens: budget } };
    const { body, reports: told } = translated('chat', asked, BUDGETS);
    expect(body.max_tokens).toBe(limit);
    expect(body.thinking).toEqual(sent);
    expect(told).toEqual(reports);
  });

  it.each(['1e999', '-1', '0', '"9"', '{}'])('%s is no budget, and is reported', (written) => {
    const asked = JSON.parse(
      `{"max_completion_tokens":null,"reasoning":{"max_tokens":${written}}}`,
    ) as JsonObject;
    const { body, reports } = translated('chat', asked, BUDGETS);
    expect(body.max_tokens).toBe(4096);
    expect(reports).toContain('dropped reasoning.max_tokens');
  });
});

it('a budget is sent to a chat provider as an effort, which is reported', () => {
  const { body, reports } = translated('messages', { thinking: { type: 'enabled', budget_tokens: 5000 } });
  expect(body.reasoning_effort).toBe('low');
  expect(reports).toEqual(['changed reasoning.budgetTokens']);
});

describe('thinking as the model sees fit', () => {
  it.each(['auto', 'adaptive'])('is what a chat client means by the type %s', (type) => {
    const { body, reports } = translated('chat', { thinking: { type } }, EFFORTS);
    expect(body.thinking).toEqual({ type: 'adaptive' });
    expect(reports).toEqual([]);
  });
});

describe('an open tool turn without its thinking', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
  const messages = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: 'r' },
    { role: 'system', content: 'be brief' },
  ];
  it.each<[string, Partial<Traits>, object, string]>([
    ['cannot be thought about', BUDGETS, { type: 'disabled' }, 'suspended reasoning'],
    [
      'is thought about as the model sees fit',
      { thinkingBudget: true, thinkingAdaptive: true },
      { type: 'adaptive' },
      'changed reasoning',
    ],
  ])('%s, also where system text stands after it', (_, traits, thinking, report) => {
    const asked = { reasoning: { max_tokens: 2000 }, messages };
    const encoded = translated('chat', asked, { ...traits, midSystem: true });
    expect(encoded.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'system']);
    expect(encoded.body.thinking).toEqual(thinking);
    expect(encoded.reports).toEqual([report]);
  });
});

describe('a turn that the assistant shall go on from', () => {
  const messages = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: 'It is ' },
  ];
  const last = (effort: string) =>
    translated('chat', { reasoning_effort: effort, messages }, { ...BUDGETS, prefill: true });

  it('stays the last where the model does not think', () => {
    const { messages: sent, reports } = last('none');
    expect(sent.at(-1)).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'It is' }] });
    expect(reports).toEqual([]);
  });

  it('is followed by a word of the user where the model thinks, which is reported', () => {
    const { messages: sent, reports } = last('low');
    expect(sent.at(-1)).toEqual({ role: 'user', content: [{ type: 'text', text: 'Continue.' }] });
    expect(reports).toEqual(['changed messages']);
  });
});

describe('what a chat client asks of a summary', () => {
  const asked = (summary: unknown) =>
    translated('chat', { reasoning_effort: { effort: 'low', summary } as JsonObject }, EFFORTS);
  it('has no place in messages: the effort is carried, the summary named', () => {
    expect(asked('detailed').body.output_config).toEqual({ effort: 'low' });
    expect(asked('detailed').reports).toEqual(['dropped reasoning_effort.summary']);
    expect(asked(null).reports).toEqual([]);
  });
});

describe('thinking in the history of a chat client', () => {
  it.each<[string, JsonObject[] | string]>([
    [
      'in pieces',
      [
        { type: 'text', text: 'h' },
        { type: 'text', text: 'm' },
      ],
    ],
    ['as a string', 'hm'],
  ])('is read from a thinking chunk, %s', (_, thinking) => {
    const content = [
      { type: 'thinking', thinking },
      { type: 'text', text: 'ok' },
    ];
    const request = protocols.chat.client.decodeRequest({
      model: 'm',
      messages: [{ role: 'assistant', content }],
    });
    expect(request.messages[0]?.parts).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'ok' },
    ]);
  });
});
