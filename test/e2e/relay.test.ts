// Where client and provider speak the same protocol nothing is written anew: the bytes go through, but for the model's name.
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { PATHS, post } from '../helpers/ask.ts';
import { PROVIDER_KEY, provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { inPieces, startScriptedProvider } from '../helpers/scripted-provider.ts';
import type { ScriptedProvider } from '../helpers/scripted-provider.ts';
import { CORPUS } from '../fixtures/corpus.ts';
import { goodAnswer, STREAM, WHOLE } from './replies.ts';

const UPSTREAM = 'maker/real-name:1b';

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  const models = (id: string): object[] => [{ id, upstream: UPSTREAM }];
  gateway = await startGateway({
    config: {
      providers: {
        talks: provider(upstream.url, 'chat', models('fake-chat-1')),
        writes: provider(upstream.url, 'messages', models('fake-messages-1')),
        responds: provider(upstream.url, 'responses', models('fake-responses-1')),
      },
      tiers: { enterprise: 10_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});
afterEach(() => {
  upstream.requests.length = 0;
});

/** A body that no serialiser would write again alike. */
const ODD: Record<ProtocolName, string> = {
  chat: `{ "x_first" : [1.0, 1e3, -0],\n "messages":[{"content":"gr\\u00fc\\u00df \\/ 😀","role":"user"}],\t"model":"fake-chat-1" , "x_big":12345678901234567890 }`,
  messages: `{ "x_first" : [1.0, 1e3, -0],\n "max_tokens": 16.0, "messages":[{"content":[{"type":"text","text":"gr\\u00fc\\u00df \\/ 😀","cache_control":{"type":"ephemeral"}}],"role":"user"}],\t"model":"fake-messages-1" , "x_big":12345678901234567890 }`,
  responses: `{ "x_first" : [1.0, 1e3, -0],\n "max_output_tokens": 16.0, "input":[{"content":"gr\\u00fc\\u00df \\/ 😀","role":"user","phase":null}],\t"model":"fake-responses-1" , "x_big":12345678901234567890 }`,
};
const renamed = (body: string): string =>
  body.replace(/"fake-(chat|messages|responses)-1"/, JSON.stringify(UPSTREAM));

describe.each(PROTOCOL_NAMES)('%s to %s', (protocol) => {
  it('passes a whole exchange byte for byte', async () => {
    upstream.play(goodAnswer(protocol, false));
    const response = await post(gateway, PATHS[protocol], ODD[protocol]);
    expect(await response.text()).toBe(WHOLE[protocol]);
    expect(upstream.requests.map(({ bytes }) => bytes.toString())).toEqual([renamed(ODD[protocol])]);
  });

  it('passes the frames of a stream as they came, however the bytes are cut', async () => {
    const streamed = ODD[protocol].replace(
      /\}$/,
      ',"stream":true, "stream_options" : {"include_usage":true,"x":1}}',
    );
    for (const size of [1, 7, 64, 100_000]) {
      upstream.play({ steps: [Buffer.concat(inPieces(STREAM[protocol], size))] });
      upstream.play({ steps: inPieces(STREAM[protocol], size) });
      for (let at = 0; at < 2; at += 1) {
        const response = await post(gateway, PATHS[protocol], streamed);
        expect(response.headers.get('content-type')).toContain('text/event-stream');
        expect(await response.text()).toBe(STREAM[protocol]);
      }
    }
    for (const { bytes } of upstream.requests) expect(bytes.toString()).toBe(renamed(streamed));
  });

  it('sends its own credentials, and nothing of the client', async () => {
    upstream.play(goodAnswer(protocol, false));
    const foreign = {
      cookie: 'a=b',
      'x-forwarded-for': '192.0.2.1',
      'x-stainless-lang': 'js',
      'proxy-authorization': 'x',
    };
    await (await post(gateway, PATHS[protocol], ODD[protocol], foreign)).arrayBuffer();
    const [{ headers } = { headers: {} }] = upstream.requests;
    const sent = JSON.stringify(headers);
    expect(sent).toContain(PROVIDER_KEY);
    expect(sent).not.toContain(gateway.key);
    for (const name of Object.keys(foreign)) expect(headers).not.toHaveProperty(name);
  });
});

test('a chat stream is asked for usage, which a client that did not ask does not see', async () => {
  upstream.play(goodAnswer('chat', true));
  const response = await post(
    gateway,
    PATHS.chat,
    '{"model":"fake-chat-1","stream":true,"messages":[{"role":"user","content":"x"}]}',
  );
  const text = await response.text();
  expect(upstream.requests[0]?.json).toMatchObject({ stream_options: { include_usage: true } });
  const withoutUsage = STREAM.chat.split('\n\n').filter((frame) => !frame.includes('"usage"'));
  expect(text).toBe(withoutUsage.join('\n\n'));
});

test('thinking that no provider signed is taken out, signed thinking stays', async () => {
  upstream.play(goodAnswer('messages', false));
  const assistant = (...content: object[]): object => ({ role: 'assistant', content });
  const text = { type: 'text', text: 'b' };
  const signed = { type: 'thinking', thinking: 'kept', signature: 'c2lnbmVk' };
  const messages = [
    { role: 'user', content: 'a' },
    assistant({ type: 'thinking', thinking: 'gone', signature: '' }, text),
    { role: 'user', content: 'c' },
    assistant(signed, text),
    { role: 'user', content: 'd' },
  ];
  const response = await post(
    gateway,
    PATHS.messages,
    JSON.stringify({ model: 'fake-messages-1', max_tokens: 9, messages }),
  );
  expect(response.status).toBe(200);
  const [a, , c, d, e] = messages;
  expect(upstream.requests[0]?.json.messages).toEqual([a, assistant(text), c, d, e]);
});

// -- what real programs send --

describe('a request of a real program reaches the provider unchanged but for the model name', () => {
  test.each(CORPUS)('%s', async (_, { path, headers, body }) => {
    const protocol = PROTOCOL_NAMES.find((name) => PATHS[name] === path) ?? 'messages';
    const counts = path.endsWith('/count_tokens');
    upstream.play(counts ? { body: { input_tokens: 42 } } : goodAnswer(protocol, body.stream === true));
    const text = JSON.stringify(body);
    const response = await post(gateway, `${path}?beta=true`, text, headers);
    expect(response.status).toBe(200);
    const answer = await response.text();
    expect(answer).toBe(
      counts ? '{"input_tokens":42}' : body.stream === true ? STREAM[protocol] : WHOLE[protocol],
    );
    expect(upstream.requests).toHaveLength(1);
    const [asked] = upstream.requests;
    expect(asked?.bytes.toString()).toBe(renamed(text));
    for (const name of ['anthropic-version', 'anthropic-beta'])
      expect(asked?.headers[name]).toBe(headers[name]);
  });
});
