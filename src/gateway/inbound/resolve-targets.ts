// The targets for a request, in order. If all of several targets cool down for a short time, the request waits for the first.
import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import type { Resolution, Routing, RoutingQuery } from '../../routing/routing.ts';

/** Throws GatewayError as `routing.resolve` does; rejects with the cancellation's reason. */
export async function resolveTargets(
  query: RoutingQuery,
  cancellation: Cancellation,
  { routing, clock }: { routing: Routing; clock: Clock },
): Promise<Resolution> {
  const resolution = routing.resolve(query);
  if (resolution.waitMs === undefined) return resolution;
  await pause(resolution.waitMs, cancellation, clock);
  return routing.resolve(query);
}

function pause(ms: number, cancellation: Cancellation, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancellation.reason !== undefined) {
      reject(cancellation.reason);
      return;
    }
    const cancelTimer = clock.after(ms, () => {
      cancellation.unsubscribe(onCancel);
      resolve();
    });
    function onCancel(): void {
      cancelTimer();
      reject(cancellation.reason ?? new Error('cancelled'));
    }
    cancellation.subscribe(onCancel);
  });
}
