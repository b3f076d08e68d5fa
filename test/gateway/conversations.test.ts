// What is recorded of conversations, whatever reaches the provider, and that requests without choice of a target are known, too.
import { describe, expect, it } from 'vitest';
import { readRequestRows } from './rows.ts';
import { ask, type Question } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
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
