// Brakes at the whole gateway: what stops a conversation, what a refused client is told in each protocol, and what lets it go on.
import { describe, expect, it } from 'vitest';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { usageRow } from '../store/support.ts';

/** A dollar a token of input, two of output. */
const PRICE = { input: 1e6, output: 2e6 };
const PATHS = { chat: 'chat/completions', messages: 'messages', responses: 'responses' } as const;
type Name = keyof typeof PATHS;
const NAMES = Object.keys(PATHS) as Name[];

const configOf = (url: string) => ({
  maker: provider(`${url}/v1`, 'chat', [{ id: 'm', price: PRICE }]),
});

async function place(brakes: unknown, more: Record<string, unknown> = {}) {
  const upstream = await scriptedProvider();
  const config = { providers: configOf(upstream.url), ...(brakes !== undefined && { brakes }), ...more };
  const server = await gateway({ tier: 'unlimited', config });
  return { upstream, server };
}

const JSON_TYPE = { 'content-type': 'application/json' };

function answer(input: number, output: number): { body: object } {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
  const usage = { prompt_tokens: input, completion_tokens: output };
  return { body: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage } };
}

interface Turn {
  name?: string;
  given?: unknown;
  result?: unknown;
  text?: string;
}

/** The call and its result in the words of each protocol. */
const CALL: Readonly<Record<Name, (id: string, turn: Turn) => object[]>> = {
  chat: (id, { name = 'Bash', given = {}, result = 'ok' }) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(given) } }],
    },
    { role: 'tool', tool_call_id: id, content: result },
  ],
  messages: (id, { name = 'Bash', given = {}, result = 'ok' }) => [
    { role: 'assistant', content: [{ type: 'tool_use', id, name, input: given }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result }] },
  ],
  responses: (id, { name = 'Bash', given = {}, result = 'ok' }) => [
    { type: 'function_call', call_id: id, name, arguments: JSON.stringify(given) },
    { type: 'function_call_output', call_id: id, output: result },
  ],
};

/** A history: a user's text, calls with their results, and texts between them. */
function history(name: Name, text: string, turns: readonly Turn[]): object {
  const items = turns.flatMap((turn, at) =>
    turn.text === undefined ? CALL[name](`c${at}`, turn) : [{ role: 'user', content: turn.text }],
  );
  const all = [{ role: 'user', content: text }, ...items];
  return name === 'responses'
    ? { input: all }
    : { messages: all, ...(name === 'messages' && { max_tokens: 5 }) };
}

const again = (times: number, turn: Turn = { given: { command: 'npm test' } }): Turn[] =>
  Array.from({ length: times }, () => turn);

interface Asking {
  name?: Name;
  conversation?: string | undefined;
  headers?: Record<string, string>;
  key?: string;
}

async function ask(
  { url, key: own }: TestGateway,
  body: object,
  { name = 'chat', conversation = 'one', headers = {}, key = own }: Asking = {},
) {
  const reply = await fetch(`${url}/v1/${PATHS[name]}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'x-api-key': key,
      'content-type': 'application/json',
      ...(conversation !== '' && { 'x-gateway-conversation': conversation }),
      ...headers,
    },
    body: JSON.stringify({ model: 'maker/m', ...body }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, text };
}

const stops = async ({ store }: TestGateway) =>
  (await store.listStops({ limit: 10 })).map(({ conversation, brake }) => ({ conversation, brake }));

const idIn = (text: string): string => /gateway conversations continue (conv_\w+)/.exec(text)?.[1] ?? '';

async function goOn({ store }: TestGateway, id: string, most?: number): Promise<void> {
  const [account] = await store.listAccounts();
  await store.letGoOn({ id, accountId: account?.id ?? 0 }, most, Date.now());
}

describe('a repeated call', () => {
  it.each(NAMES)(
    'is refused in the form on which clients of %s end, before anything is counted or sent',
    async (name) => {
      const { upstream, server } = await place({ repeated_call: 5 }, { metrics: true });
      const { status, headers, text } = await ask(server, history(name, 'fix it', again(5)), { name });
      const id = idIn(text);
      const message =
        'the brake repeated_call stopped this conversation: the tool "Bash" was called 5 times in a row with the same ' +
        `arguments and the same result; to let it go on, on the gateway's machine: gateway conversations continue ${id}`;
      const forms: Record<Name, [status: number, body: object]> = {
        chat: [
          429,
          { error: { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } },
        ],
        messages: [
          429,
          {
            type: 'error',
            error: { type: 'rate_limit_error', message },
            request_id: headers.get('request-id'),
          },
        ],
        responses: [
          400,
          { error: { message, type: 'invalid_request_error', param: null, code: 'conversation_stopped' } },
        ],
      };
      expect([status, JSON.parse(text)]).toEqual(forms[name]);
      expect(headers.get('x-should-retry')).toBe('false');
      expect([...headers.keys()].filter((key) => /retry-after|ratelimit|limits/.test(key))).toEqual([]);
      expect(await stops(server)).toEqual([{ conversation: id, brake: 'repeated_call' }]);
      expect(upstream.requests).toHaveLength(0);
      const [account] = await server.store.listAccounts();
      expect(await server.store.admissionsByHour(account?.id, 0)).toEqual([]);
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      expect(metrics).toMatch(/gateway_requests_refused_total\{[^}]*error="conversation_stopped"[^}]*\} 1/);
    },
  );

  it.each(NAMES)(
    '%s: four calls, another result, other arguments or a new text of the user go on',
    async (name) => {
      const { upstream, server } = await place({ repeated_call: 5 });
      upstream.playAlways(answer(1, 1));
      const call = { given: { command: 'npm test' } };
      const honest: Turn[][] = [
        again(4, call),
        [...again(4, call), { ...call, result: 'ok now' }],
        [...again(4, call), { given: { command: 'npm test -- a' } }],
        [...again(5, call), { text: 'once more, please' }],
        [...again(4, call), { text: 'once more, please' }, ...again(4, call)],
        [...again(4, call), { given: { command: 'ls' } }, ...again(4, call)],
        [...again(4, call), { ...call, name: 'Shell' }],
      ];
      for (const turns of honest)
        expect((await ask(server, history(name, 'fix it', turns), { name })).status).toBe(200);
      expect(await stops(server)).toEqual([]);
    },
  );

  it.each(NAMES)(
    'is a 400 in the words of %s for opencode, which asks again after each 429',
    async (name) => {
      const { server } = await place({ repeated_call: 5 });
      const headers = { 'user-agent': 'opencode/1.18.0 ai-sdk/provider-utils' };
      const refused = await ask(server, history(name, 'fix it', again(5)), { name, headers });
      expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([400, 'false']);
      const code = name === 'messages' ? {} : { code: 'conversation_stopped' };
      expect(JSON.parse(refused.text)).toMatchObject({ error: { type: 'invalid_request_error', ...code } });
    },
  );

  it('is the same call whatever the order of its arguments and the form of its result', async () => {
    const { server } = await place({ repeated_call: 3 });
    const text = (cached: object): object[] => [{ type: 'text', text: 'ok', ...cached }];
    const turns = [
      { given: { a: 1, b: [1, 2] }, result: 'ok' },
      { given: { b: [1, 2], a: 1 }, result: text({}) },
      { given: { a: 1, b: [1, 2] }, result: text({ cache_control: { type: 'ephemeral' } }) },
    ];
    const { status } = await ask(server, history('messages', 'x', turns), { name: 'messages' });
    expect(status).toBe(429);
  });

  it('goes on after the stop was lifted, until it came as often once more', async () => {
    const { upstream, server } = await place({ repeated_call: 5 });
    upstream.playAlways(answer(1, 1));
    const asked = async (calls: number): Promise<number> =>
      (await ask(server, history('chat', 'fix it', again(calls)))).status;
    const { text } = await ask(server, history('chat', 'fix it', again(5)));
    await goOn(server, idIn(text));
    expect(await stops(server)).toEqual([]);
    const statuses: number[] = [];
    for (const calls of [5, 6, 9, 10]) statuses.push(await asked(calls));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await asked(10)).toBe(429);
  });

  it('is found in a history that goes on from a stored answer', async () => {
    const { upstream, server } = await place({ repeated_call: 3 });
    const call = { id: 'c0', type: 'function', function: { name: 'Bash', arguments: '{"command":"ls"}' } };
    const calling = { role: 'assistant', content: null, tool_calls: [call] };
    upstream.playAlways({
      body: {
        ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
        choices: [{ index: 0, message: calling, finish_reason: 'tool_calls' }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      },
    });
    const tools = [{ type: 'function', name: 'Bash', parameters: { type: 'object' } }];
    let previous: string | undefined;
    const statuses: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const input =
        previous === undefined
          ? 'list the files'
          : [{ type: 'function_call_output', call_id: 'c0', output: 'no such file' }];
      const body = { input, tools, ...(previous !== undefined && { previous_response_id: previous }) };
      const { status, text } = await ask(server, body, { name: 'responses', conversation: '' });
      statuses.push(status);
      previous = (JSON.parse(text) as { id?: string }).id;
    }
    expect(statuses).toEqual([200, 200, 200, 400]);
  });
});

describe('the sum of a conversation', () => {
  it('is refused once what it has spent and holds reaches the amount, and no other conversation is', async () => {
    const { upstream, server } = await place({ conversation: 10 });
    upstream.playAlways(answer(2, 1));
    const statuses: number[] = [];
    for (let turn = 0; turn < 4; turn += 1)
      statuses.push((await ask(server, history('chat', 'go', again(turn)))).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const { text } = await ask(server, history('chat', 'go', []));
    expect(text).toContain(
      'the brake conversation stopped this conversation: it has spent 12 of 10 USD; to let it go on',
    );
    expect((await ask(server, history('chat', 'go', []), { conversation: 'two' })).status).toBe(200);
    expect((await ask(server, history('chat', 'go', []), { conversation: '' })).status).toBe(200);
    expect(upstream.requests).toHaveLength(5);
  });

  it('goes on for the amount once more, or for as much as a person says, from what was spent', async () => {
    const { upstream, server } = await place({ conversation: 10 });
    upstream.playAlways(answer(2, 1));
    const asked = async (): Promise<number> => (await ask(server, history('chat', 'go', again(1)))).status;
    const untilStopped = async (): Promise<number> => {
      let requests = 0;
      while ((await asked()) === 200) requests += 1;
      return requests;
    };
    expect(await untilStopped()).toBe(3);
    const id = (await stops(server))[0]?.conversation ?? '';
    await goOn(server, id);
    expect(await untilStopped()).toBe(3);
    await goOn(server, id, 4e9);
    expect(await untilStopped()).toBe(1);
    await goOn(server, id, 5e9);
    expect(await untilStopped()).toBe(2);
    expect((await stops(server)).map(({ brake }) => brake)).toEqual(['conversation']);
  });

  it('counts what the conversation had cost before the brake was there', async () => {
    const { server } = await place({ conversation: 10, repeated_call: 2 });
    const id = idIn((await ask(server, history('chat', 'go', again(2)))).text);
    await server.store.recordUsage([
      usageRow({ conversation: id, costUsd: 20 }),
      usageRow({ conversation: id, costUsd: 2 }),
    ]);
    expect((await ask(server, history('chat', 'go', again(1)))).text).toContain('it has spent 22 of 10 USD');
  });

  it('never adds up for what begins alike, when nothing names the conversation', async () => {
    const { upstream, server } = await place({ conversation: 10, requests_a_prompt: 2 });
    upstream.playAlways(answer(20, 1));
    for (let night = 0; night < 5; night += 1)
      expect((await ask(server, history('chat', 'hello', []), { conversation: '' })).status).toBe(200);
    // What goes on from the last of them counts.
    expect((await ask(server, history('chat', 'hello', again(1)), { conversation: '' })).status).toBe(429);
  });

  it('is what requests under way hold, too', async () => {
    const { upstream, server } = await place({ conversation: 100 });
    let send = (): void => undefined;
    const sent = new Promise<void>((resolve) => (send = resolve));
    upstream.playAlways({ steps: [sent, JSON.stringify(answer(1, 1).body)], headers: JSON_TYPE });
    const body = { ...history('chat', 'go', []), max_tokens: 60 };
    const first = ask(server, body);
    await upstream.next();
    const { status, text } = await ask(server, body);
    expect(status).toBe(429);
    expect(text).toMatch(/it has spent 0 of 100 USD, and requests under way hold \d+ USD;/);
    send();
    expect((await first).status).toBe(200);
    expect((await ask(server, body)).status).toBe(200);
  });

  it('is released by a request that fails', async () => {
    const { upstream, server } = await place({ conversation: 100 });
    upstream.playAlways({ status: 500, body: { error: { message: 'no' } } });
    const body = { ...history('chat', 'go', []), max_tokens: 60 };
    for (let turn = 0; turn < 5; turn += 1) expect((await ask(server, body)).status).toBe(502);
  });
});

describe('requests of one prompt', () => {
  const loop = async (
    server: TestGateway,
    requests: number,
    options: Asking & { text?: string } = {},
  ): Promise<number[]> => {
    const { name = 'chat', text = 'fix it' } = options;
    const statuses: number[] = [];
    for (let turn = 0; turn < requests; turn += 1)
      statuses.push(
        (await ask(server, history(name, text, again(turn, { given: { turn } })), options)).status,
      );
    return statuses;
  };

  it.each(NAMES)('%s: are refused from the next on, and a new text of the user begins anew', async (name) => {
    const { upstream, server } = await place({ requests_a_prompt: 3 });
    upstream.playAlways(answer(1, 1));
    const refused = name === 'responses' ? 400 : 429;
    expect(await loop(server, 5, { name })).toEqual([200, 200, 200, refused, refused]);
    const more = [...again(5), { text: 'go on' }];
    expect((await ask(server, history(name, 'fix it', more), { name })).status).toBe(200);
    const twice = [...more, { text: 'go on' }];
    for (let turn = 0; turn < 3; turn += 1)
      expect((await ask(server, history(name, 'fix it', twice), { name })).status).toBe(200);
    const { status, text } = await ask(server, history(name, 'fix it', twice), { name });
    expect(status).toBe(refused);
    expect(text).toContain(
      'the brake requests_a_prompt stopped this conversation: one prompt has taken 3 requests, and 3 is the most',
    );
  });

  it('are those of the prompt that the agent names, of its sub-agents too, whatever they write', async () => {
    const { upstream, server } = await place({ requests_a_prompt: 4 });
    upstream.playAlways(answer(1, 1));
    const headers = { 'x-claude-code-session-id': 'abc', 'x-claude-code-prompt-id': 'p1' };
    const agent = { ...headers, 'x-claude-code-agent-id': 'a1' };
    expect(await loop(server, 2, { conversation: '', headers })).toEqual([200, 200]);
    expect(await loop(server, 3, { conversation: '', headers: agent, text: 'explore' })).toEqual([
      200, 200, 429,
    ]);
    const next = { ...headers, 'x-claude-code-prompt-id': 'p2' };
    expect(await loop(server, 1, { conversation: '', headers: next })).toEqual([200]);
  });

  it('begin anew when a person lets the conversation go on', async () => {
    const { upstream, server } = await place({ requests_a_prompt: 2 });
    upstream.playAlways(answer(1, 1));
    expect(await loop(server, 3)).toEqual([200, 200, 429]);
    await goOn(server, (await stops(server))[0]?.conversation ?? '');
    const body = history('chat', 'fix it', again(2));
    const statuses: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) statuses.push((await ask(server, body)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});

describe('a request that a brake stops', () => {
  it('is counted against no limit of its account, and said so in the log', async () => {
    const { upstream, server } = await place(
      { requests_a_prompt: 1 },
      { tiers: { team: { cost: '100/day' } } },
    );
    upstream.playAlways(answer(1, 1));
    const key = await server.newKey({ account: 'team', tier: 'team' });
    const body = history('chat', 'go', again(1));
    const first = await ask(server, body, { key });
    const second = await ask(server, body, { key });
    expect([first.status, second.status]).toEqual([200, 429]);
    const usage = await fetch(`${server.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
    const { limits } = (await usage.json()) as { limits: unknown[] };
    expect(limits).toMatchObject([{ kind: 'cost', spent: 3, held: 0 }]);
    expect(server.log()).toMatch(
      /"kind":"conversation_stopped".*one prompt has taken 1 request,.*"msg":"refused"/,
    );
  });
});
