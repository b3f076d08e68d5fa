// A client that goes away takes its upstream request with it, in every phase, whatever client and protocol it is.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { gate, startScriptedProvider } from '../helpers/scripted-provider.ts';
import type { ScriptedProvider } from '../helpers/scripted-provider.ts';
import { STREAM } from './replies.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  gateway = await startGateway({
    config: {
      providers: {
        talks: provider(upstream.url, 'chat', ['chat-model']),
        writes: provider(upstream.url, 'messages', ['messages-model']),
      },
    },
  });
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const messages = [{ role: 'user' as const, content: 'hello' }];
const never = gate().opened;
/** The stream up to its first words, then silence. */
function begun(protocol: 'chat' | 'messages'): string {
  const [before = ''] = STREAM[protocol].split(/(?<=grüß.*\n\n)/, 1);
  return before;
}

describe.each(['chat-model', 'messages-model'])('towards %s', (model) => {
  const protocol = model === 'chat-model' ? 'chat' : 'messages';

  it('an abort in mid-stream, by the chat client', async () => {
    upstream.play({ steps: [begun(protocol), never] });
    const stream = await openai.chat.completions.create({ model, messages, stream: true });
    for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    expect(await (await upstream.next()).left).toBe(true);
  });

  it('an abort in mid-stream, by the messages client', async () => {
    upstream.play({ steps: [begun(protocol), never] });
    const stream = anthropic.messages.stream({ model, messages, max_tokens: 10 });
    stream.on('text', () => stream.abort());
    await expect(stream.finalMessage()).rejects.toThrow(Anthropic.APIUserAbortError);
    expect(await (await upstream.next()).left).toBe(true);
  });

  it.each([true, false])('an abort before the first byte (stream: %s)', async (stream) => {
    upstream.play({ steps: [never] });
    const leaving = new AbortController();
    const answer = openai.chat.completions.create({ model, messages, stream }, { signal: leaving.signal });
    const asked = await upstream.next();
    leaving.abort();
    await expect(answer).rejects.toThrow(OpenAI.APIUserAbortError);
    expect(await asked.left).toBe(true);
  });
});
