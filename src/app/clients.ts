// The client for all providers: those of the configuration, and the simulated one inside this process.
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import type { ProviderConfig } from '../config/config.ts';
import { builtinProvider, SIM_URL } from '../config/providers.ts';
import type { Ids } from '../ids.ts';
import { createProviderClient, type ProviderClient } from '../providers/client.ts';
import type { ProviderCall, ProviderReply } from '../providers/exchange.ts';
import { SIM_MODELS, startSim, type Sim } from '../sim/sim.ts';

/** The built-in provider is started by its first request. */
export function createClients(options: {
  clock: Clock;
  ids: Ids;
  env: Record<string, string | undefined>;
  makeRoom?: () => void;
}): { client: ProviderClient; sim: ProviderConfig } {
  const { clock, ids, env, makeRoom } = options;
  const client = createProviderClient({ clock, env, makeRoom });
  let starting: Promise<Sim> | undefined;

  async function openSim(call: ProviderCall, cancellation: Cancellation): Promise<ProviderReply> {
    const { url, key } = await (starting ??= startSim({ clock, ids }));
    const headers = [...call.headers, 'authorization', `Bearer ${key}`];
    return client.open({ ...call, url: url + call.url.slice(SIM_URL.length), headers }, cancellation);
  }

  return {
    client: {
      open: (call, cancellation) =>
        call.url.startsWith(SIM_URL) ? openSim(call, cancellation) : client.open(call, cancellation),
      closeIdle: () => client.closeIdle(),
      async close() {
        await Promise.all([client.close(), starting?.then((sim) => sim.close())]);
      },
    },
    sim: builtinProvider(SIM_MODELS),
  };
}
