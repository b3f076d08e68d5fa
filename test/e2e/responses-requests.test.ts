// Requests of responses clients through the whole gateway: to providers of each protocol, counted, and relayed byte for byte.
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PATHS, post } from '../helpers/ask.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { goodAnswer, WHOLE } from './replies.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  const one = (protocol: string) => ({ protocol, base_url: upstream.url, models: ['m'] });
  gateway = await startGateway({
    config: {
      providers: {
        chat: one('chat'),
        messages: one('messages'),
        responses: one('responses'),
      },
      tiers: { enterprise: 100_000 },
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

it('towards their own protocol stay byte for byte, but for the model', async () => {
  const body = `{ "store":false , "x":[1.0,1e3], "input" : [ {"role":"user","content":"gr\\u00fc\\u00df"}, {"type":"x"} ],\t"model":"responses/m" }`;
  upstream.play(goodAnswer('responses', false));
  const response = await post(gateway, PATHS.responses, body);
  expect(await response.text()).toBe(WHOLE.responses);
  expect(upstream.requests.map(({ bytes }) => bytes.toString())).toEqual([
    body.replace('"responses/m"', '"m"'),
  ]);
});

describe.each(['chat', 'messages'] as const)('towards %s', (protocol) => {
  it("are answered by the official SDK's eyes", async () => {
    upstream.play(goodAnswer(protocol, false));
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const answer = await client.responses.create({
      model: `${protocol}/m`,
      input: 'hi',
      instructions: 'be brief',
    });
    expect(answer.output_text).toBe('grüß 😀 dich');
  });

  it('are those of a real program', async () => {
    const lines = readFileSync(new URL('../fixtures/corpora/codex.jsonl', import.meta.url), 'utf8')
      .trim()
      .split('\n');
    for (const line of lines) {
      const { body } = JSON.parse(line) as { body: object };
      upstream.play(goodAnswer(protocol, true));
      const response = await post(
        gateway,
        PATHS.responses,
        JSON.stringify({ ...body, model: `${protocol}/m` }),
      );
      const text = await response.text();
      expect([response.status, text.includes('response.completed')]).toEqual([200, true]);
    }
  });
});

it('are counted', async () => {
  const response = await post(
    gateway,
    '/v1/responses/input_tokens',
    '{"model":"chat/m","input":"one two three four"}',
  );
  expect(await response.json()).toEqual({
    object: 'response.input_tokens',
    input_tokens: expect.any(Number) as number,
  });
});

it('of chat and messages clients are answered by a responses provider', async () => {
  for (const [path, body] of [
    [PATHS.chat, '{"model":"responses/m","messages":[{"role":"user","content":"hi"}]}'],
    [PATHS.messages, '{"model":"responses/m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'],
  ] as const) {
    upstream.play(goodAnswer('responses', false));
    const response = await post(gateway, path, body);
    expect([await response.text(), response.status]).toEqual([expect.stringContaining('dich'), 200]);
  }
  expect(upstream.requests.map(({ json }) => json)).toMatchObject([
    { model: 'm', input: [{ role: 'user', content: 'hi' }], store: false },
    { model: 'm', input: [{ role: 'user', content: 'hi' }], store: false, max_output_tokens: 9 },
  ]);
});

it('have an answer of the built-in provider', async () => {
  const response = await post(gateway, PATHS.responses, '{"model":"sim/echo","input":"hello there"}');
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hello there')]);
});
