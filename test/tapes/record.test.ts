// What `gateway record` writes, of whom, and what never reaches the disk.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { readTape } from '../../src/tapes/read.ts';
import { IN_CONTEXT, SECRETS } from './secrets.ts';
import { PROVIDER_KEY, stepper, studio } from './tape.ts';

const BIN = fileURLToPath(new URL('../../bin/gateway.js', import.meta.url));

it('writes both sides of each request, for its owner alone', async () => {
  const { agent, provider, shell } = await studio();
  provider.answerBy(stepper(1));
  const ended = await agent(['record', 'task'], 'messages', 'Begin');
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  const folder = join(shell.directory, 'task');
  const { exchanges, head } = readTape(folder);
  expect(head).toMatchObject({
    tape: 1,
    targets: [{ provider: 'up', model: 'm', protocol: 'chat' }],
    asked: [{ model: 'auto', target: 'up/m' }],
  });
  expect(exchanges.map(({ number }) => number)).toEqual(['0001', '0002']);
  const [first] = exchanges;
  expect(first?.head).toMatchObject({
    protocol: 'messages',
    path: '/v1/messages',
    model: 'auto',
    status: 200,
    end: 'whole',
    usage: { input: 10, output: 5 },
    attempts: [{ provider: 'up', protocol: 'chat', status: 200, end: 'whole', failure: null }],
  });
  expect(JSON.parse(first?.request() ?? '')).toMatchObject({ system: 'Work in steps.' });
  const attempt = first?.attempts[0];
  expect(JSON.parse(attempt?.request() ?? '')).toMatchObject({
    messages: [{ role: 'system', content: 'Work in steps.' }, {}],
  });
  const [asked, given] = [attempt?.answer(), first?.answer()];
  expect(asked?.form === 'whole' && JSON.parse(asked.text)).toMatchObject({ id: 'chatcmpl-0' });
  expect(given?.form === 'whole' && JSON.parse(given.text)).toMatchObject({
    type: 'message',
    stop_reason: 'tool_use',
  });
  for (const { parentPath, name, ...entry } of readdirSync(folder, {
    recursive: true,
    withFileTypes: true,
  })) {
    const { mode } = statSync(join(parentPath, name));
    expect(mode & 0o777, name).toBe(statSync(join(parentPath, name)).isDirectory() ? 0o700 : 0o600);
    void entry;
  }
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

it('P48: keeps no planted secret: of prompts, headers, tool results, answers and errors', async () => {
  const environment = { CI_JOB_TOKEN: 'opaque-job-7c41-value', MYSQL_PASSWORD: 'correct horse battery' };
  const { provider, shell, files } = await studio(environment);
  const planted = [...Object.values(SECRETS), ...Object.values(IN_CONTEXT).map(([, text]) => text)];
  const all = [...planted, ...Object.values(environment), PROVIDER_KEY];
  provider.answerBy(({ json }) => {
    const text = JSON.stringify(json.messages);
    if (text.includes('fail'))
      return {
        status: 400,
        body: { error: { message: `bad: ${all.join(' ')}`, type: 'invalid_request_error' } },
      };
    const steps = all.flatMap((secret) => {
      const cut = Math.floor(secret.length / 2);
      return [' and ', secret.slice(0, cut), secret.slice(cut)].map((content) => chunk({ content }));
    });
    return {
      headers: {
        'content-type': 'text/event-stream',
        'x-api-key': PROVIDER_KEY,
        'set-cookie': `sid=${PROVIDER_KEY}`,
      },
      steps: [...steps, chunk({}, 'stop'), 'data: [DONE]\n\n'],
    };
  });
  const script = join(shell.directory, 'leaky.mjs');
  writeFileSync(join(shell.directory, 'secrets.json'), JSON.stringify(all));
  writeFileSync(script, LEAKY);
  const ended = await shell.run('record', 'leaks', '--', process.execPath, script);
  expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: '200 400\n' });
  const kinds = new Set<string>();
  const written = files('leaks');
  expect(written.size).toBe(11);
  for (const [name, text] of written) {
    const read = name.endsWith('.jsonl') ? said(text) : text;
    for (const [, kind = ''] of text.matchAll(/\[secret: ([^\]]+)\]/g)) kinds.add(kind);
    for (const secret of [
      ...Object.values(SECRETS),
      ...Object.values(IN_CONTEXT).map(([inner]) => inner),
      ...Object.values(environment),
      PROVIDER_KEY,
    ]) {
      for (const line of secret.split('\n').filter((each) => !each.startsWith('-----'))) {
        expect(read.includes(line) || text.includes(line), `${name}: ${line.slice(0, 12)}`).toBe(false);
      }
    }
  }
  expect(Object.keys(SECRETS).length + Object.keys(IN_CONTEXT).length).toBeGreaterThanOrEqual(50);
  expect(kinds.size).toBeGreaterThanOrEqual(30);
});

it('P48: records nothing of another program, and nothing without the command', async () => {
  const { provider, shell } = await studio();
  provider.answerBy(stepper(0));
  const script = join(shell.directory, 'both.mjs');
  writeFileSync(script, OTHER);
  const other = await shell.newKey('enterprise');
  const ended = await shell.run('record', 'mine', '--', process.execPath, script, other);
  expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: '200 200\n' });
  expect(provider.requests).toHaveLength(2);
  const { exchanges } = readTape(join(shell.directory, 'mine'));
  expect(exchanges.map((exchange) => exchange.request())).toEqual([expect.stringContaining('mine')]);
  const before = new Set(readdirSync(shell.directory));
  expect(await shell.run('run', '--', process.execPath, script, other)).toMatchObject({ code: 0 });
  expect(readdirSync(shell.directory).filter((name) => !before.has(name))).toEqual([]);
});

it('refuses a name that is taken, unless it is said that the tape is replaced', async () => {
  const { agent, provider, shell, files } = await studio();
  provider.answerBy(stepper(0));
  expect(await agent(['record', 'task'], 'chat', 'One')).toMatchObject({ code: 0 });
  const again = await agent(['record', 'task'], 'chat', 'Two');
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toContain('choose another name, or --replace it');
  expect(files('task').get('0001/client-request.json')).toContain('One');
  expect(await agent(['record', '--replace', 'task'], 'chat', 'Two')).toMatchObject({ code: 0 });
  expect(files('task').get('0001/client-request.json')).toContain('Two');
  mkdirSync(join(shell.directory, 'own'));
  writeFileSync(join(shell.directory, 'own', 'notes.txt'), 'mine');
  const own = await agent(['record', '--replace', 'own'], 'chat', 'Three');
  expect(own.stderr).toContain('is no tape');
  expect(existsSync(join(shell.directory, 'own', 'notes.txt'))).toBe(true);
  expect(await agent(['record', '../x'], 'chat')).toMatchObject({ code: 2 });
});

it('says once that the tape cannot be written any more, and the program goes on', async () => {
  const { agent, provider, shell } = await studio();
  const folder = join(shell.directory, 'task');
  provider.answerBy((asked) => {
    // The owner of a folder without permissions may still write as root: a file is where the next request's folder would be.
    if (provider.requests.length === 2) writeFileSync(join(folder, '0002'), '');
    return stepper(3)(asked);
  });
  const ended = await agent(['record', 'task'], 'chat', 'Begin');
  expect(JSON.parse(ended.stdout)).toMatchObject({ text: 'Done after 3 steps.' });
  expect(ended.code).toBe(0);
  expect(ended.stderr.match(/the program goes on/g)).toHaveLength(1);
  expect(ended.stderr).toContain('the tape ends before request 0002');
  expect(readTape(folder).exchanges).toHaveLength(1);
});

it('leaves a readable tape at Ctrl-C in the middle of an answer', async () => {
  const { provider, shell } = await studio();
  const never = new Promise<void>(() => undefined);
  provider.play({
    headers: { 'content-type': 'text/event-stream' },
    steps: [chunk({ content: 'Half' }), never],
  });
  const script = join(shell.directory, 'slow.mjs');
  writeFileSync(script, SLOW);
  const child = spawn(process.execPath, [BIN, 'record', 'half', '--', process.execPath, script], {
    cwd: shell.directory,
    env: {
      PATH: process.env.PATH,
      HOME: shell.directory,
      XDG_CONFIG_HOME: join(shell.directory, '..'),
      XDG_DATA_HOME: shell.directory,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const closed = once(child, 'close');
  child.kill('SIGINT');
  await closed;
  const [exchange] = readTape(join(shell.directory, 'half')).exchanges;
  expect(exchange?.head.end).not.toBe('whole');
  const answer = exchange?.attempts[0]?.answer();
  expect(answer?.form === 'stream' && answer.frames[0]?.data).toContain('Half');
});

it('takes no link out of the folder of a tape for a part of it', async () => {
  const { agent, provider, shell } = await studio();
  provider.answerBy(stepper(0));
  expect(await agent(['record', 'task'], 'chat', 'One')).toMatchObject({ code: 0 });
  const { symlinkSync, rmSync } = await import('node:fs');
  const file = join(shell.directory, 'task', '0001', 'provider-1-answer.json');
  writeFileSync(join(shell.directory, 'private.txt'), 'mine');
  rmSync(file);
  symlinkSync(join(shell.directory, 'private.txt'), file);
  chmodSync(join(shell.directory, 'private.txt'), 0o600);
  const replayed = await agent(['replay', '--fast', 'task'], 'chat', 'One');
  expect(replayed.code).toBe(3);
  expect(replayed.stdout).not.toContain('mine');
});

function chunk(delta: object, finish: string | null = null): string {
  const body = {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
  return `data: ${JSON.stringify(body)}\n\n`;
}

/** What a reader of all frames puts together. */
function said(lines: string): string {
  return lines
    .split('\n')
    .filter((line) => line.includes('"data":{'))
    .map((line) => JSON.parse(line) as { data: { choices?: { delta: { content?: string } }[] } })
    .map(({ data }) => data.choices?.[0]?.delta.content ?? '')
    .join('');
}

const ASK = `
const { OPENAI_BASE_URL: url, OPENAI_API_KEY: key, OPENAI_MODEL: model } = process.env;
const ask = (messages, more = {}, own = key) => fetch(url + '/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + own, 'content-type': 'application/json', ...more.headers },
  body: JSON.stringify({ model, messages, ...more.body }),
});
`;

const LEAKY = `
import { readFileSync } from 'node:fs';
${ASK}
const all = JSON.parse(readFileSync(new URL('secrets.json', import.meta.url), 'utf8'));
const call = { id: 'c1', type: 'function', function: { name: 'env', arguments: JSON.stringify({ all }) } };
const messages = [
  { role: 'system', content: 'Never say: ' + all[0] },
  { role: 'user', content: all.join('\\n') },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'c1', content: JSON.stringify(all) },
];
const first = await ask(messages, { headers: { 'x-app': all[1], cookie: all[2], 'user-agent': 'agent ' + all[3] }, body: { stream: true } });
await first.text();
const second = await ask([{ role: 'user', content: 'fail' }]);
await second.text();
console.log(first.status, second.status);
`;

const OTHER = `
${ASK}
const other = await ask([{ role: 'user', content: 'not this one' }], {}, process.argv[2]);
const mine = await ask([{ role: 'user', content: 'mine' }]);
console.log(other.status, mine.status);
`;

const SLOW = `
${ASK}
const answer = await ask([{ role: 'user', content: 'slow' }], { body: { stream: true } });
for await (const piece of answer.body) console.log('got', piece.length);
`;
