// Efforts and budgets of thinking across the protocols, and conversations in which a model can't think, or not go on.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { translated } from './translated.ts';

const BUDGETS = { thinkingBudget: true, thinkingAdaptive: false };
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

describe('efforts and budgets (PROTOCOL 6.1)', () => {
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

  it('a budget below the least is the least effort', () => {
    expect([effortOnChat(500), effortOnMessages(500)]).toEqual(['minimal', 'low']);
  });
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
    ['cannot be thought about', BUDGETS, { type: 'disabled' }, 'dropped reasoning'],
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

  it('is followed by a word of the user where the model thinks, which is said', () => {
    const { messages: sent, reports } = last('low');
    expect(sent.at(-1)).toEqual({ role: 'user', content: [{ type: 'text', text: 'Continue.' }] });
    expect(reports).toEqual(['changed messages']);
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
    const request = protocols.chat.decodeRequest({ model: 'm', messages: [{ role: 'assistant', content }] });
    expect(request.messages[0]?.parts).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'ok' },
    ]);
  });
});
