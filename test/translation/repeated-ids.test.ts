// Calls of one answer that a server gave the same id: results are told apart by it, so that each client gets one of its own.
import { expect, describe, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ToolCallPart } from '../../src/canonical/request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { ALL, BOTH, collected, context, eventsIn, mover, send } from './pipeline.ts';

const ASKED = ['a', 'a', 'a_2', 'b', 'a'];
const GIVEN = ['a', 'a_2', 'a_2_2', 'b', 'a_3'];
const NAMES = ['f', 'g', 'h', 'i', 'j'];

const chatCalls = ASKED.map((id, at) => ({
  id,
  type: 'function',
  function: { name: NAMES[at], arguments: `{"n":${at}}` },
}));
const blocks = ASKED.map((id, at) => ({ type: 'tool_use', id, name: NAMES[at], input: { n: at } }));

const WHOLE = {
  chat: {
    id: 'x',
    choices: [{ index: 0, message: { content: null, tool_calls: chatCalls }, finish_reason: 'tool_calls' }],
  } as JsonObject,
  messages: { content: blocks, stop_reason: 'tool_use' } as JsonObject,
};

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const event = (value: JsonObject & { type: string }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;

const END = `${chunk({}, 'tool_calls')}data: [DONE]\n\n`;
const STREAMS: [string, 'chat' | 'messages', string][] = [
  [
    'counted',
    'chat',
    chatCalls.map((call, index) => chunk({ tool_calls: [{ index, ...call }] })).join('') + END,
  ],
  ['not counted', 'chat', chatCalls.map((call) => chunk({ tool_calls: [call] })).join('') + END],
  ['not counted, in one chunk', 'chat', chunk({ tool_calls: chatCalls }) + END],
  [
    'counted',
    'messages',
    event({ type: 'message_start', message: {} }) +
      blocks
        .map(
          (block, index) =>
            event({ type: 'content_block_start', index, content_block: block }) +
            event({ type: 'content_block_stop', index }),
        )
        .join('') +
      event({ type: 'message_delta', delta: { stop_reason: 'tool_use' } }) +
      event({ type: 'message_stop' }),
  ],
];

/** Each once: the events of a responses stream repeat them. */
const idsIn = (text: string): unknown[] => [
  ...new Set([...text.matchAll(/"(?:id|call_id)":"([ab][^"]*)"/g)].map(([, id]) => id)),
];

const calls = (parts: readonly { type: string }[]) =>
  parts.filter((part): part is ToolCallPart => part.type === 'tool_call');

it.each(STREAMS)('streamed, %s, by a provider of %s', (_, provider, stream) => {
  const told = calls(collected(eventsIn(provider, stream)).parts);
  expect(told.map(({ id }) => id)).toEqual(GIVEN);
  expect(told.map(({ name }) => name)).toEqual(NAMES);
  expect(told.map((call) => call.arguments)).toEqual(ASKED.map((_id, at) => `{"n":${at}}`));
  for (const client of ALL.filter((name) => name !== provider)) {
    const { text } = send([Buffer.from(stream)], mover(client, provider));
    expect(idsIn(text)).toEqual(GIVEN);
  }
});

describe.each(BOTH)('whole, by a provider of %s', (provider) => {
  it.each(ALL)('for a client of %s', (client) => {
    const reply = protocols[provider].provider.decodeReply(WHOLE[provider]);
    expect(calls(reply.parts).map(({ id }) => id)).toEqual(GIVEN);
    const body = JSON.stringify(protocols[client].client.encodeReply(reply, context(client)));
    expect(idsIn(body)).toEqual(GIVEN);
  });
});

it('calls without ids are given some that differ, whole and streamed', () => {
  const nameless = blocks.map(({ id: _id, ...block }) => block);
  const reply = protocols.messages.provider.decodeReply({ content: nameless, stop_reason: 'tool_use' });
  let count = 0;
  const ids = { random: () => String(++count) };
  const body = JSON.stringify(protocols.chat.client.encodeReply(reply, { ...context('chat'), ids }));
  expect(new Set([...body.matchAll(/"id":"(call_[^"]*)"/g)].map(([, id]) => id)).size).toBe(blocks.length);
});

it('a call whose id is repeated, or that continues, stays one call', () => {
  const [call] = chatCalls;
  const again = { ...call, function: { ...call?.function, arguments: '' } };
  const stream =
    chunk({ tool_calls: [call] }) + chunk({ tool_calls: [call] }) + chunk({ tool_calls: [again] });
  const rest = chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '\n' } }] });
  expect(calls(collected(eventsIn('chat', stream + rest + END)).parts)).toHaveLength(1);
});

it('two calls alike in one chunk, without ids and indexes, are two', () => {
  const call = { function: { name: 'f', arguments: '{}' } };
  expect(calls(collected(eventsIn('chat', chunk({ tool_calls: [call, call] }) + END)).parts)).toHaveLength(2);
});
