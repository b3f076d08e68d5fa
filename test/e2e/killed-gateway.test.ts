// Limits of money at the real program, on both engines: the whole gateway is killed in mid-stream, and limits are raised while it runs.
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { content, START } from '../gateway/wire.ts';
import { ask, send } from '../helpers/ask.ts';
import { provider } from '../helpers/gateway.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { home } from '../helpers/process.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';

interface Row {
  spent: number;
  held: number;
  estimated: number;
  left: number;
  granted: number;
}

/** A dollar a token. */
const PRICE = { input: 1e6, output: 1e6 };

async function place(engine: string, cost: string) {
  const upstream = await scriptedProvider();
  const shell = home();
  const database = engine === 'postgres' ? (await temporaryDatabase()).url : undefined;
  shell.configure({
    ...(database !== undefined && { database }),
    providers: { p: provider(upstream.url, 'chat', [{ id: 'm', price: PRICE }]) },
    tiers: { team: { cost } },
  });
  const key = await shell.newKey('team', database);
  const limit = async (): Promise<Row | undefined> =>
    (await shell.json<{ limits: Row[] }[]>('limits', 'a'))[0]?.limits[0];
  return { upstream, shell, key, limit };
}

test.each(['sqlite', 'postgres'])(
  '%s: what a gateway held that was killed in mid-stream is settled as estimated when the next one starts',
  async (engine) => {
    const { upstream, shell, key, limit } = await place(engine, '10000/month');
    const first = await shell.serve();
    const never = gate();
    onTestFinished(() => never.open());
    upstream.play({ steps: [START.chat, content('chat', 'a'), never.opened] });
    const stream = await send({ url: first.url, key }, { model: 'm', stream: true });
    const reader = stream.body?.getReader();
    await reader?.read();
    const before = await limit();
    expect(before).toMatchObject({ spent: 0, estimated: 0 });
    expect(before?.held).toBeGreaterThan(0);
    first.child.kill('SIGKILL');
    expect(await first.ended).toMatchObject({ signal: 'SIGKILL' });
    await reader?.read().catch(() => undefined);
    // The restart lists the hold as what the provider is paid for.
    const next = await shell.serve('--port', new URL(first.url).port);
    await next.logged('holds of a process that is gone were settled as estimated');
    const held = before?.held ?? 0;
    expect(await limit()).toMatchObject({ spent: held, held: 0, estimated: held, left: 10_000 - held });
    next.child.kill('SIGTERM');
    await once(next.child, 'exit');
    expect(await limit()).toMatchObject({ spent: held, held: 0, estimated: held });
  },
  120_000,
);

test.each(['sqlite', 'postgres'])(
  '%s: a raise acts at once for a running gateway, and its revocation too; the refusal names it',
  async (engine) => {
    const { upstream, shell, key, limit } = await place(engine, '5/month');
    const server = await shell.serve('--workers', '2');
    const usage = { prompt_tokens: 20, completion_tokens: 0 };
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
    upstream.playAlways({
      body: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage },
    });
    const status = async (): Promise<number> => (await ask({ url: server.url, key }, { model: 'm' })).status;
    expect(await status()).toBe(200);
    const refused = await send({ url: server.url, key }, { model: 'm' });
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain('gateway limits raise \\"a\\" --cost N --for 2h');
    const grants = await shell.json<{ id: string }[]>('limits', 'raise', 'a', '--cost', '100', '--for', '2h');
    expect(await limit()).toMatchObject({ spent: 20, granted: 100, left: 85 });
    expect(await status()).toBe(200);
    await shell.json('limits', 'revoke', grants[0]?.id ?? '');
    expect(await status()).toBe(429);
    await server.logged('a limit is used up');
    expect(server.stderr().split('"a limit is used up"')).toHaveLength(2);
  },
  120_000,
);
