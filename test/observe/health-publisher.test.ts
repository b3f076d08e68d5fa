// What a running server knows of its targets can be seen from outside: in its log, and in its database by `gateway models`.
import { expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';

it('reports which target is unhealthy, and when it is healthy again', async () => {
  const clock = manualClock();
  const busy = await scriptedProvider();
  const dead = await scriptedProvider();
  const one = (url: string): object => ({ protocol: 'chat', base_url: url, models: ['m'] });
  const running = await gateway({
    clock,
    config: { providers: { busy: one(busy.url), dead: one(dead.url) } },
  });
  const { url, key, store } = running;
  const ask = async (model: string): Promise<number> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const told = async (): Promise<string[]> =>
    (await store.listHealth(clock.now())).map(({ target, state }) => `${target} ${state}`);

  busy.play({ status: 429, headers: { 'retry-after': '20' }, body: { error: { message: 'slow down' } } });
  dead.playAlways({ status: 500, body: { error: { message: 'down' } } });
  expect(await ask('busy/m')).toBe(503);
  for (let time = 0; time < 3; time += 1) expect(await ask('dead/m')).toBe(502);
  clock.advance(1000);
  expect(await told()).toEqual(['busy/m cooling', 'dead/m failing']);

  const message = { role: 'assistant', content: 'Hello' };
  dead.playAlways({ body: { id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] } });
  expect(await ask('dead/m')).toBe(200);
  clock.advance(1000);
  expect(await told()).toEqual(['busy/m cooling']);
  clock.advance(20_000);
  expect(await told()).toEqual([]);
  const lines = running
    .log()
    .split('\n')
    .filter((line) => line.includes('healthy'));
  expect(lines.filter((line) => line.includes('a target is unhealthy'))).toHaveLength(2);
  expect(lines.filter((line) => line.includes('a target is healthy again'))).toHaveLength(2);
});

it('tells it of a wait that ends between two milliseconds', async () => {
  const busy = await scriptedProvider();
  const running = await gateway({
    config: { providers: { busy: { protocol: 'chat', base_url: busy.url, models: ['m'] } } },
  });
  busy.play({ status: 429, headers: { 'retry-after': '20' }, body: { error: { message: 'slow down' } } });
  expect((await ask(running, { model: 'busy/m' })).status).toBe(503);
  await expect
    .poll(() => running.store.listHealth(Date.now()), { timeout: 5000 })
    .toMatchObject([{ target: 'busy/m', state: 'cooling' }]);
});
