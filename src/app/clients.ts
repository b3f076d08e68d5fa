// The client for all providers: those of the configuration, and the simulated one inside this process.
import type { Clock } from '../clock.ts';
import type { ProviderConfig } from '../config/config.ts';
import { builtinProvider, SIM_URL } from '../config/providers.ts';
import type { Ids } from '../ids.ts';
import { createProviderClient, type ProviderClient } from '../providers/client.ts';
import { SIM_MODELS, startSim } from '../sim/sim.ts';

export function createClients(options: {
  clock: Clock;
  ids: Ids;
  env: Record<string, string | undefined>;
  makeRoom?: () => void;
}): { client: ProviderClient; sim: ProviderConfig } {
  const { clock, ids } = options;
  const inProcess = { baseUrl: SIM_URL, start: () => startSim({ clock, ids }) };
  return { client: createProviderClient({ ...options, inProcess }), sim: builtinProvider(SIM_MODELS) };
}
