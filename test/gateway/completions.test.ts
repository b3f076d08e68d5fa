// POST /v1/completions: bare texts, and gaps between a prompt and a suffix, whole and streamed, in whatever form a provider answers.
import { describe, expect, it } from 'vitest';
import { gateway, provider } from '../helpers/gateway.ts';
import { CUT, scriptedProvider, type Script } from '../helpers/scripted-provider.ts';
import { readRequestRows } from './rows.ts';

const ASKED = { model: 'm', prompt: 'def add(a, b):\n', suffix: '\nprint(add(1, 2))', max_tokens: 20 };
const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };

const textChunk = (text: string, finish: string | null = null): object => ({
  id: 'cmpl-1',
  object: 'text_completion',
  choices: [{ index: 0, text, finish_reason: finish }],
});
const chatChunk = (content: string, finish: string | null = null): object => ({
  id: 'cmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});
const event = (value: object | string): string =>
  `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const stream = (...events: (object | string)[]): Script => ({
  headers: { 'content-type': 'text/event-stream' },
  steps: events.map(event),
});

async function place(more: object = {}) {
  const upstream = await scriptedProvider();
  const server = await gateway({
    config: { providers: { p: provider(`${upstream.url}/v1`, 'chat', ['m', 'bge-m3'], more) } },
  });
  const ask = (given: object = {}): Promise<Response> =>
    fetch(`${server.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${server.key}` },
      body: JSON.stringify({ ...ASKED, ...given }),
    });
  return { upstream, server, ask };
}

describe('a completion', () => {
  it('is relayed whole, counted, and recorded', async () => {
    const { upstream, server, ask } = await place();
    const answer = { ...textChunk('  return a + b', 'stop'), usage };
    upstream.play({ body: answer });
    const response = await ask();
    expect([response.status, await response.json()]).toEqual([200, answer]);
    expect(upstream.requests).toMatchObject([{ path: '/v1/completions', json: ASKED }]);
    expect(await readRequestRows(server, 1)).toMatchObject([
      { endpoint: 'completions', input: 9, output: 4 },
    ]);
  });

  it('is relayed as a stream, whose usage is asked for and not passed on unasked', async () => {
    const { upstream, server, ask } = await place();
    const frames = [textChunk('  return'), textChunk(' a + b', 'stop')];
    upstream.play(stream(...frames, { id: 'cmpl-1', choices: [], usage }, '[DONE]'));
    const response = await ask({ stream: true });
    expect(await response.text()).toBe([...frames, '[DONE]'].map(event).join(''));
    expect(upstream.requests[0]?.json).toMatchObject({ stream_options: { include_usage: true } });
    expect(await readRequestRows(server, 1)).toMatchObject([
      { streamed: true, input: 9, output: 4, error: null },
    ]);
  });

  it('may be empty: nothing fits into the gap', async () => {
    const { upstream, ask } = await place();
    upstream.play(stream(textChunk('', 'stop'), '[DONE]'), { body: textChunk('', 'stop') });
    expect(await (await ask({ stream: true })).text()).toContain('"finish_reason":"stop"');
    expect((await ask()).status).toBe(200);
  });

  it.each([
    ['', '/v1/completions'],
    ['/fim/completions', '/v1/fim/completions'],
    ['../beta/completions', '/beta/completions'],
  ])(
    'is asked for where the provider has it (%s), and an answer in the form of a chat is one',
    async (path, asked) => {
      const { upstream, ask } = await place(path === '' ? {} : { flags: { completions_path: path } });
      upstream.play(stream(chatChunk('  return'), { ...chatChunk(' a + b', 'stop'), usage }, '[DONE]'), {
        body: {
          id: '1',
          object: 'chat.completion',
          choices: [
            { index: 0, message: { role: 'assistant', content: '  return a + b' }, finish_reason: 'stop' },
          ],
          usage,
        },
      });
      const streamed = await (await ask({ stream: true })).text();
      const texts = [...streamed.matchAll(/^data: (\{.*\})$/gm)].map(
        ([, data = '']) => (JSON.parse(data) as { choices: { text: string }[] }).choices[0]?.text,
      );
      expect(texts).toEqual(['  return', ' a + b']);
      expect(await (await ask()).json()).toMatchObject({
        object: 'text_completion',
        choices: [{ index: 0, text: '  return a + b', finish_reason: 'stop' }],
      });
      expect(upstream.requests.map(({ path: at }) => at)).toEqual([asked, asked]);
    },
  );

  it('that breaks off is no success', async () => {
    const { upstream, server, ask } = await place();
    upstream.play({
      headers: { 'content-type': 'text/event-stream' },
      steps: [event(textChunk('  return')), CUT],
    });
    const response = await ask({ stream: true });
    await expect(response.text()).rejects.toThrow();
    expect(await readRequestRows(server, 1)).toMatchObject([{ error: 'truncated' }]);
  });

  it('in a form that was not asked for fails with words', async () => {
    const { upstream, ask } = await place();
    upstream.playAlways({ body: textChunk('  return', 'stop') });
    expect((await ask({ stream: true })).status).toBe(502);
    upstream.playAlways(stream(textChunk('  return', 'stop'), '[DONE]'));
    expect((await ask()).status).toBe(502);
  });

  it('of a model that has none is a 400 that names those that have, and a wrong one names its field', async () => {
    const { upstream, ask } = await place();
    const textOf = async (given: object): Promise<[number, string]> => {
      const response = await ask(given);
      return [response.status, await response.text()];
    };
    const [status, text] = await textOf({ model: 'bge-m3' });
    expect([status, text]).toEqual([400, expect.stringContaining('these do: `auto`, `m`')]);
    expect(await textOf({ prompt: undefined })).toEqual([400, expect.stringContaining('prompt')]);
    expect(await textOf({ stream: 'yes' })).toEqual([400, expect.stringContaining('stream')]);
    expect(upstream.requests).toHaveLength(0);
  });

  it('without a place for it is a 400', async () => {
    const { ask } = await place({ flags: { completions_path: false } });
    expect((await ask()).status).toBe(400);
  });
});
