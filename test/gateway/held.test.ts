// What a stream holds before its content waits in memory: bounded, however long a provider goes on without any.
import { describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, isWhole } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, PING, START, TERMINAL } from './wire.ts';

const BOTH: readonly ProtocolName[] = ['chat', 'messages'];
const PAIRS = BOTH.flatMap((client) => BOTH.map((speaks) => [client, speaks] as const));

async function place(speaks: ProtocolName) {
  const upstream = await scriptedProvider();
  const own = await gateway({ config: { providers: { p: provider(`${upstream.url}/v1`, speaks, ['m']) } } });
  return { upstream, own };
}

describe.each(PAIRS)('a %s client of a provider that speaks %s', (protocol, speaks) => {
  it.each([
    ['comments', ': still there\n\n'.repeat(1000)],
    [
      'pings and roles',
      (PING[speaks] + START[speaks].slice(0, START[speaks].indexOf('\n\n') + 2)).repeat(500),
    ],
    ['megabytes of comments', `: ${'x'.repeat(200_000)}\n\n`],
  ])('gets a 502 where a stream goes on with nothing but %s', async (_, piece) => {
    const { upstream, own } = await place(speaks);
    upstream.play({ steps: [...Array.from({ length: 60 }, () => piece), gate().opened] });
    const seen = await ask(own, { protocol, model: 'm', stream: true });
    expect([seen.status, seen.error?.message]).toEqual([
      502,
      expect.stringContaining('without any content') as unknown,
    ]);
    expect(await (await upstream.next()).left).toBe(true);
  });

  it('gets all of a stream whose content is late, in order', async () => {
    const { upstream, own } = await place(speaks);
    const early = Array.from(
      { length: 50 },
      (_, at) => `: wait ${at}\r\n\r\n${PING[speaks]}: ${at} times\n\n`,
    );
    upstream.play({
      steps: [START[speaks], ...early, content(speaks, 'late'), FINISH[speaks] + TERMINAL[speaks]],
    });
    const seen = await ask(own, { protocol, model: 'm', stream: true });
    expect([seen.status, seen.content, isWhole(seen)]).toEqual([200, 'late', true]);
    if (protocol === speaks)
      expect(seen.text).toContain(START[speaks] + early.join('') + content(speaks, 'late'));
  });
});
