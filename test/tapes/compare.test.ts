// The same requests to several targets, through the ordinary line: what each answers, what it cost, and what is asked before it is spent.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { home, type Home } from '../helpers/process.ts';
import {
  scriptedProvider,
  type Asked,
  type Script,
  type ScriptedProvider,
} from '../helpers/scripted-provider.ts';
import { stepper, studio } from './tape.ts';

interface Answer {
  target: string;
  status: number | null;
  error: string | null;
  text: string;
  calls: { name: string; arguments: string }[];
  same_text: boolean | null;
  same_calls: string | null;
  difference: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  first_byte_ms: number | null;
  duration_ms: number | null;
  id: string | null;
}

interface Compared {
  complete: boolean;
  estimate: { most_usd: number; usual_usd: number | null; unpriced: string[] };
  targets: { target: string; answered: number; failed: number; calls: Record<string, number> }[];
  requests: { request: string; protocol: string; answers: Answer[] }[];
}

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string' }, limit: { type: 'integer', default: 10 } },
  required: ['path'],
};

/** By the model: what it calls. */
const CALLS: Readonly<Record<string, string | undefined>> = {
  a: '{"path":"x"}',
  same: '{"path":"x"}',
  near: '{"limit":"10","path":"x"}',
  other: '{"path":"y"}',
};

function caller({ json }: Asked): Script {
  const model = String(json['model']);
  if (model === 'broken') return { status: 400, body: { error: { message: 'no such model here' } } };
  const text = CALLS[model];
  const message =
    text === undefined
      ? { role: 'assistant', content: 'Nothing to read.' }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: `call_${model}`, type: 'function', function: { name: 'read', arguments: text } },
          ],
        };
  return {
    body: {
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model },
      choices: [{ index: 0, message, finish_reason: text === undefined ? 'stop' : 'tool_calls' }],
      usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 },
    },
  };
}

const PRICED = ['a', 'same', 'near', 'other', 'silent', 'broken'].map((id) => ({
  id,
  price: { input: 1, output: 10 },
  max_output: 100,
}));

interface Bench {
  shell: Home;
  provider: ScriptedProvider;
}

async function bench(models: readonly object[] = PRICED): Promise<Bench> {
  const shell = home();
  const provider = await scriptedProvider();
  provider.answerBy(caller);
  shell.configure({
    providers: { up: { protocol: 'chat', base_url: `${provider.url}/v1`, api_key: 'k', models } },
    listen: { hosts: ['127.0.0.1'], port: 0 },
  });
  return { shell, provider };
}

const BODIES = {
  chat: {
    messages: [{ role: 'user', content: 'Read x' }],
    tools: [{ type: 'function', function: { name: 'read', parameters: SCHEMA } }],
  },
  messages: {
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Read x' }],
    tools: [{ name: 'read', input_schema: SCHEMA }],
  },
  responses: {
    input: 'Read x',
    tools: [{ type: 'function', name: 'read', parameters: SCHEMA }],
  },
} as const;

function requestFile({ shell }: Bench, body: object): string {
  writeFileSync(join(shell.directory, 'request.json'), JSON.stringify(body));
  return 'request.json';
}

it.each([
  ['chat', false],
  ['chat', true],
  ['messages', false],
  ['messages', true],
  ['responses', false],
  ['responses', true],
] as const)(
  'compares what targets call, in the request’s protocol: %s, stream %s',
  async (protocol, stream) => {
    const given = await bench();
    const file = requestFile(given, { ...BODIES[protocol], stream });
    const names = 'up/a,up/same,up/near,up/other,up/silent,up/broken';
    const result = await given.shell.json<Compared>('compare', file, '--with', names);
    expect(result).toMatchObject({ complete: true, requests: [{ protocol }] });
    const answers = result.requests[0]?.answers ?? [];
    expect(answers.map(({ same_calls: same, difference }) => [same, difference])).toEqual([
      [null, null],
      ['equal', null],
      ['after_schema', null],
      ['different', 'read: path'],
      ['different', 'read is not called'],
      [null, null],
    ]);
    expect(answers[4]).toMatchObject({ text: 'Nothing to read.', calls: [], same_text: false });
    expect(answers[5]).toMatchObject({
      status: 400,
      error: expect.stringContaining('no such model here') as string,
    });
    // Priced and counted as the gateway does.
    for (const answer of answers.slice(0, 5)) {
      expect(answer).toMatchObject({ input_tokens: 1000, output_tokens: 10, cost_usd: 0.0011, error: null });
      expect(answer.first_byte_ms).toBeLessThanOrEqual(answer.duration_ms ?? -1);
    }
    const rows = await given.shell.json<{ id: string; label: string; conversation: string }[]>('requests');
    expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(answers.slice(0, 5).map(({ id }) => id)));
    expect(new Set(rows.map(({ label }) => label))).toEqual(new Set(['compare']));
    // No two targets are one conversation: neither brakes nor the routes of one may touch the other.
    expect(new Set(rows.map(({ conversation }) => conversation)).size).toBe(rows.length);
  },
);

it('sends each recorded request of a tape with its recorded history, and compares with what was recorded', async () => {
  const { agent, provider, shell } = await studio();
  provider.answerBy(stepper(3));
  expect(await agent(['record', 'task'], 'messages', 'Begin')).toMatchObject({ code: 0 });
  const before = provider.requests.length;
  const result = await shell.json<Compared>('compare', 'task', '--with', 'recorded,up/m');
  expect(result.requests.map(({ request }) => request)).toEqual(['0001', '0002', '0003', '0004']);
  expect(result.targets).toMatchObject([
    { target: 'recorded', answered: 4 },
    { target: 'up/m', answered: 4, failed: 0, calls: { equal: 4, after_schema: 0, different: 0 } },
  ]);
  const sent = provider.requests.slice(before).map(({ json }) => (json['messages'] as unknown[]).length);
  expect(sent).toEqual(
    provider.requests.slice(0, before).map(({ json }) => (json['messages'] as unknown[]).length),
  );
  expect(result.estimate.unpriced).toEqual(['up/m']);
  const one = await shell.json<Compared>('compare', 'task', '--with', 'up/m', '--only', '2');
  expect(one.requests.map(({ request }) => request)).toEqual(['0002']);
});

it('asks before more than a dollar: without a terminal it ends with the sum, and --yes goes on', async () => {
  const dear = [{ id: 'a', price: { input: 1000, output: 1000 }, max_output: 10_000 }, { id: 'same' }];
  const given = await bench(dear);
  const file = requestFile(given, BODIES.chat);
  const refused = await given.shell.command('compare', file, '--with', 'up/a,up/same');
  expect(refused.code).toBe(1);
  expect(refused.stderr.replace(/\s+/g, ' ')).toMatch(
    /1 request to 2 targets cost \$10\.\d\d at most; the price of up\/same is unknown and not in it .*may cost up to \$10\.\d\d, and nobody can be asked here; --yes/,
  );
  expect(given.provider.requests).toHaveLength(0);
  expect(await given.shell.command('compare', file, '--with', 'up/a', '--yes')).toMatchObject({ code: 0 });
  expect(given.provider.requests).toHaveLength(1);
});

it.each([
  ['a file that is missing', 'missing.json', [], 'the file missing.json cannot be read: it does not exist'],
  ['a broken file', 'broken.json', [], 'broken.json is not valid JSON'],
  ['a body that is no request', 'list.json', [], 'list.json is not a JSON object'],
  ['a request that no gateway takes', 'empty.json', [], 'empty.json is no request that a gateway takes'],
  ['a folder that is no tape', 'folder', [], 'is no tape: it has no tape.json'],
  ['a tape of another version', 'newer', [], 'it is no tape of this version'],
  ['recorded of a file', 'good.json', ['recorded,up/a'], 'nothing is recorded in it'],
  ['recorded alone', 'good.json', ['recorded'], 'names no target beside recorded'],
  ['a name that the gateway does not know', 'good.json', ['up/a,nope'], 'nope'],
])('refuses %s before anything is sent', async (_, source, names, message) => {
  const { shell, provider } = await bench();
  const write = (name: string, text: string) => writeFileSync(join(shell.directory, name), text);
  write('broken.json', '{"messages": [');
  write('list.json', '[]');
  write('empty.json', '{"messages": 5}');
  write('good.json', JSON.stringify(BODIES.chat));
  mkdirSync(join(shell.directory, 'folder'));
  mkdirSync(join(shell.directory, 'newer'));
  write('newer/tape.json', '{"tape": 2}');
  const ended = await shell.command('compare', source, '--with', ...(names.length > 0 ? names : ['up/a']));
  expect(ended.code).toBeGreaterThan(0);
  expect(ended.stderr.replace(/\s+/g, ' ')).toContain(message);
  expect(provider.requests).toHaveLength(0);
});

it('goes through a gateway that runs, and shows tables', async () => {
  const given = await bench();
  const server = await given.shell.serve();
  const file = requestFile(given, BODIES.chat);
  const { code, stdout, stderr } = await given.shell.command(
    'compare',
    file,
    '--with',
    'up/a,up/near,up/broken',
  );
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/request\.json {2}Read x\nTARGET +ANSWER +TEXT +CALLS/);
  expect(stdout).toMatch(
    /up\/near +read \{"limit":10,"path":"x"\} +equal +equal after schema +1K +10 +\$0\.0011/,
  );
  expect(stdout).toMatch(/up\/broken +400 .*no such model here/);
  server.child.kill('SIGTERM');
  await server.ended;
});

it('shows what is there when Ctrl-C ends it', async () => {
  const given = await bench();
  const file = requestFile(given, BODIES.chat);
  const never = new Promise<void>(() => undefined);
  given.provider.answerBy((asked) => (asked.json['model'] === 'near' ? { steps: [never] } : caller(asked)));
  const { directory } = given.shell;
  const child = spawn(process.execPath, [BIN, 'compare', file, '--with', 'up/a,up/near,up/other', '--json'], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      HOME: directory,
      XDG_CONFIG_HOME: dirname(directory),
      XDG_DATA_HOME: directory,
    },
  });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const ended = once(child, 'close') as Promise<[number | null]>;
  while ((await given.provider.next()).json['model'] !== 'near');
  child.kill('SIGINT');
  expect((await ended)[0]).toBe(130);
  const { complete, requests } = JSON.parse(stdout) as Compared;
  expect(complete).toBe(false);
  expect(requests[0]?.answers.map(({ target, error }) => [target, error])).toEqual([['up/a', null]]);
  // Its key is revoked.
  const keys = await given.shell.json<{ label: string; revoked_at: string | null }[]>(
    'keys',
    'list',
    '--all',
  );
  expect(keys.filter(({ label, revoked_at: at }) => label === 'compare' && at === null)).toEqual([]);
});

const BIN = fileURLToPath(new URL('../../bin/gateway.js', import.meta.url));
