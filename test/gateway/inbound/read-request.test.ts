// What was made of a body is let go of once the request is on its way, and made again where something asks for it again.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { DEFAULT_TRAITS } from '../../../src/canonical/traits.ts';
import { ownArrival, readRequest } from '../../../src/gateway/inbound/read-request.ts';
import { protocols } from '../../../src/protocols/registry.ts';

const BODY = {
  model: 'm',
  max_tokens: 10,
  stream: true,
  stream_options: { include_usage: true },
  reasoning_effort: 'high',
  functions: [{ name: 'look', parameters: { type: 'object' } }],
  messages: [{ role: 'user', content: 'Grüße aus Bern 😀' }],
};

function bytesOf(body: unknown): Buffer {
  return Buffer.from(JSON.stringify(body));
}

it('a request that is relayed stays bytes: its conversation and its tools are not parsed', () => {
  const messages = Array.from({ length: 300 }, (_, at) => [
    { role: 'user', content: [{ type: 'text', text: `question ${at}` }] },
    { role: 'assistant', content: [{ type: 'text', text: `answer ${at}` }] },
  ]).flat();
  const tools = [{ name: 'look', input_schema: { type: 'object' } }];
  const { client, relay } = protocols.messages;
  const inbound = readRequest(
    ownArrival(protocols.messages),
    bytesOf({ model: 'm', max_tokens: 1, thinking: { type: 'disabled' }, tools, messages }),
  );
  client.hints.names(inbound.value);
  client.hints.beginning(inbound);
  client.hints.hasOpenToolTurn(inbound);
  const { bytes } = relay.rewrite(inbound, { upstream: 'other', traits: DEFAULT_TRAITS });
  const isParsed = (name: string) => 'value' in (Object.getOwnPropertyDescriptor(inbound.value, name) ?? {});
  expect(['messages', 'tools', 'thinking'].map(isParsed)).toEqual([false, false, true]);
  expect(bytes.toString()).toBe(inbound.bytes.toString().replace('"m"', '"other"'));
  expect(inbound.value.messages).toEqual(messages);
});

describe('a request that was released', () => {
  it('tells the same as before', () => {
    const read = () => readRequest(ownArrival(protocols.chat), bytesOf(BODY));
    const [fresh, released, never] = [read(), read(), read()];
    const before = [released.value, released.decode(), released.asked(), released.estimate()];
    released.release();
    never.release();
    const told = [fresh.value, fresh.decode(), fresh.asked(), fresh.estimate()];
    expect(before).toEqual(told);
    expect([released.value, released.decode(), released.asked(), released.estimate()]).toEqual(told);
    expect([never.estimate(), never.asked(), never.decode(), never.value]).toEqual(told.toReversed());
    expect(fresh.asked()).toMatchObject({ includeUsage: true, legacyFunctions: true });
    expect(released.usageAsked).toBe(true);
  });

  it('gives the same estimate when its bytes are freed, if it was made before', () => {
    const counted = readRequest(ownArrival(protocols.messages), bytesOf({ ...BODY, functions: undefined }));
    const estimate = counted.estimate();
    counted.forget();
    expect([counted.estimate(), counted.bytes.length]).toEqual([estimate, 0]);
  });

  it('keeps neither what was parsed nor what was decoded', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const inbound = readRequest(ownArrival(protocols.messages), bytesOf({ ...BODY, functions: undefined }));
    const made = [new WeakRef(inbound.value), new WeakRef(inbound.decode())];
    inbound.release();
    await new Promise((resolve) => void setImmediate(resolve));
    collect();
    expect(made.map((ref) => ref.deref())).toEqual([undefined, undefined]);
    expect(inbound.model).toBe('m');
  });
});
