// P4, for whatever a body may hold: what the gateway decides by is what a provider reads in the bytes that it gets.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { PATHS } from '../helpers/ask.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { streamOf, wholeOf } from '../gateway/wire.ts';

type Protocol = keyof typeof PATHS;

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  upstream.answerBy(({ path, bytes }) => {
    const protocol = path.includes('responses')
      ? 'responses'
      : path.includes('messages')
        ? 'messages'
        : 'chat';
    return /"str(?:e|\\u0065)am" *: *true/.test(bytes.toString())
      ? { headers: { 'content-type': 'text/event-stream' }, body: streamOf(protocol, 'hello') }
      : { body: wholeOf(protocol, 'hello') };
  });
  gateway = await startGateway({
    config: {
      providers: {
        chat: provider(`${upstream.url}/v1`, 'chat', ['m', 'n']),
        messages: provider(`${upstream.url}/v1`, 'messages', ['o']),
        responses: provider(`${upstream.url}/v1`, 'responses', ['r']),
      },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});
afterEach(() => void vi.restoreAllMocks());

async function post(protocol: Protocol, body: string | Buffer, key = gateway.key) {
  const before = upstream.requests.length;
  const response = await fetch(gateway.url + PATHS[protocol], {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body,
  });
  const { status, headers } = response;
  const text = await response.text();
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  return {
    status,
    text,
    isStream,
    sent: upstream.requests.slice(before).map(({ bytes }) => bytes.toString()),
  };
}

const MESSAGES = '"messages":[{"role":"user","content":"x"}]';

describe('P4: a name with an escape is read as it is written, whatever names were read before', () => {
  it('a stored object stays the provider’s, and out of reach', async () => {
    const before = String.raw`{"model":"r","input":"x","z1":[],"convers\\u006":1}`;
    expect(await post('responses', before)).toMatchObject({ status: 200, sent: [before] });
    const hidden = String.raw`{"model":"r","input":"x","z1":1,"convers\u0061tion":"conv_of_another"}`;
    expect(await post('responses', hidden)).toMatchObject({
      status: 400,
      text: expect.stringContaining('conversation') as string,
      sent: [],
    });
  });

  it('a stream is seen to be one', async () => {
    await post('chat', String.raw`{"model":"m",${MESSAGES},"z2":[],"str\\u0":1}`);
    const hidden = String.raw`{"model":"m",${MESSAGES},"z2":1,"str\u0065am":true}`;
    expect(await post('chat', hidden)).toMatchObject({ status: 200, isStream: true });
  });
});
