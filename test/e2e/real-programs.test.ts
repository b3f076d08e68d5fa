// Whatever a real program sends, a provider of the other protocol can answer it too: nothing of it is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createIds } from '../../src/ids.ts';
import { startSim } from '../../src/sim/sim.ts';
import type { Sim } from '../../src/sim/sim.ts';
import { provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { CORPUS } from '../fixtures/corpus.ts';

let sim: Sim;
let gateway: TestGateway;

beforeAll(async () => {
  sim = await startSim({ ids: createIds() });
  gateway = await startGateway({
    config: {
      providers: {
        talks: provider(sim.url, 'chat', [{ id: 'fake-messages-1', upstream: 'echo' }], { api_key: sim.key }),
        writes: provider(sim.url, 'messages', [{ id: 'fake-chat-1', upstream: 'echo' }], {
          api_key: sim.key,
        }),
      },
      tiers: { enterprise: 10_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await sim.close();
});

describe('translated, it is answered to its end', () => {
  test.each(CORPUS)('%s', async (_, { path, headers, body }) => {
    for (const stream of [true, false]) {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { ...headers, 'x-api-key': gateway.key, authorization: `Bearer ${gateway.key}` },
        body: JSON.stringify({ ...body, ...(path.endsWith('/count_tokens') ? {} : { stream }) }),
      });
      const text = await response.text();
      expect(response.status, text).toBe(200);
      expect(text).toMatch(endOf(path, stream));
    }
  });
});

function endOf(path: string, stream: boolean): RegExp {
  if (path.endsWith('/count_tokens')) return /^\{"input_tokens":\d+\}$/;
  if (path === '/v1/messages')
    return stream ? /event: message_stop\ndata: .*\n\n$/ : /"stop_reason":"(end_turn|tool_use|max_tokens)"/;
  return stream ? /data: \[DONE\]\n\n$/ : /"finish_reason":"(stop|tool_calls|length)"/;
}
