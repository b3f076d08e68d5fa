// A gateway that has much to show, for measurements of the page: 1,000 requests a second end. The live stream and the page are the real
// ones; the requests are only reported, so that no request takes the processor from the browser.
import { onTestFinished } from 'vitest';
import type { Peers } from '../../src/app/parts.ts';
import { createSessions } from '../../src/admin/sessions.ts';
import { systemClock } from '../../src/clock.ts';
import { createIds, createRequestIds } from '../../src/ids.ts';
import { Trace } from '../../src/gateway/trace.ts';
import type { Live } from '../../src/observe/live.ts';
import type { Key } from '../../src/store/store.ts';
import { usageRow } from '../store/support.ts';
import { identity } from '../helpers/identity.ts';
import { createRepeats } from '../../src/repeats.ts';

const TURN_MS = 20;
export const EVENTS_A_SECOND = 1000;
export const IN_FLIGHT = 300;

export function peersWith(live: Live): Peers {
  const nothing = (): void => undefined;
  const sessions = createSessions({ clock: systemClock, ids: createIds() });
  return {
    share: nothing,
    onShared: nothing,
    leads: true,
    onLead: nothing,
    readMetrics: async () => '',
    resetTargets: async () => ({ targets: [] }),
    live,
    repeats: createRepeats(systemClock),
    sessions,
  };
}

/** Reports requests that start, stream and end, at an even pace. Returns a function that gives how many have ended. */
export function reportRequests(live: Live): () => number {
  const newId = createRequestIds(createIds(), () => systemClock.now());
  const underWay: Trace[] = [];
  let ended = 0;
  const start = (): void => {
    const trace = new Trace({
      requestId: newId(),
      key: { id: 'key_one', account: `account ${ended % 30}`, accountId: ended % 30 } as Key,
      endpoint: 'chat',
      modelAsked: `model-${ended % 7}`,
      streamed: true,
      startedAt: systemClock.monotonic(),
      identity: identity(),
      passedOver: [],
      rule: undefined,
      spans: undefined,
      held: false,
    });
    trace.firstByteAt = trace.startedAt;
    underWay.push(trace);
    live.started(trace);
  };
  const end = (): void => {
    const trace = underWay.shift();
    if (trace === undefined) return;
    live.finished(trace);
    const { requestId, key, modelAsked: model } = trace;
    const row = usageRow({ at: systemClock.now(), requestId, accountId: key.accountId, model });
    live.recorded(row, trace);
    ended += 1;
  };
  while (underWay.length < IN_FLIGHT) start();
  const from = systemClock.monotonic();
  const timer = setInterval(() => {
    for (const trace of underWay) {
      trace.progress.pieces += 1;
      trace.progress.pieceBytes += 100;
      trace.progress.written += 100;
    }
    const due = ((systemClock.monotonic() - from) / 1000) * EVENTS_A_SECOND;
    while (ended < due) {
      end();
      start();
    }
  }, TURN_MS);
  onTestFinished(() => clearInterval(timer));
  return () => ended;
}
