// Whatever a real program sends, a provider of each other protocol can answer it too: nothing of it is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROTOCOL_NAMES } from '../../src/canonical/request.ts';
import { createIds } from '../../src/ids.ts';
import { startSim } from '../../src/sim/sim.ts';
import type { Sim } from '../../src/sim/sim.ts';
import { PATHS } from '../helpers/ask.ts';
import { provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { CORPUS } from '../fixtures/corpus.ts';

let sim: Sim;
let gateway: TestGateway;

beforeAll(async () => {
  sim = await startSim({ ids: createIds() });
  gateway = await startGateway({
    config: {
      providers: Object.fromEntries(
        PROTOCOL_NAMES.map((name) => [name, provider(sim.url, name, ['echo'], { api_key: sim.key })]),
      ),
      tiers: { enterprise: 10_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await sim.close();
});

describe('translated, it is answered to its end', () => {
  const others = CORPUS.flatMap(([name, line]) =>
    PROTOCOL_NAMES.filter((to) => PATHS[to] !== line.path).map((to) => ({ name, to, line })),
  );

  test.each(others)('$name by a provider of $to', async ({ to, line: { path, headers, body } }) => {
    for (const stream of [true, false]) {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { ...headers, 'x-api-key': gateway.key, authorization: `Bearer ${gateway.key}` },
        body: JSON.stringify({
          ...body,
          model: `${to}/echo`,
          ...(path.endsWith('/count_tokens') ? {} : { stream }),
        }),
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
  if (path === '/v1/responses')
    return stream ? /event: response.completed\ndata: .*\n\ndata: \[DONE\]\n\n$/ : /"status":"completed"/;
  return stream ? /data: \[DONE\]\n\n$/ : /"finish_reason":"(stop|tool_calls|length)"/;
}
