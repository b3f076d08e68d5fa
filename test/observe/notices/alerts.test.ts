// Alerts as their receiver gets them: the form, three tries, a queue with an end, and what is said when the gateway ends.
import { expect, it, onTestFinished } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { createAlerts } from '../../../src/observe/notices/alerts.ts';
import type { Notice } from '../../../src/observe/notices/notice.ts';
import { createProviderClient } from '../../../src/providers/client.ts';
import { systemClock } from '../../../src/clock.ts';
import { manualClock } from '../../helpers/clock.ts';
import { receiver } from '../../helpers/receiver.ts';

const AWAY: Notice = { event: 'database', at: '2026-11-26T14:00:00.000Z' };

function place(to: Config['alerts']) {
  const client = createProviderClient({ clock: systemClock, env: {} });
  onTestFinished(() => client.close());
  const clock = manualClock();
  const lines: [string, object | undefined][] = [];
  let heard = (): void => undefined;
  const log = {
    warn(message: string, fields?: object) {
      lines.push([message, fields]);
      heard();
    },
  };
  const current = { to };
  const alerts = createAlerts({ client, clock, log, to: () => current.to });
  /** Advances the clock whenever a try waits for its turn, until the log has a line. */
  async function untilLogged(): Promise<void> {
    while (lines.length === 0) {
      await new Promise<void>((resolve) => {
        heard = resolve;
        setImmediate(resolve);
      });
      if (clock.waiting > 0) clock.advance(5000);
    }
  }
  return { alerts, clock, lines, current, untilLogged };
}

it('is one POST of JSON a notice, in order, with the secret as bearer', async () => {
  const { url, received, got } = await receiver();
  const { alerts, lines } = place({ url, secret: 'hush' });
  const target: Notice = {
    ...{ event: 'target', provider: 'p', model: 'a/b', until: 'u', reason: 'r', at: 'a' },
  };
  alerts.send(AWAY);
  alerts.send(target);
  await got(2);
  const headers = { authorization: 'Bearer hush', contentType: 'application/json' };
  expect(received).toEqual([
    { ...headers, body: AWAY },
    { ...headers, body: target },
  ]);
  await alerts.stop(1000);
  expect(lines).toEqual([]);
});

it('has no authorization without a secret, and goes nowhere without alerts', async () => {
  const { url, received, got } = await receiver();
  const { alerts, current } = place(null);
  alerts.send(AWAY);
  current.to = { url, secret: undefined };
  alerts.send(AWAY);
  await got(1);
  expect(received).toEqual([{ authorization: undefined, contentType: 'application/json', body: AWAY }]);
});

it.each([[500], [302], [429]])(
  'is tried three times where the receiver answers %i, then the log names its host alone',
  async (status) => {
    const { url, received } = await receiver([status]);
    const { alerts, lines, untilLogged } = place({ url, secret: 'hush' });
    alerts.send(AWAY);
    await untilLogged();
    expect(received).toHaveLength(3);
    const { host } = new URL(url);
    expect(lines).toEqual([
      ['an alert could not be sent', { host, event: 'database', reason: `status ${status}` }],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/hush|T0P-SECRET/);
  },
);

it('is sent once where the second try succeeds, and the next one follows', async () => {
  const { url, received, got } = await receiver([503, 204]);
  const { alerts, clock, lines } = place({ url, secret: undefined });
  alerts.send(AWAY);
  alerts.send({ ...AWAY, at: 'later' });
  await got(1);
  while (received.length < 3) {
    await new Promise(setImmediate);
    if (clock.waiting > 0) clock.advance(1000);
  }
  expect(received.map(({ body }) => (body as Notice).at)).toEqual([AWAY.at, AWAY.at, 'later']);
  expect(lines).toEqual([]);
});

it('of a receiver that refuses connections is a line of the log', async () => {
  const { alerts, lines, untilLogged } = place({ url: 'http://127.0.0.1:1/T0P-SECRET', secret: 'hush' });
  alerts.send(AWAY);
  await untilLogged();
  expect(lines[0]?.[0]).toBe('an alert could not be sent');
  expect(JSON.stringify(lines)).not.toMatch(/hush|T0P-SECRET/);
});

it('waits in a queue of a hundred, and what is dropped is said', async () => {
  const { url, got } = await receiver(['silent']);
  const { alerts, lines } = place({ url, secret: undefined });
  for (let index = 0; index < 150; index += 1) alerts.send(AWAY);
  await got(1);
  await alerts.stop(1);
  expect(lines).toEqual([['alerts were not sent before the end', { alerts: 150 }]]);
});

it('is sent at the end, if the receiver answers', async () => {
  const { url, received } = await receiver();
  const { alerts, lines } = place({ url, secret: undefined });
  for (let index = 0; index < 20; index += 1) alerts.send(AWAY);
  await alerts.stop(60_000);
  expect(received).toHaveLength(20);
  expect(lines).toEqual([]);
  alerts.send(AWAY);
  expect(received).toHaveLength(20);
});
