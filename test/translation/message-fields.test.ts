// The rows about messages and their parts, from the client's wire to the provider's.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { cross, crossTo } from './cross.ts';

describe('system text', () => {
  const marked = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } };
  const plain = { type: 'text', text: 'b' };
  const hi = { role: 'user', content: 'hi' };

  it('is the same as a string', () => {
    const members = { system: 'a', messages: [hi] };
    expect(cross('messages', members).body.messages).toEqual([{ role: 'system', content: 'a' }, hi]);
  });

  it('is one string on chat, but where a part bears a mark', () => {
    const members = { system: [marked, plain], messages: [hi] };
    expect(cross('messages', members).body.messages).toEqual([{ role: 'system', content: 'a\n\nb' }, hi]);
    expect(cross('messages', members, { cacheMarks: 'cache_control' }).body.messages).toEqual([
      { role: 'system', content: [marked, plain] },
      hi,
    ]);
  });

  it('behind a user is in a message of its own for models that take it alone', () => {
    const messages = [hi, { role: 'system', content: 's' }];
    const user = { role: 'user', content: [{ type: 'text', text: 'hi' }] };
    const system = [{ type: 'text', text: 's' }];
    expect(cross('chat', { messages }, { midSystem: true }).body.messages).toEqual([
      user,
      { role: 'system', content: system },
    ]);
    expect(cross('chat', { messages }).body.messages).toEqual([
      {
        role: 'user',
        content: [...user.content, { type: 'text', text: '<system_message>\ns\n</system_message>' }],
      },
    ]);
  });
});

describe('messages', () => {
  const marked = { cache_control: { type: 'ephemeral' } };
  const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const hi = { role: 'user', content: 'hi' };

  it.each(['system', 'developer', 'user', 'assistant'])('lose the name of a %s, and say so', (role) => {
    const messages = [{ role, content: 'a', name: 'n' }, hi];
    expect(cross('chat', { messages }).dropped).toEqual(['messages[].name']);
  });

  it('of tools have names that say nothing new', () => {
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const messages = [
      hi,
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'a', name: 'f', content: 'r' },
    ];
    expect(cross('chat', { messages }).dropped).toEqual([]);
  });

  it('may hold what SDKs add to an answer that is sent back: none of it is a loss', () => {
    const added = { provider_specific_fields: { citations: null } };
    const body = { name: 'f', arguments: '{}', parsed_arguments: { a: 1 }, ...added };
    const calls = [{ id: 'a', type: 'function', function: body, ...added }];
    const messages = [
      hi,
      { role: 'assistant', content: '{}', parsed: { a: 1 }, tool_calls: calls, ...added },
      { role: 'tool', tool_call_id: 'a', content: 'r' },
    ];
    expect(cross('chat', { messages }).dropped).toEqual([]);
    expect(crossTo('chat', 'responses', { messages }).dropped).toEqual([]);
    const parsed = { type: 'text', text: '{}', parsed_output: { a: 1 }, parsed: { a: 1 } };
    expect(
      cross('messages', { messages: [hi, { role: 'assistant', content: [parsed] }, hi] }).dropped,
    ).toEqual([]);
  });

  it('say that chat takes no citations back', () => {
    const cited = { type: 'text', text: 'a', citations: [{ type: 'char_location', cited_text: 'a' }] };
    const messages = [hi, { role: 'assistant', content: [cited] }, hi];
    expect(cross('messages', { messages }).dropped).toEqual(['messages[].content[].citations']);
    const { body, dropped } = cross('messages', { messages: [{ role: 'user', content: [cited] }] });
    expect(dropped).toEqual(['messages[].content[].citations']);
    expect(body.messages).toEqual([{ role: 'user', content: 'a' }]);
  });

  it('keep the marks on calls and results towards messages', () => {
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, ...marked }];
    const messages = [
      hi,
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'a', content: 'r', ...marked },
    ];
    expect(cross('chat', { messages }).body.messages).toMatchObject([
      {},
      { content: [{ ...call, ...marked }] },
      { content: [{ type: 'tool_result', ...marked }] },
    ]);
  });

  it('keep the marks on pictures and files towards messages', () => {
    const image = { type: 'image_url', image_url: { url: 'data:IMAGE/PNG;base64,AAAA' }, ...marked };
    const file = { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' }, ...marked };
    const content = [image, file, { type: 'text', text: 'a' }];
    expect(cross('chat', { messages: [{ role: 'user', content }] }).body.messages).toMatchObject([
      {
        content: [
          { type: 'image', source: { media_type: 'image/png' }, ...marked },
          { type: 'document', source: { media_type: 'application/pdf' }, ...marked },
          { type: 'text' },
        ],
      },
    ]);
  });

  it('lose the transformations of pictures, and say so', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
    const image = { type: 'image', source, transformations: { oversized_image: 'resize' } };
    const { dropped } = cross('messages', { messages: [{ role: 'user', content: [image] }] });
    expect(dropped).toEqual(['messages[].content[].transformations']);
  });

  it('count the marks within results', () => {
    const parts = ['1', '2', '3', '4', '5'].map((text) => ({ type: 'text', text, ...marked }));
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const messages = [
      hi,
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'a', content: parts },
    ];
    const { body, dropped } = cross('chat', { messages });
    expect(JSON.stringify(body.messages).match(/"cache_control"/g)).toHaveLength(2);
    expect(dropped).toEqual(['messages[].content[].cache_control']);
  });

  it('that end with the assistant are not gone on from while thinking', () => {
    const messages = [hi, { role: 'assistant', content: 'a ' }];
    const thinking = cross('chat', { messages, reasoning_effort: 'low' });
    expect((thinking.body.messages as JsonObject[]).at(-1)).toMatchObject({
      role: 'user',
      content: [{ text: 'Continue.' }],
    });
    expect((cross('chat', { messages }).body.messages as JsonObject[]).at(-1)).toMatchObject({
      role: 'assistant',
      content: [{ text: 'a' }],
    });
  });

  it.each(['12345678', '1234567890', 'abcdefgh_', 'toolu_1'])('map the id %s for Mistral', (id) => {
    const messages = [
      hi,
      { role: 'assistant', content: [{ ...call, id }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'r' }] },
    ];
    const [, turn, result] = cross('messages', { messages }, { toolIds: 'mistral' }).body
      .messages as JsonObject[];
    expect(result?.tool_call_id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(turn?.tool_calls).toMatchObject([{ id: result?.tool_call_id }]);
  });
});
