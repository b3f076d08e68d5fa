// Routes by kind of work: the requests of compactions and sub-agents at the targets that a rule names, and what says so.
import { describe, expect, it } from 'vitest';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { readRequestRows } from './rows.ts';

const reply = (text: string): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
});

async function place() {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: reply('done') });
  const server = await gateway({
    config: {
      providers: { p: provider(`${upstream.url}/v1`, 'chat', ['big', 'other', 'small', 'local', 'sub']) },
      routes: {
        coding: {
          targets: ['p/big', 'p/other'],
          classes: { compaction: ['p/small', 'p/other'], auxiliary: 'p/local', subagent: ['p/sub'] },
          agents: { Explore: ['p/local'] },
        },
      },
    },
  });
  const session = 'b7a4c9f2-1111-4222-8333-944455556666';
  async function ask(hints: Record<string, string> = {}) {
    const response = await fetch(`${server.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': server.key,
        'anthropic-version': '2023-06-01',
        'x-claude-code-session-id': session,
        ...hints,
      },
      body: JSON.stringify({ model: 'coding', max_tokens: 9, messages: [{ role: 'user', content: 'Go.' }] }),
    });
    await response.arrayBuffer();
    return [
      response.status,
      response.headers.get('x-gateway-model'),
      response.headers.get('x-gateway-rule'),
    ] as const;
  }
  return { upstream, server, ask };
}

const kind = (name: string): Record<string, string> => ({ 'x-claude-code-request-class': name });
const agent = { 'x-claude-code-agent-id': 'a1' };

describe('a rule of a route', () => {
  it('sends each kind of work to the targets that it names, agents before classes', async () => {
    const { ask } = await place();
    expect(await ask()).toEqual([200, 'big', null]);
    expect(await ask(kind('main'))).toEqual([200, 'big', null]);
    expect(await ask(kind('compaction'))).toEqual([200, 'small', 'class compaction']);
    expect(await ask(kind('auxiliary'))).toEqual([200, 'local', 'class auxiliary']);
    expect(await ask({ ...kind('subagent'), ...agent })).toEqual([200, 'sub', 'class subagent']);
    expect(await ask(agent), 'without hints').toEqual([200, 'sub', 'class subagent']);
    expect(await ask({ ...kind('subagent'), ...agent, 'x-claude-code-agent-type': 'Explore' })).toEqual([
      200,
      'local',
      'agent Explore',
    ]);
  });

  it('does not move the conversation: other work stays where it was', async () => {
    const { ask } = await place();
    await ask();
    await ask(kind('compaction'));
    expect(await ask()).toEqual([200, 'big', null]);
  });

  it('is followed by the other targets of the route, each once', async () => {
    const { upstream, ask } = await place();
    upstream.play(
      { status: 500, body: { error: { message: 'broken' } } },
      { status: 500, body: { error: { message: 'broken' } } },
    );
    expect(await ask(kind('compaction'))).toEqual([200, 'big', 'class compaction']);
    expect(upstream.requests.map(({ json }) => json.model)).toEqual(['small', 'other', 'big']);
  });

  it('stands in the details of the request', async () => {
    const { server, ask } = await place();
    await ask(kind('compaction'));
    const [row] = await readRequestRows(server, 1);
    expect(JSON.parse(row?.detail ?? '{}')).toMatchObject({ rule: 'class compaction' });
  });
});
