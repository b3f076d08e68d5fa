// What happens at each path.
import type { GatewayDeps } from '../../gateway/deps.ts';
import { infer } from '../../gateway/inference.ts';
import { countTokens } from '../../gateway/count-tokens.ts';
import type { Exchange } from '../../gateway/exchange.ts';
import type { Route } from '../router.ts';
import { health, probe } from './health.ts';
import { listModels, showModel } from './models.ts';

export function answer(route: Route, exchange: Exchange, deps: GatewayDeps): Promise<void> {
  switch (route.name) {
    case 'generate':
      return infer(route.protocol, exchange, deps);
    case 'count_tokens':
      return countTokens(route, exchange, deps);
    case 'models':
      return listModels(exchange, deps);
    case 'model':
      return showModel(exchange, deps, route.id);
    case 'health':
      return health(exchange, deps);
    case 'probe':
      return probe(exchange);
  }
}
