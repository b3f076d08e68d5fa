// Members of a chat request beside the standard's: the extensions of several servers are understood, and what is inside of a
// part or a call is named where it is lost, as deep as it stands.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { cross } from './cross.ts';
import { bodyOf } from '../../src/protocols/json/body.ts';

const user = (...content: JsonObject[]): JsonObject => ({ role: 'user', content });
const FILE = { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' };
const IMAGE = { url: 'https://a.example/a.png' };
const FUNCTION = { name: 'f', arguments: '{}' };

function calling(call: JsonObject): JsonObject[] {
  const result = { role: 'tool', tool_call_id: 'a', content: 'r' };
  return [
    user({ type: 'text', text: 'q' }),
    { role: 'assistant', content: null, tool_calls: [call] },
    result,
  ];
}

describe('a member that messages do not know is named', () => {
  it.each<[path: string, messages: JsonObject[]]>([
    ['messages[].content[].x', [user({ type: 'text', text: 'q', x: 1 }, { type: 'text', text: 'r', x: 2 })]],
    ['messages[].content[].x', [user({ type: 'image_url', image_url: IMAGE, x: 1 })]],
    ['messages[].content[].image_url.x', [user({ type: 'image_url', image_url: { ...IMAGE, x: 1 } })]],
    ['messages[].content[].file.x', [user({ type: 'file', file: { ...FILE, x: false } })]],
    ['messages[].tool_calls[].x', calling({ id: 'a', type: 'function', function: FUNCTION, x: 1 })],
    [
      'messages[].tool_calls[].function.x',
      calling({ id: 'a', type: 'function', function: { ...FUNCTION, x: 1 } }),
    ],
    [
      'messages[].tool_calls[].custom.x',
      calling({ id: 'a', type: 'custom', custom: { name: 'f', input: 'i', x: 1 } }),
    ],
    [
      'messages[].function_call.x',
      [user(), { role: 'assistant', content: null, function_call: { ...FUNCTION, x: 1 } }],
    ],
    [
      'messages[].content[].x',
      [
        ...calling({ id: 'a', type: 'function', function: FUNCTION }).slice(0, 2),
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'r', x: 1 }] },
      ],
    ],
  ])('%s', (path, messages) => {
    expect(cross('chat', { messages }).dropped).toEqual([path]);
  });

  it('not where it is null, nor what servers hand out beside a call', () => {
    const call = {
      id: 'a',
      index: 0,
      type: 'function',
      function: { ...FUNCTION, x: null },
      extra_content: { google: { thought_signature: 'c2ln' } },
    };
    const { dropped } = cross('chat', {
      messages: [user({ type: 'text', text: 'q', x: null }), ...calling(call)],
    });
    expect(dropped).toEqual([]);
  });
});

describe('a last turn that the model shall go on from', () => {
  const turn = (prefix: boolean): JsonObject => ({ role: 'assistant', content: 'It is', prefix });

  it.each<[string, JsonObject[], Partial<Traits>, string[]]>([
    ['is a prefill that is kept', [user(), turn(true)], {}, []],
    [
      'is one too where another message of the assistant is before it',
      [user(), { ...turn(true), prefix: null }, turn(true)],
      {},
      [],
    ],
    [
      'is named where the model goes on from none',
      [user(), turn(true)],
      { prefill: false },
      ['messages[].prefix'],
    ],
    ['is named where it is not the last', [user(), turn(true), user()], {}, ['messages[].prefix']],
    ['is nothing where it is false', [user(), turn(false), user(), turn(false)], { prefill: false }, []],
  ])('%s', (_, messages, traits, paths) => {
    const filled = messages.map((message) =>
      message.role === 'user' ? { role: 'user', content: 'q' } : message,
    );
    expect(cross('chat', { messages: filled }, traits).dropped).toEqual(paths);
  });
});

describe('thinking as other servers ask for it', () => {
  const BUDGETS = { thinkingBudget: true, thinkingAdaptive: false };
  const on = (budget: number): object => ({ type: 'enabled', budget_tokens: budget });
  const off = { type: 'disabled' };

  it.each<[name: string, asked: JsonObject, thinking: object]>([
    ['enable_thinking with thinking_budget', { enable_thinking: true, thinking_budget: 2000 }, on(2000)],
    ['thinking_budget alone', { thinking_budget: 2000 }, on(2000)],
    ['thinking_budget beside enable_thinking: false', { enable_thinking: false, thinking_budget: 2000 }, off],
    ['think: true', { think: true }, on(8488)],
    ['think: low', { think: 'low' }, on(4096)],
    ['think: false', { think: false }, off],
    [
      'an effort within enabled thinking',
      { thinking: { type: 'enabled', reasoning_effort: 'low' } },
      on(4096),
    ],
    ['an effort within disabled thinking', { thinking: { type: 'disabled', reasoning_effort: 'high' } }, off],
  ])('are read: %s', (_, asked, thinking) => {
    const { body, dropped } = cross('chat', asked, BUDGETS);
    expect(body.thinking).toEqual(thinking);
    expect(dropped).toEqual([]);
    const messages = [{ role: 'user', content: 'q' }];
    const { needs } = protocols.chat.client.endpoints[0].readEnvelope(
      bodyOf({ model: 'm', messages, ...asked }),
      {},
    );
    expect(needs.thinking).toBe(thinking !== off);
  });

  it.each<[name: string, asked: JsonObject, path: string]>([
    ['an unknown effort as think', { think: 'hard' }, 'think'],
    ['a text as thinking_budget', { thinking_budget: 'x' }, 'thinking_budget'],
    ['a number as include_reasoning', { include_reasoning: 1 }, 'include_reasoning'],
    [
      'a number as the effort of thinking',
      { thinking: { type: 'enabled', reasoning_effort: 1 } },
      'thinking.reasoning_effort',
    ],
    ['cache_control: true', { cache_control: true }, 'cache_control'],
  ])('are named if their value is wrong: %s', (_, asked, path) => {
    expect(cross('chat', asked, BUDGETS).dropped).toEqual([path]);
  });

  it('and does not want to see it', () => {
    const asked = { model: 'm', messages: [], include_reasoning: false };
    expect(protocols.chat.client.readAsked(bodyOf(asked)).reasoning).toEqual({ hidden: true });
    expect(cross('chat', { include_reasoning: true }).dropped).toEqual([]);
    expect(cross('chat', { include_reasoning: false }).dropped).toEqual([]);
    expect(cross('chat', { include_reasoning: false }).body).not.toHaveProperty('thinking');
  });
});

it('the mark of a whole request is carried, and none is added beside it', () => {
  const messages = [{ role: 'user', content: 'q'.repeat(9000) }];
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const { body, dropped } = cross('chat', { messages, cache_control }, { promptCache: 'auto' });
  expect(body.cache_control).toEqual(cache_control);
  expect(JSON.stringify(body.messages)).not.toContain('cache_control');
  expect(dropped).toEqual([]);
});

it.each([null, undefined])('the result of a function may be %s', (content) => {
  const messages = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: null, function_call: FUNCTION },
    { role: 'function', name: 'f', ...(content === null && { content }) },
  ];
  expect(() =>
    protocols.chat.client.endpoints[0].readEnvelope(bodyOf({ model: 'm', messages }), {}),
  ).not.toThrow();
  const sent = cross('chat', { messages }).body.messages as { content: JsonObject[] }[];
  expect(sent.at(-1)?.content).toMatchObject([{ type: 'tool_result', content: '' }]);
});
