// The built-in provider has a port only where somebody asked for it.
import { expect, test } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway } from '../helpers/gateway.ts';

const listening = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap').length;

test('the built-in provider listens from the first request for it on', async () => {
  const before = listening();
  const server = await gateway();
  expect(listening()).toBe(before + 1);
  const both = await Promise.all([ask(server, { model: 'sim/echo' }), ask(server, { model: 'sim/echo' })]);
  expect(both.map(({ content }) => content)).toEqual(['hello', 'hello']);
  expect(listening()).toBe(before + 2);
  await server.stop();
  await expect.poll(listening).toBe(before);
});
