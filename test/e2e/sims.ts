// A gateway before the simulated model in three ways: spoken to in the client's protocol, or in one of them alone.
import { createIds } from '../../src/ids.ts';
import { SIM_MODELS } from '../../src/canonical/sim-models.ts';
import { startSim } from '../../src/sim/sim.ts';
import { startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';

/**
 * The built-in provider is `sim`; `chat` and `messages` are the same model as a stranger that speaks that protocol alone. `hasty` has
 * 300 ms for an answer.
 */
export async function startSims(): Promise<TestGateway> {
  const stranger = await startSim({ ids: createIds() });
  const alone = (protocol: string, time = '3s'): object => ({
    protocol,
    base_url: stranger.url,
    api_key: stranger.key,
    models: [...SIM_MODELS],
    timeout: { first_byte: time, idle: time, whole: time },
  });
  const gateway = await startGateway({
    config: {
      providers: { sim: {}, chat: alone('chat'), messages: alone('messages'), hasty: alone('chat', '300ms') },
    },
  });
  return {
    ...gateway,
    async stop() {
      await gateway.stop();
      await stranger.close();
    },
  };
}
