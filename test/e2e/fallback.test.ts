// A provider that fails before its first word is not noticed: the next one answers. After it, the break is told.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { CUT, cutAfter, startScriptedProvider } from '../helpers/scripted-provider.ts';
import type { Script, ScriptedProvider } from '../helpers/scripted-provider.ts';
import { STREAM } from './replies.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
});
afterAll(() => upstream.close());

/** A gateway of its own for each test: a target that failed is remembered. */
async function clients(): Promise<{ openai: OpenAI; anthropic: Anthropic }> {
  gateway = await startGateway({
    config: {
      providers: { shaky: provider(upstream.url, 'chat', ['model']), sim: {} },
      routes: { auto: ['shaky/model', 'sim/echo'] },
    },
  });
  const options = { apiKey: gateway.key, maxRetries: 0 };
  return {
    openai: new OpenAI({ ...options, baseURL: `${gateway.url}/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: gateway.url }),
  };
}

const messages = [{ role: 'user' as const, content: 'hello there' }];
const HEAD = STREAM.chat.slice(0, STREAM.chat.indexOf('data:{'));

const DEATHS: [string, Script][] = [
  ['500', { status: 500, body: 'oops' }],
  ['429', { status: 429, body: {} }],
  ['401', { status: 401, body: {} }],
  ['a broken connection', { steps: [CUT] }],
  ['a stream that breaks before its first word', { steps: [HEAD, CUT] }],
  ['a stream that ends before its first word', { steps: [HEAD] }],
  [
    'a stream that begins with an error',
    { steps: ['data: {"error":{"message":"no","type":"server_error"}}\n\n'] },
  ],
  ['a page', { headers: { 'content-type': 'text/html' }, body: '<html>' }],
];

describe('falls back after', () => {
  test.each(DEATHS)('%s', async (_, death) => {
    const { openai, anthropic } = await clients();
    try {
      upstream.play(death);
      const { data, response } = await openai.chat.completions
        .create({ model: 'auto', messages, stream: true })
        .withResponse();
      let text = '';
      for await (const { choices } of data) text += choices[0]?.delta.content ?? '';
      expect(text).toBe('hello there');
      expect(response.headers.get('x-gateway-attempts')).toBe('2');
      expect(response.headers.get('x-gateway-provider')).toBe('sim');
      const { content } = await anthropic.messages.create({ model: 'sim/echo', max_tokens: 50, messages });
      expect(content).toMatchObject([{ text: 'hello there' }]);
    } finally {
      await gateway.stop();
    }
  });
});

describe('after the first word nothing falls back', () => {
  it.each(['chat', 'messages'])('a %s client gets an error for the break', async (kind) => {
    const { openai, anthropic } = await clients();
    const asked = upstream.requests.length;
    try {
      upstream.play({ steps: cutAfter(STREAM.chat, STREAM.chat.indexOf('dich')) });
      let text = '';
      if (kind === 'chat') {
        const stream = await openai.chat.completions.create({ model: 'auto', messages, stream: true });
        const read = async (): Promise<void> => {
          for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
        };
        await expect(read()).rejects.toThrow(OpenAI.APIError);
      } else {
        const stream = anthropic.messages.stream({ model: 'auto', max_tokens: 50, messages });
        stream.on('text', (piece) => (text += piece));
        await expect(stream.finalMessage()).rejects.toThrow(Anthropic.APIError);
      }
      expect(text).toBe('grüß 😀 ');
      expect(upstream.requests).toHaveLength(asked + 1);
    } finally {
      await gateway.stop();
    }
  });
});

test("the client's own mistake is not tried elsewhere", async () => {
  const { openai } = await clients();
  try {
    upstream.play({
      status: 400,
      body: { error: { message: 'tools[0] is odd', type: 'x', param: 'tools[0]', code: 'odd' } },
    });
    const failure = openai.chat.completions.create({ model: 'auto', messages });
    await expect(failure).rejects.toMatchObject({ status: 400, param: 'tools[0]', code: 'odd' });
    await expect(failure).rejects.toThrow(/tools\[0\] is odd/);
  } finally {
    await gateway.stop();
  }
});
