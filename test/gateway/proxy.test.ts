// Corporate networks: the way to providers leads over a proxy, and over certificates that a company made itself.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readProxies, usesProxy } from '../../src/providers/network/proxy.ts';
import { ask } from '../helpers/ask.ts';
import { selfSigned } from '../helpers/certificate.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { closedPort } from '../helpers/raw-server.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from './wire.ts';

const NAME = 'models.example.test';

/** Takes `CONNECT` and leads everything to one port of this machine; remembers where it was to lead. */
async function proxyTo(port: number) {
  const asked: string[] = [];
  const server = createServer();
  server.on('connect', (request, socket, head) => {
    asked.push(request.url ?? '');
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
    socket.on('close', () => upstream.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function upstream() {
  const scripted = await scriptedProvider();
  scripted.playAlways({ body: wholeOf('chat', 'hello') });
  return { scripted, port: Number(new URL(scripted.url).port) };
}

const far = { providers: { far: provider(`http://${NAME}/v1`, 'chat', ['m']) } };

test.each(['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'])(
  '%s leads to a provider that is elsewhere',
  async (variable) => {
    const { scripted, port } = await upstream();
    const proxy = await proxyTo(port);
    const server = await gateway({ config: far, env: { [variable]: proxy.url } });
    expect(await ask(server, { model: 'm' })).toMatchObject({ status: 200, content: 'hello' });
    expect(proxy.asked).toEqual([`${NAME}:80`]);
    expect(scripted.requests[0]?.headers.host).toBe(NAME);
    expect(scripted.requests[0]?.headers).not.toHaveProperty('proxy-connection');
  },
);

test('NO_PROXY names what is reached directly', async () => {
  const { port } = await upstream();
  const proxy = await proxyTo(port);
  const server = await gateway({ config: far, env: { HTTP_PROXY: proxy.url, NO_PROXY: '.example.test' } });
  // Directly, that name does not resolve.
  expect((await ask(server, { model: 'm' })).status).toBe(502);
  expect(proxy.asked).toEqual([]);
});

test.each([
  ['10.0.0.0/8', 'http://10.1.2.3/v1', false],
  ['192.168.0.0/16, 10.0.0.0/8', 'https://10.255.0.1/v1', false],
  ['10.0.0.0/8', 'http://11.0.0.1/v1', true],
  ['fd00::/8', 'http://[fd12::1]/v1', false],
  ['fd00::/8', 'http://[fe12::1]/v1', true],
  ['10.0.0.0/99, x/8, /8, 10.0.0.0/', 'http://10.1.2.3/v1', true],
])('NO_PROXY %s: %s by a proxy: %s', (list, url, proxied) => {
  const proxies = readProxies({ HTTP_PROXY: 'http://proxy.corp:1', NO_PROXY: list });
  expect(usesProxy(new URL(url), proxies)).toBe(proxied);
});

test('ALL_PROXY is not read where HTTP_PROXY says more, so that a SOCKS proxy may stand in it', () => {
  const env = { HTTP_PROXY: 'http://proxy.corp:1', ALL_PROXY: 'socks5://proxy.corp:2' };
  expect(readProxies(env)).toMatchObject({
    httpProxy: 'http://proxy.corp:1',
    httpsProxy: 'http://proxy.corp:1',
  });
  expect(() => readProxies({ ALL_PROXY: 'socks5://proxy.corp:2' })).toThrow('ALL_PROXY names a SOCKS proxy');
});

test('never for this machine', async () => {
  const { scripted, port } = await upstream();
  const proxy = await proxyTo(port);
  const bases = [`http://127.0.0.1:${port}/v1`, `http://localhost:${port}/v1`];
  const providers = Object.fromEntries(bases.map((url, at) => [`near${at}`, provider(url, 'chat', ['m'])]));
  const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
  const server = await gateway({ config: { providers }, env });
  for (const name of Object.keys(providers))
    expect((await ask(server, { model: `${name}/m` })).status).toBe(200);
  expect(scripted.requests).toHaveLength(2);
  expect(proxy.asked).toEqual([]);
});

test.each(['127.0.0.1:PORT', ' http://127.0.0.1:PORT ', 'HTTP://127.0.0.1:PORT/'])(
  'the address of a proxy may be %j',
  async (form) => {
    const { port } = await upstream();
    const proxy = await proxyTo(port);
    const env = { HTTP_PROXY: form.replace('PORT', new URL(proxy.url).port) };
    const server = await gateway({ config: far, env });
    expect(await ask(server, { model: 'm' })).toMatchObject({ status: 200, content: 'hello' });
    expect(proxy.asked).toEqual([`${NAME}:80`]);
  },
);

test.each(['http://', 'http://user:secret-of-proxy@host:99999', 'ftp://proxy.corp:3128', 'a b'])(
  'a proxy whose address is %j is refused at the start, in one line without the address',
  async (address) => {
    const shell = home({ HTTPS_PROXY: address });
    shell.configure(far);
    const { code, stdout, stderr } = await shell.command('serve', '--port', '0');
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/HTTPS_PROXY is not the address of a proxy; write http:\/\/HOST:PORT/),
    ]);
  },
);

test.each(['socks5', 'socks5h', 'socks4', 'socks'])(
  'a %s proxy is refused at the start, in one line with its address and without its password',
  async (scheme) => {
    const shell = home({ HTTPS_PROXY: `${scheme}://user:secret-of-proxy@proxy.corp:1080` });
    shell.configure(far);
    const { code, stdout, stderr } = await shell.command('serve', '--port', '0');
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr.trim().split('\n')).toEqual([
      `gateway: HTTPS_PROXY names a SOCKS proxy (${scheme}://proxy.corp:1080), which the gateway cannot use; ` +
        'write http://HOST:PORT of an HTTP proxy, or unset it',
    ]);
  },
);

test.each([
  [
    'is away',
    undefined,
    'the proxy that HTTPS_PROXY or HTTP_PROXY names failed (refused): start it, or correct or unset the variable',
    'proxy',
  ],
  [
    'closes the connection',
    'HTTP/1.1',
    'the proxy that HTTPS_PROXY or HTTP_PROXY names failed (reset)',
    'proxy',
  ],
  [
    'wants a password',
    'HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n',
    'the proxy wants a user name and a password: put USER:PASSWORD@ before its host in HTTPS_PROXY',
    'proxy_auth',
  ],
  ['can not connect', 'HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n', 'the proxy answered 502 to', 'proxy'],
])('a proxy that %s is a 502 that says so, without its address', async (_how, answer, words, reason) => {
  let port = await closedPort();
  if (answer !== undefined) {
    const server = createServer();
    server.on('connect', (_request, socket) => socket.end(answer));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    ({ port } = server.address() as AddressInfo);
  }
  const env = { HTTP_PROXY: `http://user:secret-of-proxy@127.0.0.1:${port}` };
  const server = await gateway({ config: far, env });
  const { status, text, error } = await ask(server, { model: 'm' });
  expect(status).toBe(502);
  expect(error?.message).toContain(words);
  expect(server.log()).toContain(`"reason":"${reason}"`);
  expect(text + server.log()).not.toMatch(/secret-of-proxy|127\.0\.0\.1/);
});

test('HTTPS_PROXY and NODE_EXTRA_CA_CERTS: TLS is verified through the tunnel', async () => {
  const { key, cert } = selfSigned(NAME);
  const secure = createTlsServer({ key, cert }, (request, response) => {
    request.resume();
    const body = JSON.stringify(wholeOf('chat', 'hello'));
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  await once(secure.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    secure.close();
    secure.closeAllConnections();
  });
  const proxy = await proxyTo((secure.address() as AddressInfo).port);
  const config = { providers: { far: provider(`https://${NAME}/v1`, 'chat', ['m']) } };

  // A certificate of nobody that is trusted.
  const strict = await gateway({ config, env: { HTTPS_PROXY: proxy.url } });
  expect((await ask(strict, { model: 'm' })).status).toBe(502);
  expect(strict.log()).toContain('"reason":"tls"');
  expect(proxy.asked).toEqual([`${NAME}:443`]);

  // What the company trusts is only read when a process starts.
  const directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'company.pem');
  writeFileSync(file, cert);
  const shell = home({ HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: file });
  shell.configure(config);
  const server = await shell.serve();
  expect(await ask({ url: server.url, key: await shell.newKey('free') }, { model: 'm' })).toMatchObject({
    status: 200,
    content: 'hello',
  });
});
