// The way to one provider: its own proxy (CONNECT, SOCKS5, or none), and certificates that a company made itself.
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { faultsOf, load, tempFolder, write } from '../config/folder.ts';
import { ask, type Seen } from '../helpers/ask.ts';
import { selfSigned } from '../helpers/certificate.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { connectProxy, socks5Proxy, type Socks5Options } from '../helpers/proxies.ts';
import { closedPort } from '../helpers/raw-server.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from './wire.ts';

const NAME = 'models.example.test';

async function upstream(): Promise<number> {
  const scripted = await scriptedProvider();
  scripted.playAlways({ body: wholeOf('chat', 'hello') });
  return Number(new URL(scripted.url).port);
}

async function secureUpstream(name = NAME): Promise<{ port: number; key: string; cert: string }> {
  const pair = selfSigned(name);
  const server = createTlsServer(pair, (request, response) => {
    request.resume();
    const body = JSON.stringify(wholeOf('chat', 'hello'));
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { ...pair, port: (server.address() as AddressInfo).port };
}

const far = (more: object, base = `http://${NAME}/v1`) => ({
  providers: { far: provider(base, 'chat', ['m'], more) },
});

interface Way {
  proxy?: string;
  ca?: string;
  base?: string;
  env?: Record<string, string>;
}

async function askBy({ base, env = {}, ...way }: Way): Promise<Seen & { log: string }> {
  const server = await gateway({ config: far(way, base), env });
  const seen = await ask(server, { model: 'm' });
  return { ...seen, log: server.log() };
}

describe('a proxy of one provider', () => {
  test('is asked with CONNECT, by its password', async () => {
    const proxy = await connectProxy(await upstream());
    const seen = await askBy({ proxy: `http://me:pass%40word@127.0.0.1:${proxy.port}` });
    expect(seen).toMatchObject({ status: 200, content: 'hello' });
    expect(proxy.asked).toEqual([`${NAME}:80`]);
    expect(proxy.credentials).toEqual([`Basic ${Buffer.from('me:pass@word').toString('base64')}`]);
  });

  test.each<[string, Socks5Options]>([
    ['', {}],
    ['me:pass%40word@', { password: 'pass@word' }],
    ['', { slowly: true }],
  ])('is asked by SOCKS5 as %j (%j), and looks up the name itself', async (credentials, options) => {
    const proxy = await socks5Proxy(await upstream(), options);
    const seen = await askBy({ proxy: `socks5://${credentials}127.0.0.1:${proxy.port}` });
    expect(seen).toMatchObject({ status: 200, content: 'hello' });
    expect(proxy.asked).toEqual([`${NAME}:80`]);
    if (options.password !== undefined) expect(proxy.credentials).toEqual(['me:pass@word']);
  });

  test.each([
    ['http://127.0.0.1:9/v1', '127.0.0.1:9'],
    ['http://[fd00::1:2]:8080/v1', 'fd000000000000000000000000010002:8080'],
    ['http://[::]/v1', `${'0'.repeat(32)}:80`],
  ])('is asked for an address too: %s, also one of this machine', async (base, asked) => {
    const proxy = await socks5Proxy(await upstream());
    expect(await askBy({ proxy: `socks5h://127.0.0.1:${proxy.port}`, base })).toMatchObject({ status: 200 });
    expect(proxy.asked).toEqual([asked]);
  });

  test('comes before that of the environment, and `off` is none', async () => {
    const port = await upstream();
    const [own, general] = [await connectProxy(port), await connectProxy(port)];
    const env = { HTTP_PROXY: `http://127.0.0.1:${general.port}`, NO_PROXY: '' };
    await askBy({ proxy: `http://127.0.0.1:${own.port}`, env: { ...env, NO_PROXY: NAME } });
    expect([own.asked, general.asked]).toEqual([[`${NAME}:80`], []]);
    // Directly, that name does not resolve.
    expect(await askBy({ proxy: 'off', env })).toMatchObject({ status: 502 });
    expect(general.asked).toEqual([]);
  });

  test('is not that of another provider', async () => {
    const port = await upstream();
    const proxy = await connectProxy(port);
    const base = `http://127.0.0.1:${port}/v1`;
    const server = await gateway({
      config: {
        providers: {
          one: provider(base, 'chat', ['m'], { proxy: `http://127.0.0.1:${proxy.port}` }),
          two: provider(base, 'chat', ['m']),
        },
      },
    });
    for (const name of ['one', 'two']) expect((await ask(server, { model: `${name}/m` })).status).toBe(200);
    expect(proxy.asked).toEqual([`127.0.0.1:${port}`]);
  });

  test.each<[string, Socks5Options, string, string]>([
    ['', { password: 'right' }, 'wants a user name and a password: put USER:PASSWORD@', 'proxy_auth'],
    ['me:wrong@', { password: 'right' }, 'wants a user name and a password', 'proxy_auth'],
    ['', { reply: 5 }, 'the proxy was refused by the provider', 'proxy'],
    ['', { reply: 2 }, 'the proxy does not allow the connection to the provider', 'proxy'],
    ['', { reply: 99 }, 'the proxy refused (99)', 'proxy'],
  ])(
    'by SOCKS5 that refuses (%j, %j) is a 502 that says why',
    async (credentials, options, words, reason) => {
      const proxy = await socks5Proxy(await upstream(), options);
      const seen = await askBy({ proxy: `socks5://${credentials}127.0.0.1:${proxy.port}` });
      expect(seen.status).toBe(502);
      expect(seen.error?.message).toContain(words);
      expect(seen.log).toContain(`"reason":"${reason}"`);
      expect(seen.text + seen.log).not.toMatch(/wrong|127\.0\.0\.1/);
    },
  );

  test.each(['http', 'socks5'])('by %s that is away is a 502 that names the setting', async (scheme) => {
    const seen = await askBy({ proxy: `${scheme}://me:secret-word@127.0.0.1:${await closedPort()}` });
    expect(seen.status).toBe(502);
    expect(seen.error?.message).toContain(
      'the proxy that proxy of the provider names failed (refused): start it, or correct its address',
    );
    expect(seen.text + seen.log).not.toMatch(/secret-word|127\.0\.0\.1/);
  });
});

describe('certificates of one provider', () => {
  test.each(['none', 'connect', 'socks5', 'https'] as const)('are trusted by proxy: %s', async (kind) => {
    const secure = await secureUpstream(kind === 'none' || kind === 'https' ? 'localhost' : NAME);
    const file = write(tempFolder(), 'company.pem', secure.cert);
    const proxy =
      kind === 'socks5'
        ? await socks5Proxy(secure.port)
        : await connectProxy(secure.port, kind === 'https' ? secure : undefined);
    const [scheme = '', host = ''] = {
      none: [],
      connect: ['http', '127.0.0.1'],
      socks5: ['socks5', '127.0.0.1'],
      https: ['https', 'localhost'],
    }[kind];
    const way = {
      base:
        kind === 'none' || kind === 'https' ? `https://localhost:${secure.port}/v1` : `https://${NAME}/v1`,
      ...(kind !== 'none' && { proxy: `${scheme}://${host}:${proxy.port}` }),
    };
    expect(await askBy({ ...way, ca: file })).toMatchObject({ status: 200, content: 'hello' });
    const strict = await askBy(way);
    expect(strict.status).toBe(502);
    expect(strict.error?.message).toMatch(/certificate could not be verified|failed \(tls\)/);
    expect(proxy.asked).toHaveLength(kind === 'none' ? 0 : kind === 'https' ? 1 : 2);
  });

  test('do not make a certificate for another name good', async () => {
    const secure = await secureUpstream('other.example.test');
    const file = write(tempFolder(), 'company.pem', secure.cert);
    const seen = await askBy({ base: `https://localhost:${secure.port}/v1`, ca: file });
    expect(seen.status).toBe(502);
    expect(seen.error?.message).toContain('certificate could not be verified');
  });

  test.each([
    ['is missing', undefined, 'names a file that does not exist'],
    ['holds none', 'hello', 'names a file that holds no certificate'],
    [
      'holds a damaged one',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      'names a file that holds a certificate which cannot be read',
    ],
  ])('in a file that %s are a fault of the configuration', (_, content, fault) => {
    const cwd = tempFolder();
    if (content !== undefined) write(cwd, 'ca.pem', content);
    expect(faultsOf('providers:\n  openai: { api_key: k, ca: ca.pem }\n', { cwd })).toEqual([
      `gateway.yaml:2 providers.openai.ca: ${fault}; name one of certificates (PEM)`,
    ]);
  });
});

test.each([
  'ftp://proxy:1',
  'proxy:3128',
  'http://proxy:1/path',
  'http://a%zz@proxy:1',
  'socks4://proxy:1',
  'none',
])('proxy: %s is a fault that does not repeat it', (proxy) => {
  expect(faultsOf(`providers:\n  openai: { api_key: k, proxy: '${proxy}' }\n`)).toEqual([
    'gateway.yaml:2 providers.openai.proxy: is not a proxy; write http://, https:// or socks5:// with HOST:PORT (USER:PASSWORD@ before it), or off',
  ]);
});

test('a proxy may come from the environment', () => {
  const text = 'providers:\n  openai: { api_key: k, proxy: "${P}" }\n';
  expect(load(text, { env: { P: 'socks5://u:p@corp:1080' } }).providers[0]?.network).toEqual({
    proxy: 'socks5://u:p@corp:1080',
    ca: undefined,
  });
});

test('the built program: SOCKS5, a certificate of its own, and what config show says of them', async () => {
  const secure = await secureUpstream();
  const proxy = await socks5Proxy(secure.port, { password: 'word-of-proxy' });
  const shell = home({});
  const file = write(tempFolder(), 'company.pem', secure.cert);
  const address = `socks5://me:word-of-proxy@127.0.0.1:${proxy.port}`;
  shell.configure(far({ proxy: address, ca: file }, `https://${NAME}/v1`));
  const server = await shell.serve();
  expect(await ask({ url: server.url, key: await shell.newKey('free') }, { model: 'm' })).toMatchObject({
    status: 200,
    content: 'hello',
  });
  expect(proxy.asked).toEqual([`${NAME}:443`]);
  const { stdout } = await shell.command('config', 'show');
  expect(stdout).toContain(`socks5://127.0.0.1:${proxy.port}`);
  expect(stdout).toContain(file);
  expect(stdout).not.toContain('word-of-proxy');
});
