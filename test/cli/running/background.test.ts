// `gateway serve --background` with real processes: what it waits for, what it prints, and what outlives it.
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { MAX_LOG_BYTES } from '../../../src/cli/commands/running/serving/log-file.ts';
import { home, type Ended, type Home } from '../../helpers/process.ts';

const WORDS = ['serve', '--background', '--host', '127.0.0.1', '--port', '0'];
const logOf = ({ directory }: Home): string => join(directory, '.local', 'state', 'gateway', 'gateway.log');

interface Background extends Ended {
  pid: number;
  url: string;
}

/** Ends with the test. */
async function serveInBackground(at: Home, ...words: string[]): Promise<Background> {
  const ended = await at.run(...WORDS, ...words);
  const pid = Number(/^ +pid +(\d+)/m.exec(ended.stdout)?.[1]);
  if (!(pid > 0)) throw new Error(`not started: ${ended.stderr}`);
  onTestFinished(() => kill(pid, 'SIGKILL'));
  return { ...ended, pid, url: /http:\/\/127\.0\.0\.1:\d+/.exec(ended.stdout)?.[0] ?? '' };
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

const answers = async (url: string): Promise<boolean> => {
  const response = await fetch(`${url}/health`).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.status === 200;
};

it('returns once the gateway serves, with its banner, pid and log; stop ends it', async () => {
  const at = home();
  const { code, stdout, stderr, pid, url } = await serveInBackground(at);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(await answers(url)).toBe(true);
  expect(stdout).toContain('is listening in the background');
  expect(stdout).toContain(at.database);
  expect(stdout).toContain(logOf(at));
  const { gateways } = await at.json<{ gateways: unknown[] }>('status');
  expect(gateways).toMatchObject([{ pid, log: logOf(at), urls: [url] }]);
  if (existsSync('/proc/self/stat')) {
    // It is not in the session of the terminal.
    const [, text = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [, , , session, terminal] = text.split(' ').map(Number);
    expect({ session, terminal }).toEqual({ session: pid, terminal: 0 });
  }
  expect((await at.command('stop')).stdout).toContain(String(pid));
  expect(await answers(url)).toBe(false);
  const log = readFileSync(logOf(at), 'utf8').trim().split('\n');
  expect(log.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['listening', 'stopping']);
});

it('shows the first key on the terminal alone: a private log file does not have it', async () => {
  const at = home();
  const { stdout, url } = await serveInBackground(at, '--log', 'json');
  const keys = stdout.match(/sk-gw-[0-9A-Za-z]{40,}/g) ?? [];
  expect(keys).toHaveLength(1);
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${keys[0] ?? ''}` } });
  expect(response.status).toBe(200);
  await at.command('stop');
  expect(readFileSync(logOf(at), 'utf8')).not.toContain(keys[0]);
  expect(statSync(logOf(at)).mode & 0o777).toBe(0o600);
});

it('is refused while a gateway runs on the database, with its pid, address and the next step; starts again after it was killed', async () => {
  const at = home();
  const { pid, url } = await serveInBackground(at);
  const second = await at.run(...WORDS);
  expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 1, stdout: '' });
  expect(second.stderr).toMatch(
    new RegExp(`^gateway: a gateway runs on .* already: pid ${pid}, ${url}; .*gateway stop\n$`),
  );
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => answers(url)).toBe(false);
  expect(await answers((await serveInBackground(at)).url)).toBe(true);
});

it('with a faulty configuration prints its faults, starts nothing and leaves no file', async () => {
  const at = home();
  at.configure({ providers: { sim: {} }, port: 1 });
  const { code, stdout, stderr } = await at.run(...WORDS);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^gateway: gateway\.yaml:1 port: [^\n]*\n$/);
  expect(existsSync(dirname(logOf(at)))).toBe(false);
});

it('prints the error of a gateway that cannot listen, and ends with its code', async () => {
  const squatter = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void squatter.close());
  await once(squatter, 'listening');
  const { port } = squatter.address() as AddressInfo;
  const { code, stdout, stderr } = await home().run(...WORDS, '--port', String(port));
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(new RegExp(`^gateway: port ${port} on 127\\.0\\.0\\.1 is in use[^\\n]*\\n$`));
});

it('passes its options on, also those before the command', async () => {
  const at = home();
  const database = join(at.directory, 'other.db');
  const ended = await at.run('--database', database, ...WORDS, '--log', 'off');
  const pid = Number(/^ +pid +(\d+)/m.exec(ended.stdout)?.[1]);
  onTestFinished(() => kill(pid, 'SIGKILL'));
  expect(ended.stdout).toMatch(/^ +log +none$/m);
  const { gateways } = await at.json<{ gateways: unknown[] }>('status', '--database', database);
  expect(gateways).toMatchObject([{ pid, database, log: null }]);
  expect(existsSync(dirname(logOf(at)))).toBe(false);
});

it('rotates its log while it runs, without the loss of a record', async () => {
  const at = home();
  mkdirSync(dirname(logOf(at)), { recursive: true });
  writeFileSync(logOf(at), `${'x'.repeat(MAX_LOG_BYTES - 2000)}\n`);
  const { url } = await serveInBackground(at);
  const requests = 40;
  for (let n = 0; n < requests; n += 1) await (await fetch(`${url}/nothing/${n}`)).arrayBuffer();
  await at.command('stop');
  expect(readdirSync(dirname(logOf(at))).sort()).toEqual(['gateway.log', 'gateway.log.1']);
  const records = [`${logOf(at)}.1`, logOf(at)].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{')),
  );
  const paths = records
    .map((line) => (JSON.parse(line) as { path?: string }).path)
    .filter((path) => path !== undefined);
  expect(paths).toEqual(Array.from({ length: requests }, (_, n) => `/nothing/${n}`));
  expect(statSync(logOf(at)).size).toBeLessThan(MAX_LOG_BYTES / 2);
});
