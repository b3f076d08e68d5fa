// Sends notices to `alerts.url`: one POST each, one after the other, never in the way of a request. A receiver that is away costs
// notices, and a word in the log.
import { cancelledAfter } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import { messageOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { ProviderClient } from '../../providers/client.ts';
import type { Notice } from './notice.ts';

/** Notices that wait; further ones are dropped. */
const MOST_WAITING = 100;
const TIMEOUT_MS = 5000;
const PAUSES_MS = [1000, 5000];

export interface Alerts {
  /** Without `alerts` in the configuration nothing happens. */
  send(notice: Notice): void;
  /** Sends what waits, within `ms`; the log tells how many are dropped. */
  stop(ms: number): Promise<void>;
}

interface Options {
  client: Pick<ProviderClient, 'open'>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  /** That of the present configuration. */
  to: () => Config['alerts'];
}

export function createAlerts({ client, clock, log, to }: Options): Alerts {
  let waiting: Notice[] = [];
  let dropped = 0;
  let sending: Promise<void> | undefined;
  let isStopped = false;

  async function sendAll(): Promise<void> {
    for (let [notice] = waiting; notice !== undefined; [notice] = waiting) {
      await sendOne(notice);
      if (isStopped) return;
      waiting.shift();
      reportDropped();
    }
    sending = undefined;
  }

  async function sendOne(notice: Notice): Promise<void> {
    for (const pause of [...PAUSES_MS, undefined]) {
      const target = to();
      if (target === null) return;
      const fault = await post(target, notice);
      if (fault === undefined) return;
      if (isStopped) return;
      if (pause === undefined) {
        // Only the host: the rest of the address may be a secret.
        const fields = { host: new URL(target.url).host, event: notice.event, reason: fault };
        log.warn('an alert could not be sent', fields);
      } else await new Promise<void>((resolve) => void clock.after(pause, resolve));
    }
  }

  /** What went wrong. */
  async function post(
    { url, secret }: NonNullable<Config['alerts']>,
    notice: Notice,
  ): Promise<string | undefined> {
    const timeout = { connect: TIMEOUT_MS, firstByte: TIMEOUT_MS, idle: TIMEOUT_MS, whole: TIMEOUT_MS };
    const headers = ['content-type', 'application/json', 'user-agent', 'local-llm-gateway'];
    if (secret !== undefined) headers.push('authorization', `Bearer ${secret}`);
    const body = Buffer.from(JSON.stringify(notice));
    try {
      const { status, body: reply } = await client.open(
        { url, method: 'POST', headers, body, stream: false, timeout, network: undefined },
        cancelledAfter(TIMEOUT_MS),
      );
      reply.release();
      return status >= 200 && status < 300 ? undefined : `status ${status}`;
    } catch (error) {
      return messageOf(error);
    }
  }

  function reportDropped(): void {
    if (dropped > 0) log.warn('alerts were dropped: too many waited', { alerts: dropped });
    dropped = 0;
  }

  return {
    send(notice) {
      if (isStopped || to() === null) return;
      if (waiting.length >= MOST_WAITING) dropped += 1;
      else waiting.push(notice);
      sending ??= sendAll();
    },
    async stop(ms) {
      if (sending !== undefined) {
        const isOver = new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
        await Promise.race([sending, isOver]);
      }
      isStopped = true;
      const lost = waiting.length + dropped;
      waiting = [];
      dropped = 0;
      if (lost > 0) log.warn('alerts were not sent before the end', { alerts: lost });
    },
  };
}
