// What is recorded of conversations, whatever reaches the provider, and that requests without choice of a target are known, too.
import { describe, expect, it } from 'vitest';
import { readRequestRows } from './rows.ts';
import { ask, type Question } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { temporaryFile } from '../store/support.ts';
import { wholeOf } from './wire.ts';

const SESSION = '2afbfa1b-5163-4ef7-9012-b5d0f8af0935';
const EXPLORE = {
  'x-claude-code-session-id': SESSION,
  'x-claude-code-agent-id': 'a0f1',
  'x-claude-code-agent-type': 'Explore',
  'x-claude-code-request-class': 'subagent',
  'x-claude-code-prompt-id': 'p-1',
  'x-gateway-label': 'pr-123',
};

async function place(): Promise<TestGateway> {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  return gateway({ config: { providers: { p: provider(`${upstream.url}/v1`, 'chat', ['m']) } } });
}

const sent = (to: TestGateway, question: Question): Promise<unknown> =>
  ask(to, { model: 'p/m', ...question });

describe('the row of a request', () => {
  it.each(['chat', 'messages', 'responses'] as const)(
    'bears its conversation, agent and label (%s)',
    async (protocol) => {
      const to = await place();
      await sent(to, { protocol, headers: EXPLORE });
      await sent(to, { protocol, headers: { 'x-claude-code-session-id': SESSION } });
      await sent(to, { protocol });
      const [explored, main, other] = await readRequestRows(to, 3);
      expect(explored).toMatchObject({
        ...{ agent: 'a0f1', agentType: 'Explore', class: 'subagent', prompt: 'p-1', label: 'pr-123' },
      });
      expect(main).toMatchObject({
        conversation: explored?.conversation,
        agent: null,
        class: null,
        label: null,
      });
      expect(other?.conversation).not.toBe(main?.conversation);
      expect(other?.conversation).toMatch(/^conv_[0-9A-Za-z]{19}$/);
    },
  );

  it('bears the same conversation after the account is renamed, and another in another account', async () => {
    const to = await place();
    const headers = { 'x-session-id': SESSION };
    await sent(to, { headers });
    await to.store.renameAccount('test', 'renamed');
    await sent(to, { headers });
    await sent({ ...to, key: await to.newKey({ account: 'another' }) }, { headers });
    const [first, second, third] = await readRequestRows(to, 3);
    expect(second?.conversation).toBe(first?.conversation);
    expect(third?.conversation).not.toBe(first?.conversation);
  });

  it('of an answer that goes on from a stored one is in the conversation that it goes on', async () => {
    const to = await gateway();
    const question = { protocol: 'responses', model: 'sim/echo' } as const;
    const first = await ask(to, { ...question, body: { store: true } });
    const body = { previous_response_id: first.json?.['id'], input: 'and then?' };
    expect(await ask(to, { ...question, body })).toMatchObject({ status: 200 });
    const [one, two] = await readRequestRows(to, 2);
    expect(two?.conversation).toBe(one?.conversation);
  });
});

describe('the key of the prompt cache', () => {
  /** What a provider gets; `openai` takes keys, `own` does not say so. */
  async function bodies(target: string, questions: readonly Question[]): Promise<Record<string, unknown>[]> {
    const upstream = await scriptedProvider();
    const [name = '', wire = ''] = target.split(' ');
    upstream.playAlways({ body: wholeOf(wire as 'chat', 'hello') });
    const more = name === 'openai' ? { api_key: 'sk-provider', models: ['m'] } : {};
    const providers = { [name]: { ...provider(`${upstream.url}/v1`, wire as 'chat', ['m']), ...more } };
    const to = await gateway({ config: { providers } });
    for (const question of questions) await ask(to, { model: `${name}/m`, ...question });
    return upstream.requests.map(({ json }) => json);
  }

  const headers = { 'x-session-id': SESSION };
  const other = { 'x-session-id': 'another' };

  it.each(['openai chat', 'openai responses'])(
    'is made of the conversation for %s, whatever its client speaks, relayed too',
    async (target) => {
      const [chat, messages, responses, elsewhere, unnamed] = await bodies(target, [
        { protocol: 'chat', headers },
        { protocol: 'messages', headers },
        { protocol: 'responses', headers },
        { protocol: 'chat', headers: other },
        { protocol: 'chat' },
      ]);
      const { prompt_cache_key: key } = chat ?? {};
      expect(key).toMatch(/^[0-9a-f]{32}$/);
      expect([messages, responses].map((body) => body?.['prompt_cache_key'])).toEqual([key, key]);
      const keys = [key, elsewhere?.['prompt_cache_key'], unnamed?.['prompt_cache_key']];
      expect(new Set(keys).size).toBe(3);
    },
  );

  it.each(['openai chat', 'openai responses'])(
    "is the client's own where it sent one, to %s",
    async (target) => {
      const body = { prompt_cache_key: 'mine' };
      const asked = (['chat', 'responses'] as const).map((protocol): Question => ({
        protocol,
        headers,
        body,
      }));
      for (const got of await bodies(target, asked)) expect(got['prompt_cache_key']).toBe('mine');
    },
  );

  it('is not sent where nothing says that the provider takes one', async () => {
    for (const got of await bodies('own chat', [{ headers }, { protocol: 'messages', headers }])) {
      expect(got).not.toHaveProperty('prompt_cache_key');
    }
  });
});

describe('a conversation stays with the target that answered it', () => {
  const headers = { 'x-session-id': SESSION };

  it('on every gateway of the database, and after a restart', async () => {
    const [one, two] = [await scriptedProvider(), await scriptedProvider()];
    two.playAlways({ body: wholeOf('chat', 'two') });
    const providers = {
      one: provider(`${one.url}/v1`, 'chat', ['m']),
      two: provider(`${two.url}/v1`, 'chat', ['m']),
    };
    const folder = temporaryFile();
    const config = { database: folder, providers, routes: { r: ['one/m', 'two/m'] } };
    const first = await gateway({ config });
    one.play({ status: 500, body: {} });
    expect(await ask(first, { model: 'r', headers })).toMatchObject({ content: 'two' });
    await readRequestRows(first, 1);
    one.playAlways({ body: wholeOf('chat', 'one') });
    const second = await gateway({ config });
    const to = { url: second.url, key: first.key };
    expect(await ask(to, { model: 'r', headers })).toMatchObject({ content: 'two' });
    expect(await ask(to, { model: 'r', headers: { 'x-session-id': 'another' } })).toMatchObject({
      content: 'one',
    });
  });
});
