// Resets targets of this process, for `gateway targets reset` and for the admin API.
import type { GatewayDeps } from '../gateway/exchange.ts';
import type { Routing } from '../routing/routing.ts';
import type { ResetReply } from '../routing/state/reset.ts';

/** `target`: undefined for all. The answer for an unknown one is `unknown`. */
export const resetTargets =
  ({ routing, log }: Pick<GatewayDeps, 'routing' | 'log'>) =>
  async (target: string | undefined): Promise<ResetReply> => {
    const fault = target === undefined ? undefined : targetFault(target, routing);
    if (fault !== undefined) return { targets: [], unknown: fault };
    const { resetTargets: reset } = await import('../routing/state/reset.ts');
    const targets = reset(routing, target);
    if (targets.length > 0) log.info('targets were reset', { targets: targets.map((row) => row.target) });
    return { targets };
  };

/** Why this is no `provider/model` that can be asked. */
function targetFault(target: string, routing: Routing): string | undefined {
  const named = routing.model(target, null);
  if (named === undefined) return routing.unknown(target, null).message;
  const keys = named.targets.map(({ key }) => key);
  return keys.includes(target) ? undefined : `${target} is no target; it stands for ${keys.join(', ')}`;
}
