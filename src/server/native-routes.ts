// What a client that takes the gateway for one of its vendor's kind asks beside the endpoints of protocols.
import { authenticate, databaseAway } from '../accounts/access.ts';
import { readScreen } from '../accounts/screen.ts';
import type { Exchange, GatewayDeps } from '../gateway/exchange.ts';
import type { LimitScreen } from '../protocols/interface/protocol.ts';
import { LIST_KEY_HEADERS } from '../protocols/shared/model-list.ts';

export type ScreenUsage = NonNullable<LimitScreen['usage']>;

/** How the limits of the key's account stand, as its client shows them. */
export async function showScreenUsage(
  exchange: Exchange,
  { store, clock, current }: GatewayDeps,
  usage: ScreenUsage,
): Promise<void> {
  const now = clock.now();
  const asked = { headers: exchange.headers, endpoint: 'list' as const, keyHeaders: LIST_KEY_HEADERS };
  const key = await authenticate(asked, store, now);
  try {
    const { limits, spent } = await readScreen(store, key, current.config.tiers, now);
    const headers = ['content-type', 'application/json', 'cache-control', 'no-store'];
    exchange.sink.send(200, headers, JSON.stringify(usage.body(limits, spent)));
  } catch (error) {
    throw databaseAway(error);
  }
}
