// Tapes at places of their own: served without a command, of a client of Ollama's API, on a disk that is full.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { readTape } from '../../src/tapes/read.ts';
import { PROVIDER_KEY, stepper, studio } from './tape.ts';

const BIN = fileURLToPath(new URL('../../bin/gateway.js', import.meta.url));

/** A command that runs until a signal. */
function started(directory: string, ...args: string[]) {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      HOME: directory,
      XDG_CONFIG_HOME: dirname(directory),
      XDG_DATA_HOME: directory,
    },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  return { child, output, ended: once(child, 'close') as Promise<[number | null]> };
}

interface Place {
  url: string;
  key: string;
  model: string;
}

async function place({ child, output }: ReturnType<typeof started>): Promise<Place> {
  while (!output.stdout.endsWith('}\n')) await once(child.stdout, 'data');
  return JSON.parse(output.stdout) as Place;
}

const post = (url: string, key: string, body: object) =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

it('serves a tape without a command until Ctrl-C, and ends with its key', async () => {
  const { agent, provider, shell } = await studio();
  provider.answerBy(stepper(0));
  expect(await agent(['record', 'task'], 'chat', 'Begin')).toMatchObject({ code: 0 });
  await provider.close();
  const serving = started(shell.directory, 'replay', 'task', '--fast', '--json');
  const { url, key, model } = await place(serving);
  const body = JSON.parse(readTape(join(shell.directory, 'task')).exchanges[0]?.request() ?? '') as object;
  const answer = await post(`${url}/v1/chat/completions`, key, { ...body, model });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Done after 0 steps.')]);
  expect((await post(`${url}/v1/chat/completions`, 'sk-gw-wrong', { ...body, model })).status).toBe(401);
  // A tape without clients of Ollama opens no door to them.
  expect((await post(`${url}/api/chat`, key, { ...body, model })).status).toBe(404);
  serving.child.kill('SIGINT');
  expect(await serving.ended).toEqual([0, null]);
  expect(serving.output.stderr).toContain('Ctrl-C ends it');
  await expect(fetch(url)).rejects.toThrow();
});

it('records a client of Ollama that bears the key of its program, and no other, and replays it', async () => {
  const { provider, shell } = await studio();
  provider.answerBy(stepper(0));
  shell.configure({
    ollama: { account: 'local' },
    providers: {
      up: { protocol: 'chat', base_url: `${provider.url}/v1`, api_key: PROVIDER_KEY, models: ['m'] },
    },
  });
  writeFileSync(join(shell.directory, 'client.mjs'), OLLAMA);
  const run = (...words: string[]) => shell.run(...words, '--', process.execPath, 'client.mjs');
  const recorded = await run('record', 'local');
  expect(recorded, recorded.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(recorded.stdout), recorded.stderr).toEqual({ with: 'Done after 0 steps.', without: 200 });
  const { exchanges } = readTape(join(shell.directory, 'local'));
  expect(exchanges.map(({ head }) => [head.protocol, head.path])).toEqual([['ollama', '/api/chat']]);
  await provider.close();
  const replayed = await run('replay', '--fast', 'local');
  expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: recorded.stdout });
});

const OLLAMA = `
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key, OPENAI_MODEL: model } = process.env;
const ask = (headers) => fetch(new URL('/api/chat', base), { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({
  model, stream: false, messages: [{ role: 'user', content: 'Hello' }] }) });
const answered = await ask({ authorization: 'Bearer ' + key });
const { message, error } = await answered.json();
if (error !== undefined) console.error(JSON.stringify(error));
console.log(JSON.stringify({ with: message?.content, without: (await ask({})).status }));
`;

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

it.skipIf(!isRoot)('loses no request of the program where the disk is full, and says so once', async () => {
  const { agent, provider, shell } = await studio();
  const disk = join(shell.directory, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    return;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', disk]));
  provider.answerBy(stepper(20));
  const ended = await agent(['record', 'task', '--to', 'disk'], 'chat', 'x'.repeat(10_000));
  expect(JSON.parse(ended.stdout)).toMatchObject({ text: 'Done after 20 steps.' });
  expect(ended.code).toBe(0);
  expect(ended.stderr).toMatch(/the tape ends before request 00\d\d: .*(?:ENOSPC|no space left)/);
  expect(ended.stderr.match(/the program goes on/g)).toHaveLength(1);
  const { exchanges } = readTape(join(disk, 'task'));
  expect(exchanges.length).toBeGreaterThan(0);
  for (const exchange of exchanges) {
    expect(exchange.request()).toContain('xxx');
    expect(exchange.attempts[0]?.answer()).toBeDefined();
  }
});
