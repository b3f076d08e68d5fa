// Requests that come in one turn of the event loop are begun together, at its end: a body that came with its head is whole by
// then, and they are admitted in one tick.
import { IncomingMessage } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest, type RawClient } from '../helpers/raw-client.ts';

/** On a connection that the server has taken: it takes new ones one by one, each in a turn of its own. */
async function known(started: TestGateway): Promise<RawClient> {
  const client = await rawClient(started.url);
  client.send(rawRequest({ key: started.key, path: '/health', method: 'GET' }));
  await client.until('"status"');
  return client;
}

/** The ticks in which requests are admitted, from now on. */
function watchAdmissions({ store }: TestGateway): number[] {
  const admit = store.admit.bind(store);
  const admitted: number[] = [];
  let ticks = 0;
  store.admit = (...asked) => {
    admitted.push(ticks);
    process.nextTick(() => (ticks += 1));
    return admit(...asked);
  };
  return admitted;
}

it('a small body is taken as a whole, not by its events', async () => {
  const started = await gateway();
  const port = Number(new URL(started.url).port);
  const client = await known(started);
  const on = vi.spyOn(IncomingMessage.prototype, 'on');
  onTestFinished(() => on.mockRestore());
  client.send(rawRequest(started, hello('sim/echo')));
  await client.until('"choices"');
  const contexts = on.mock.contexts as IncomingMessage[];
  expect(contexts.filter(({ socket }) => socket.localPort === port)).toEqual([]);
});

it('requests that come at once are admitted in one tick, which the store counts in one commit', async () => {
  const started = await gateway();
  const clients = await Promise.all(Array.from({ length: 8 }, () => known(started)));
  const admitted = watchAdmissions(started);
  for (const client of clients) client.send(rawRequest(started, hello('sim/echo')));
  await Promise.all(clients.map((client) => client.until('"choices"')));
  expect(admitted).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
});
