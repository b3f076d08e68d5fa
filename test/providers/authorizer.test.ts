// What makes a call ready for its provider may wait, and the call waits with it.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CancellationSource } from '../../src/cancellation.ts';
import { systemClock } from '../../src/clock.ts';
import type { Authorizer } from '../../src/providers/authorizer.ts';
import { startingProvider } from '../../src/providers/authorizer.ts';
import { createProviderClient } from '../../src/providers/client.ts';
import { type ProviderCall } from '../../src/providers/exchange.ts';
import { readBody } from '../../src/providers/reply-body.ts';

const server = createServer((request, response) => {
  response.end(`${request.url} ${request.headers.authorization ?? 'none'}`);
});
let url: string;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
});

function callTo(base: string): ProviderCall {
  const timeout = { connect: 1000, firstByte: 120_000, idle: 300_000, whole: 900_000 };
  return { url: `${base}/v1/x`, method: 'GET', headers: [], stream: false, timeout, network: undefined };
}

async function askWith(authorizer: Authorizer, base: string, cancellation = new CancellationSource()) {
  const client = createProviderClient({ clock: systemClock, env: {}, authorizer });
  try {
    const { body } = await client.open(callTo(base), cancellation);
    return (await readBody(body, 1000)).toString();
  } finally {
    await client.close();
  }
}

it('a call waits for its token', async () => {
  let refreshed = (): void => undefined;
  const token = new Promise<void>((resolve) => (refreshed = resolve));
  const authorizer: Authorizer = {
    baseUrl: url,
    async authorize(call) {
      await token;
      return { ...call, headers: [...call.headers, 'authorization', 'Bearer fresh'] };
    },
    close: () => Promise.resolve(),
  };
  const answer = askWith(authorizer, url);
  refreshed();
  expect(await answer).toBe('/v1/x Bearer fresh');
});

it('the calls to other providers go as they are', async () => {
  const authorizer: Authorizer = {
    baseUrl: 'http://elsewhere.example',
    authorize: () => Promise.reject(new Error('not its own call')),
    close: () => Promise.resolve(),
  };
  expect(await askWith(authorizer, url)).toBe('/v1/x none');
});

it('a token that is refused is the end of the call', async () => {
  const authorizer: Authorizer = {
    baseUrl: url,
    authorize: () => Promise.reject(new Error('signed out')),
    close: () => Promise.resolve(),
  };
  await expect(askWith(authorizer, url)).rejects.toThrow('signed out');
});

it('a client that left while a token was waited for sends nothing', async () => {
  const cancellation = new CancellationSource();
  const authorizer: Authorizer = {
    baseUrl: url,
    authorize(call) {
      cancellation.cancel(new Error('left'));
      return Promise.resolve(call);
    },
    close: () => Promise.resolve(),
  };
  await expect(askWith(authorizer, url, cancellation)).rejects.toThrow('left');
});

it('a provider of this process starts once, at its first call, and ends with the client', async () => {
  let starts = 0;
  let ends = 0;
  const provider = startingProvider('http://127.0.0.1:0', () => {
    starts += 1;
    return Promise.resolve({
      url,
      key: 'k',
      close() {
        ends += 1;
        return Promise.resolve();
      },
    });
  });
  const client = createProviderClient({ clock: systemClock, env: {}, authorizer: provider });
  const call = callTo('http://127.0.0.1:0');
  const replies = await Promise.all([1, 2].map(() => client.open(call, new CancellationSource())));
  const bodies = await Promise.all(replies.map(async ({ body }) => (await readBody(body, 1000)).toString()));
  expect(bodies).toEqual(['/v1/x Bearer k', '/v1/x Bearer k']);
  await client.close();
  expect([starts, ends]).toEqual([1, 1]);
});
