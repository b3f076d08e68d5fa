// What tells conversations apart, for staying where one was answered.
import { describe, expect, it } from 'vitest';
import { routingQuery } from '../../../src/gateway/inbound/route.ts';
import { ownArrival, readRequest } from '../../../src/gateway/inbound/read-request.ts';
import { chat } from '../../../src/protocols/chat/index.ts';
import { messages } from '../../../src/protocols/messages/index.ts';
import type { Protocol } from '../../../src/protocols/interface/protocol.ts';

const user = (content: string): object => ({ role: 'user', content });
const assistant = (content: string): object => ({ role: 'assistant', content });

function conversation(protocol: Protocol, turns: object[], more: object = {}): string | undefined {
  const body = { model: 'm', max_tokens: 9, messages: turns, ...more };
  const inbound = readRequest(ownArrival(protocol), Buffer.from(JSON.stringify(body)));
  return routingQuery(inbound, { models: null, accountId: 1 }).conversation;
}

describe('a conversation', () => {
  it.each([chat, messages])('stays the same while it grows ($name)', (protocol) => {
    const begun = conversation(protocol, [user('one')]);
    expect(conversation(protocol, [user('one'), assistant('two'), user('three')])).toBe(begun);
    expect(conversation(protocol, [user('two')])).not.toBe(begun);
  });

  it('is another with another system text', () => {
    const begun = conversation(messages, [user('one')], { system: 'Be brief.' });
    expect(conversation(messages, [user('one')], { system: 'Be long.' })).not.toBe(begun);
    const head = [{ role: 'system', content: 'Be brief.' }, user('one')];
    expect(conversation(chat, head)).not.toBe(conversation(chat, [user('one')]));
  });

  it('is what the client calls so by its cache key', () => {
    const begun = conversation(chat, [user('one')], { prompt_cache_key: 'session 1' });
    expect(conversation(chat, [user('two')], { prompt_cache_key: 'session 1' })).toBe(begun);
    expect(conversation(chat, [user('one')], { prompt_cache_key: 'session 2' })).not.toBe(begun);
    expect(conversation(chat, [user('one')], { prompt_cache_key: '' })).toBe(
      conversation(chat, [user('one')]),
    );
  });
});

it.each([
  ['context-1m-2025-08-07', true],
  ['interleaved-thinking-2025-05-14, context-1m-2025-08-07', true],
  ['interleaved-thinking-2025-05-14', false],
  [undefined, false],
])('the betas %s ask for the long window: %s', (beta, long) => {
  const headers = beta === undefined ? {} : { 'anthropic-beta': beta };
  expect(messages.client.forwardedHeaders(headers, '').longContext).toBe(long);
});
