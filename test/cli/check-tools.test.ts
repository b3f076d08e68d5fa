// `gateway check PROVIDER/MODEL --tools` against scripted models on real sockets: one that is right, one that writes its calls as text,
// one that makes none, and servers that refuse what they do not take.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TOOL_CASES, type ToolCase, type WantedCall } from '../../src/cli/check/tool-cases.data.ts';
import type { ToolReport } from '../../src/cli/check/tool-check.ts';
import { writeChatAnswer, type Message } from '../helpers/chat-answer.ts';
import { createShell, type Shell } from './harness.ts';

interface Body {
  stream?: boolean;
  messages: { role: string; content: string | null; tool_calls?: { id: string }[]; tool_call_id?: string }[];
  tools: { function: { name: string } }[];
  tool_choice?: unknown;
}

/** What a model says to a case; or a refusal. */
type Model = (wanted: ToolCase, body: Body) => Message | { refusal: string };

/** Values for what a case describes by an expression. */
const SAMPLES = [
  ['paris', 'Paris'],
  ['rom[ea]', 'Rome'],
  ['out', 'out.txt'],
  ['kitchen', 'kitchen'],
  ['dinner', 'Dinner'],
  ['b\\.txt', 'b.txt'],
] as const;

function sample(value: unknown): unknown {
  if (!(value instanceof RegExp)) return value;
  return SAMPLES.find(([source]) => value.source.includes(source))?.[1];
}

const argumentsOf = (call: WantedCall): Record<string, unknown> =>
  Object.fromEntries(Object.entries(call.arguments).map(([name, value]) => [name, sample(value)]));

/** As a model of OpenAI's would answer. */
function rightAnswer({ wanted }: ToolCase): Message {
  if (wanted instanceof RegExp) return { content: 'Hello: 4, and 18 degrees.' };
  const calls = wanted.map((call, at) => ({
    id: `call_${at}`,
    type: 'function' as const,
    function: { name: call.name, arguments: JSON.stringify(argumentsOf(call)) },
  }));
  return { content: null, tool_calls: calls };
}

function inTags(toolCase: ToolCase): Message {
  const { tool_calls: calls, content } = rightAnswer(toolCase);
  const text = (calls ?? []).map(
    ({ function: { name, arguments: args } }) =>
      `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`,
  );
  return calls === undefined ? { content } : { content: text.join('\n') };
}

/** A strict server: a result without its call, or a call of a tool that is not offered, is refused. */
function refusalOf({ messages, tools }: Body): string | undefined {
  const ids = new Set<string>();
  for (const message of messages) {
    for (const { id } of message.tool_calls ?? []) ids.add(id);
    if (message.role === 'tool' && !ids.has(message.tool_call_id ?? ''))
      return `no call has the id ${message.tool_call_id}`;
  }
  return tools.some(({ function: { name } }) => !/^[\w-]{1,64}$/.test(name)) ? 'a bad name' : undefined;
}

function caseOf({ messages, stream }: Body): ToolCase {
  const last = messages.at(-1)?.content;
  const found = TOOL_CASES.find(({ asked }) => {
    const [part] = asked.messages.at(-1)?.parts ?? [];
    const text = part?.type === 'text' ? part.text : part?.type === 'tool_result' ? part.content : undefined;
    return text === last && asked.stream === (stream ?? false);
  });
  if (found === undefined) throw new Error(`no case asks ${JSON.stringify(last)}`);
  return found;
}

async function serverOf(model: Model): Promise<{ url: string; asked: Body[] }> {
  const asked: Body[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      asked.push(body);
      const refusal = refusalOf(body);
      const said = refusal === undefined ? model(caseOf(body), body) : { refusal };
      if ('refusal' in said) {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: said.refusal, type: 'invalid_request_error' } }));
      } else writeChatAnswer(response, body.stream === true, said);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

async function shellFor(model: Model, more = ''): Promise<Shell & { asked: Body[] }> {
  const { url, asked } = await serverOf(model);
  const shell = createShell();
  writeFileSync(
    join(shell.directory, 'gateway.yaml'),
    `providers: { lab: { protocol: chat, base_url: "${url}", models: [m]${more} } }\n`,
  );
  return { ...shell, asked };
}

async function reportOf(shell: Shell): Promise<ToolReport> {
  return JSON.parse((await shell.run('check lab/m --tools --json')).stdout) as ToolReport;
}

describe('check --tools', () => {
  it('has thirty cases of different names, streamed and whole', () => {
    expect(new Set(TOOL_CASES.map(({ name }) => name)).size).toBe(30);
    expect(TOOL_CASES.filter(({ asked }) => asked.stream === false).length).toBeGreaterThan(5);
  });

  it('finds a model that is right, right, and changes nothing', async () => {
    const shell = await shellFor(rightAnswer);
    expect(await reportOf(shell)).toMatchObject({
      model: 'lab/m',
      protocol: 'chat',
      repair_tools: true,
      right: 30,
      repaired: 0,
      lost: 0,
      change: [],
    });
    expect(shell.asked).toHaveLength(30);
    const { code, stdout } = await shell.run('check lab/m --tools');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^lab\/m\n {2}✓ one call\n/);
    expect(stdout).toContain('30 right, 0 repaired, 0 lost of 30 cases');
  });

  it('finds calls that stand in the text repaired, as the gateway does for this server', async () => {
    const { right, repaired, lost, cases, change } = await reportOf(await shellFor(inTags));
    const calling = TOOL_CASES.filter(({ wanted }) => !(wanted instanceof RegExp)).length;
    expect({ right, repaired, lost, change }).toEqual({
      right: 30 - calling,
      repaired: calling,
      lost: 0,
      change: [],
    });
    expect(cases[0]).toEqual({
      case: 'one call',
      result: 'repaired',
      detail: 'get_weather: written as text (<tool_call>), finish',
    });
  });

  it('finds them lost where nothing is repaired, and names the line that repairs them', async () => {
    const shell = await shellFor(inTags, ', repair_tools: false');
    const { repaired, lost, change } = await reportOf(shell);
    expect({ repaired, lost }).toEqual({ repaired: 0, lost: 26 });
    expect(change).toEqual(['providers.lab: repair_tools: true (makes 26 cases right)']);
  });

  it('finds a model that makes no calls lost, and says what its server may lack', async () => {
    const shell = await shellFor(() => ({ content: 'Of course: 4, 18.' }));
    const { code, stdout, stderr } = await shell.run('check lab/m --tools');
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'gateway: lab/m lost 26 of 30 cases\n' });
    expect(stdout).toMatch(/✗ one call {2,}no call: answered "Of course: 4, 18\."/);
    expect(stdout).toContain('--enable-auto-tool-choice');
    expect(stdout).toContain('models: [{ id: m, tools: false }]');
  });

  it('tells what only looks like a call from an answer', async () => {
    const shell = await shellFor((wanted) =>
      wanted.name === 'numbers' ? { content: '@@add{{a 17}{b 25}}' } : rightAnswer(wanted),
    );
    const { lost, change } = await reportOf(shell);
    expect(lost).toBe(1);
    expect(change).toEqual([expect.stringMatching(/^1 call stood in the text in a form that is not known/)]);
  });

  it.each<[string, Partial<Message>, string]>([
    ['number in quotes', { tool_calls: callOf('add', '{"a": "17", "b": "25"}') }, 'add: arguments'],
    ['name with a prefix', { tool_calls: callOf('functions.add', '{"a": 17, "b": 25}') }, 'add: name'],
  ])('names the repair of a %s', async (_, message, detail) => {
    const shell = await shellFor((wanted) =>
      wanted.name === 'numbers' ? { content: null, ...message } : rightAnswer(wanted),
    );
    const { cases, repaired } = await reportOf(shell);
    expect(repaired).toBe(1);
    expect(cases.find(({ result }) => result === 'repaired')).toEqual({
      case: 'numbers',
      result: 'repaired',
      detail,
    });
  });

  it.each<[string, string, Message, string]>([
    [
      'a call too many',
      'no call wanted',
      { content: null, tool_calls: callOf('get_weather', '{}') },
      'called get_weather with {} where no call was wanted',
    ],
    [
      'one call of two',
      'two calls at once',
      { content: null, tool_calls: callOf('get_weather', '{"city": "Paris"}') },
      '1 of 2 calls: get_weather is missing',
    ],
    [
      'other arguments',
      'digits that are a text',
      { content: null, tool_calls: callOf('ship_to', '{"zip_code": "1234"}') },
      'called ship_to with {"zip_code": "1234"}',
    ],
    [
      'an argument that the tool lacks',
      'numbers',
      { content: null, tool_calls: callOf('add', '{"a": 17, "b": 25, "c": 1}') },
      'called add with {"a": 17, "b": 25, "c": 1}',
    ],
    [
      'an answer that was cut off',
      'a long text',
      { content: null, tool_calls: callOf('write_file', '{"path": "out.txt", "con'), finish: 'length' },
      'the answer was cut off by the limit of its output',
    ],
  ])('finds lost: %s', async (_, name, message, detail) => {
    const shell = await shellFor((wanted) => (wanted.name === name ? message : rightAnswer(wanted)));
    const { lost, cases } = await reportOf(shell);
    expect(lost).toBe(1);
    expect(cases.find(({ result }) => result === 'lost')).toEqual({ case: name, result: 'lost', detail });
  });

  it('names the flag that avoids a refusal, which it has tried', async () => {
    const shell = await shellFor((wanted, { tool_choice: choice }) =>
      choice === undefined || choice === 'auto' || choice === 'none'
        ? rightAnswer(wanted)
        : { refusal: "No endpoints found that support the provided 'tool_choice' value." },
    );
    const { lost, cases, change } = await reportOf(shell);
    const detail = 'refused as it was sent; right with flags: { forced_tools: never }';
    expect(cases.filter(({ result }) => result === 'lost')).toEqual([
      { case: 'a call that must be', result: 'lost', detail },
      { case: 'a call of a named tool', result: 'lost', detail },
    ]);
    expect(lost).toBe(2);
    expect(change).toEqual([
      'providers.lab: flags: { forced_tools: never } (2 cases that the server refuses in the present form)',
    ]);
  });

  it('shows a refusal that no flag avoids', async () => {
    const shell = await shellFor((wanted) =>
      wanted.name === 'numbers' ? { refusal: 'not today' } : rightAnswer(wanted),
    );
    const { cases, change } = await reportOf(shell);
    expect(cases.find(({ result }) => result === 'lost')?.detail).toBe('the server answered 400, not today');
    expect(change).toEqual([]);
  });

  it('ends at a key that is refused, without the other cases', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'bad key' } }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const shell = createShell();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    writeFileSync(
      join(shell.directory, 'gateway.yaml'),
      `providers: { lab: { protocol: chat, base_url: "${url}", models: [m] } }\n`,
    );
    const { code, stderr } = await shell.run('check lab/m --tools');
    expect(code).toBe(1);
    expect(stderr).toMatch(/the check of lab\/m ended after 0 cases, at "one call": 401, .*bad key/);
    expect(asked).toHaveLength(1);
  });

  it('needs the name of a model that there is', async () => {
    const shell = await shellFor(rightAnswer);
    expect(await shell.run('check --tools')).toMatchObject({
      code: 2,
      stderr: 'gateway: --tools asks one model: name it, gateway check PROVIDER/MODEL --tools\n',
    });
    expect(await shell.run('check lab/m --tools --deep')).toMatchObject({ code: 2 });
    expect(await shell.run('check nowhere/m --tools')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nowhere/m') as string,
    });
  });
});

function callOf(name: string, args: string): NonNullable<Message['tool_calls']> {
  return [{ id: 'call_1', type: 'function', function: { name, arguments: args } }];
}
