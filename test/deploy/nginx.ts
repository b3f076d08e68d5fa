// A real nginx with the shipped docs/deploy/nginx.conf: only ports, paths and the certificate are replaced.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { selfSigned } from '../helpers/certificate.ts';
import { freePort } from '../helpers/postgres.ts';

const SHIPPED = fileURLToPath(new URL('../../docs/deploy/nginx.conf', import.meta.url));
/** Debian's is in /usr/sbin, which is not in every user's PATH. */
const PATH = `${process.env.PATH ?? ''}:/usr/sbin:/usr/local/sbin`;

export const hasNginx = spawnSync('nginx', ['-v'], { env: { PATH } }).status === 0;
if (!hasNginx) console.warn('LEFT OUT: nginx is not installed, so docs/deploy/nginx.conf is not tested');

export interface Nginx {
  url: string;
  accessLog(): string;
  errorLog(): string;
}

interface Place {
  folder: string;
  config: string;
  port: number;
}

/** Replaces what every operator replaces, each exactly once. `http`: plain HTTP instead of TLS. */
async function writeConfig(gateways: readonly [string, string], http: boolean): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-nginx-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { key, cert } = selfSigned('gateway.example.com');
  writeFileSync(join(folder, 'privkey.pem'), key);
  writeFileSync(join(folder, 'fullchain.pem'), cert);
  const port = await freePort();
  const [first, second] = gateways.map((url) => new URL(url).host);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
    mkdirSync(join(folder, name));
    return `${name}_temp_path ${join(folder, name)};`;
  });
  const replaced: [string, string][] = [
    ['127.0.0.1:8787', first ?? ''],
    ['127.0.0.1:8788', second ?? ''],
    ['listen 443 ssl;', `listen 127.0.0.1:${port}${http ? '' : ' ssl'};`],
    ['/etc/ssl/gateway/fullchain.pem', join(folder, 'fullchain.pem')],
    ['/etc/ssl/gateway/privkey.pem', join(folder, 'privkey.pem')],
    ['/var/log/nginx/access.log', join(folder, 'access.log')],
    ['/var/log/nginx/error.log', join(folder, 'error.log')],
    // As many as a test needs, whatever this machine allows.
    ['worker_processes auto;', 'worker_processes 1;'],
    ['worker_rlimit_nofile 65536;', ''],
    ['worker_connections 16384;', 'worker_connections 512;'],
    ['http {\n', `http {\n${temporary.join('\n')}\n`],
  ];
  let text = readFileSync(SHIPPED, 'utf8');
  for (const [shipped, own] of replaced) {
    expect(text.split(shipped), shipped).toHaveLength(2);
    text = text.replace(shipped, own);
  }
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, text);
  return { folder, config, port };
}

function argv({ folder, config }: Place): string[] {
  const user = process.getuid?.() === 0 ? 'user root; ' : '';
  const global = `${user}daemon off; pid ${join(folder, 'nginx.pid')};`;
  return ['-c', config, '-p', folder, '-e', join(folder, 'start.log'), '-g', global];
}

/** The output of `nginx -t`. */
export async function testConfig(): Promise<{ status: number | null; output: string }> {
  const place = await writeConfig(['http://127.0.0.1:1', 'http://127.0.0.1:2'], false);
  const { status, stderr } = spawnSync('nginx', [...argv(place), '-t'], { env: { PATH }, encoding: 'utf8' });
  return { status, output: stderr };
}

/** Ends when the test is over. */
export async function nginx(gateways: readonly [string, string]): Promise<Nginx> {
  const place = await writeConfig(gateways, true);
  const { folder, port } = place;
  const child = spawn('nginx', argv(place), { env: { PATH }, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
  onTestFinished(() => end(child));
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<number> => fetch(`${url}/health`).then(({ status }) => status);
  await expect
    .poll(answers, { timeout: 15_000 })
    .toBe(200)
    .catch((error: unknown) => {
      throw new Error(`nginx did not start: ${stderr}`, { cause: error });
    });
  const log = (name: string): string => readFileSync(join(folder, name), 'utf8');
  return { url, accessLog: () => log('access.log'), errorLog: () => log('error.log') };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
}
