// Servers that stream whether they were asked to or not: a client that wants a whole answer gets one.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ask as askAny } from '../../helpers/ask.ts';
import { gateway, provider } from '../../helpers/gateway.ts';
import { CUT, scriptedProvider, type Step } from '../../helpers/scripted-provider.ts';
import { streamOf, wholeOf } from '../wire.ts';

const CASE = new URL('../../fixtures/cases/tool-calls-in-parallel/', import.meta.url);
const STREAMS = {
  chat: readFileSync(new URL('chat.sse', CASE), 'utf8'),
  messages: readFileSync(new URL('messages.sse', CASE), 'utf8'),
};

async function ask(protocol: 'chat' | 'messages', steps: readonly Step[]): Promise<Response> {
  const provider = await scriptedProvider();
  provider.play({ headers: { 'content-type': 'text/event-stream' }, steps });
  const { url, key } = await gateway({
    config: { providers: { streams: { protocol, base_url: provider.url, models: ['m'] } } },
  });
  return fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'streams/m', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }),
  });
}

describe.each(['chat', 'messages'] as const)('a stream of %s to a whole request', (protocol) => {
  it('becomes the whole answer', async () => {
    const response = await ask(protocol, [STREAMS[protocol]]);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({
      content: [
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Rome', days: 2 } },
        { type: 'tool_use', id: 'call_2', name: 'get_weather', input: { city: 'Oslo "N"\n', days: 3 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 50, output_tokens: 40 },
    });
  });

  it('that breaks off is a 502, not a short answer', async () => {
    const half = STREAMS[protocol].slice(0, STREAMS[protocol].length / 2);
    expect((await ask(protocol, [half, CUT])).status).toBe(502);
    expect((await ask(protocol, [half])).status).toBe(502);
  });
});

describe.each(['chat', 'messages'] as const)(
  'an answer of %s in the form that was not asked for',
  (protocol) => {
    const body =
      protocol === 'chat'
        ? { n: 2, logprobs: true, messages: [{ role: 'user', content: [{ type: 'novel', novel: 1 }] }] }
        : {
            container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] },
            messages: [{ role: 'user', content: [{ type: 'novel', novel: 1 }] }],
          };

    it.each([false, true])(
      'reaches a client whose request no other protocol could hold (streamed: %s)',
      async (stream) => {
        const scripted = await scriptedProvider();
        scripted.play(
          stream
            ? { body: wholeOf(protocol, 'hello') }
            : { headers: { 'content-type': 'text/event-stream' }, steps: [streamOf(protocol, 'hello')] },
        );
        const to = await gateway({
          config: { providers: { p: provider(`${scripted.url}/v1`, protocol, ['m']) } },
        });
        const seen = await askAny(to, { protocol, model: 'p/m', stream, body });
        expect(seen).toMatchObject({ status: 200, content: 'hello', error: undefined });
        await expect
          .poll(() => to.log())
          .toContain(
            protocol === 'chat' ? '"lost":["the choices after the first"]' : '"lost":["the container"]',
          );
      },
    );
  },
);

it('a stream without usage is estimated for the client, and the estimate is not recorded', async () => {
  const scripted = await scriptedProvider();
  scripted.play({ headers: { 'content-type': 'text/event-stream' }, steps: [streamOf('chat', 'hello')] });
  const to = await gateway({ config: { providers: { p: provider(`${scripted.url}/v1`, 'chat', ['m']) } } });
  const seen = await askAny(to, { protocol: 'messages', model: 'p/m' });
  expect((seen.json?.usage as { output_tokens: number }).output_tokens).toBeGreaterThan(0);
  await expect.poll(() => to.log()).toContain('"answered"');
  expect(to.log()).not.toContain('"output":');
});
