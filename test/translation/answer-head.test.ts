// What stands around an answer on its way to the other protocol: its time, its tier, its id, whole and streamed.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { context, mover, send } from './pipeline.ts';

const MESSAGES = (tier: string | undefined) =>
  [
    {
      type: 'message_start',
      message: { id: 'msg_1', model: 'm', usage: { input_tokens: 1, service_tier: tier } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'a' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]
    .map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`)
    .join('');

const CHAT = (first: object, last: object = {}) =>
  [
    { id: 'chatcmpl-1', model: 'm', choices: [{ index: 0, delta: { content: 'a' } }], ...first },
    { id: 'chatcmpl-1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { id: 'chatcmpl-1', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 }, ...last },
  ]
    .map((value) => `data: ${JSON.stringify(value)}\n\n`)
    .concat('data: [DONE]\n\n')
    .join('');

function chunks(stream: string): Record<string, unknown>[] {
  const { text, complete } = send([Buffer.from(stream)], mover('chat', 'messages'));
  expect(complete).toBe(true);
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(
    ([, data]) => JSON.parse(data ?? '') as Record<string, unknown>,
  );
}

describe('a messages answer to a chat client', () => {
  it("has one time, the first byte's, and one id in every chunk", () => {
    const all = chunks(MESSAGES(undefined));
    expect(all.length).toBeGreaterThan(3);
    for (const { created, id, object } of all) {
      expect(created).toBe(1_700_000_000);
      expect(id).toBe(`chatcmpl-${'x'.repeat(24)}`);
      expect(object).toBe('chat.completion.chunk');
    }
  });

  it.each([
    ['standard', 'default'],
    ['priority', 'priority'],
    ['batch', undefined],
    ['constructor', undefined],
    [undefined, undefined],
  ])('served at %s says %s', (tier, expected) => {
    for (const { service_tier } of chunks(MESSAGES(tier))) expect(service_tier).toBe(expected);
    const reply = protocols.messages.provider.decodeReply({
      content: [{ type: 'text', text: 'a' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1, service_tier: tier },
    });
    expect(protocols.chat.client.encodeReply(reply, context('chat')).service_tier).toBe(expected);
  });
});

describe('a chat answer to a messages client', () => {
  const tierOf = (stream: string) =>
    /"service_tier":"?(\w+)"?/.exec(send([Buffer.from(stream)], mover('messages', 'chat')).text)?.[1];

  it.each([
    ['default', 'standard'],
    ['priority', 'priority'],
    ['flex', undefined],
    ['scale', undefined],
    ['toString', undefined],
  ])('served at %s says %s', (tier, expected) => {
    expect(tierOf(CHAT({ service_tier: tier }))).toBe(expected);
    const choices = [{ message: { content: 'a' }, finish_reason: 'stop' }];
    const reply = protocols.chat.provider.decodeReply({ choices, service_tier: tier });
    const { usage } = protocols.messages.client.encodeReply(reply, context('messages'));
    expect((usage as JsonObject).service_tier).toBe(expected);
  });
});

describe('an answer that is written anew', () => {
  const text = [
    { type: 'text_start' as const, index: 0 },
    { type: 'text_delta' as const, index: 0, text: 'a' },
    { type: 'text_end' as const, index: 0 },
  ];
  it("keeps the provider's time, and a service tier that arrives late", () => {
    const encoder = protocols.chat.client.createStreamEncoder(context('chat'));
    const end = { type: 'end' as const, stop: { reason: 'end' as const }, usage: { input: 1, output: 1 } };
    const start = { type: 'start' as const, id: 'chatcmpl-1', model: 'm', created: 5 };
    const written = [start, ...text, { ...end, serviceTier: 'priority' }].map((event) => encoder.push(event));
    const all = [...written.join('').matchAll(/^data: (\{.*)$/gm)].map(
      ([, data]) => JSON.parse(data ?? '') as Record<string, unknown>,
    );
    expect(new Set(all.map(({ created }) => created))).toEqual(new Set([5]));
    expect(all.map(({ service_tier }) => service_tier).filter(Boolean)).toEqual(['priority']);
    expect(all.at(-1)).toHaveProperty('service_tier', 'priority');
  });
});
