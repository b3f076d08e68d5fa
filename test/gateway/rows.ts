// The usage rows of a gateway, once its requests are written.
import { vi } from 'vitest';
import type { TestGateway } from '../helpers/gateway.ts';
import type { StoredRequest } from '../../src/store/store.ts';

/** The oldest first. */
export async function readRequestRows({ store }: TestGateway, count: number): Promise<StoredRequest[]> {
  return vi.waitFor(
    async () => {
      const rows = await store.listRequests({ limit: count });
      if (rows.length < count) throw new Error(`${rows.length} of ${count} rows`);
      return rows.reverse();
    },
    { timeout: 10_000, interval: 20 },
  );
}
