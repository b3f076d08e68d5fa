// What one worker learns from a refusal, all workers heed, and commands show.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startHome, type Home, type Server } from '../helpers/process.ts';
import { startStrictProvider, type StrictProvider } from '../helpers/strict-provider.ts';

let strict: StrictProvider;
let shell: Home;
let remove: () => Promise<void>;
let server: Server;

beforeAll(async () => {
  strict = await startStrictProvider();
  ({ shell, remove } = startHome());
  shell.configure({ providers: { p: { base_url: strict.url, protocol: 'chat', models: ['m'] } } });
  server = await shell.serve('--workers', '2');
});

afterAll(async () => {
  await remove();
  await strict.close();
});

it('is shared by workers, and shown by models and explain', async () => {
  strict.reset(({ body }) =>
    'seed' in body
      ? { status: 400, body: JSON.stringify({ error: { message: "Unknown parameter: 'seed'." } }) }
      : undefined,
  );
  const key = await shell.newKey('enterprise');
  // A connection each: the workers take turns.
  const ask = async (): Promise<string | null> => {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'p/m', seed: 1, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    expect(response.status).toBe(200);
    await response.text();
    return response.headers.get('x-gateway-dropped');
  };
  expect(await ask()).toBe('seed');
  expect(strict.requests).toHaveLength(2);
  await expect.poll(async () => (await shell.command('models')).stdout).toContain('reject_fields seed');
  const before = strict.requests.length;
  for (let at = 0; at < 8; at++) expect(await ask()).toBe('seed');
  expect(strict.requests.length - before).toBe(8);
  const explained = await shell.command('explain', 'p/m');
  expect(explained.stdout).toContain(
    "learnt from a refusal: p/m (chat): reject_fields seed; it said: Unknown parameter: 'seed'.",
  );
});
