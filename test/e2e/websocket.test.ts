// Responses over a WebSocket, from the built program: one process and two workers, in front of the simulated provider; and what thirty
// calls of a tool cost a client that sends what is new alone.
import { expect, test } from 'vitest';
import { provider } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { idOf, socketClient, textOf } from '../helpers/socket-client.ts';
import { content, FINISH, START, streamOf, TERMINAL } from '../gateway/wire.ts';

test.each([['1'], ['2']])('SIGTERM lets answers finish, with --workers %s', async (workers) => {
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({ providers: { p: provider(upstream.url, 'chat', ['m']) } });
  const server = await shell.serve('--workers', workers);
  const to = { url: server.url, key: await shell.newKey('enterprise') };
  const goOn = gate();
  const steps = [START.chat, content('chat', 'a'), goOn.opened, FINISH.chat, TERMINAL.chat];
  upstream.playAlways({ steps });
  const clients = await Promise.all(Array.from({ length: 4 }, () => socketClient(to)));
  const idle = await socketClient(to);
  const answers = clients.map((client) => client.create({ model: 'm', input: 'x' }));
  await Promise.all(clients.map((client) => client.until('response.output_text.delta')));
  server.child.kill('SIGTERM');
  expect((await idle.closed)[0]).toBe(1001);
  goOn.open();
  for (const answer of answers) expect(textOf(await answer)).toBe('a');
  for (const client of clients) expect((await client.closed)[0]).toBe(1001);
  expect(await server.ended).toMatchObject({ code: 0, signal: null });
});

/** As large as those that agents send. */
const TOOLS = Array.from({ length: 12 }, (_, at) => ({
  type: 'function',
  name: `tool_${at}`,
  description: 'x'.repeat(900),
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
}));
const RESULT = 'y'.repeat(4000);
const CALLS = 30;

test('thirty calls of a tool: what is new alone is a fifth of the bytes', async () => {
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({ providers: { p: provider(upstream.url, 'chat', ['m']) } });
  const server = await shell.serve();
  const to = { url: server.url, key: await shell.newKey('unlimited') };
  let asked = 0;
  upstream.answerBy(() => {
    asked += 1;
    if (asked > CALLS) return { steps: [streamOf('chat', 'Done')] };
    const call = { index: 0, id: `call_${asked}`, function: { name: 'tool_1', arguments: '{"path":"a"}' } };
    const chunk = (choice: object): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`;
    return {
      steps: [
        chunk({ delta: { role: 'assistant', tool_calls: [call] } }),
        chunk({ delta: {}, finish_reason: 'tool_calls' }),
        TERMINAL.chat,
      ],
    };
  });
  const client = await socketClient(to);
  const [kept, created] = [{ model: 'm', store: false, tools: TOOLS }, 'response.create'];
  const history: object[] = [{ type: 'message', role: 'user', content: 'Look at thirty files.' }];
  let input: object[] = history;
  let previous: string | undefined;
  let [overSocket, overHttp] = [0, 0];
  for (let round = 0; ; round += 1) {
    const body = { ...kept, ...(previous === undefined ? {} : { previous_response_id: previous }), input };
    overSocket += JSON.stringify({ type: created, ...body }).length;
    overHttp += JSON.stringify({ ...kept, stream: true, input: history }).length;
    const events = await client.create(body);
    previous = idOf(events);
    const { output } = events.at(-1)?.['response'] as { output: { type: string; call_id?: string }[] };
    const result = output.flatMap(({ type, call_id }) =>
      type === 'function_call' ? [{ type: 'function_call_output', call_id, output: RESULT }] : [],
    );
    history.push(...output, ...result);
    input = result;
    if (result.length === 0) {
      expect(round).toBe(CALLS);
      break;
    }
  }
  console.log(
    `${CALLS} calls: ${Math.round(overSocket / 1000)} KB instead of ${Math.round(overHttp / 1000)} KB`,
  );
  expect(overSocket).toBeLessThan(overHttp / 4);
  expect(JSON.stringify(upstream.requests.at(-1)?.json).match(/y{4000}/g)).toHaveLength(CALLS);
});
