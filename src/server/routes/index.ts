// What happens at each path.
import type { GatewayDeps } from '../../gateway/deps.ts';
import { infer } from '../../gateway/inference.ts';
import { countTokens } from '../../gateway/count-tokens.ts';
import type { Exchange } from '../../gateway/exchange.ts';
import { protocols } from '../../protocols/registry.ts';
import type { RouteName } from '../router.ts';
import { health, probe } from './health.ts';
import { listModels, showModel } from './models.ts';

type Handler = (exchange: Exchange, deps: GatewayDeps, id: string) => Promise<void>;

export const handlers = {
  chat: (exchange, deps) => infer(protocols.chat, exchange, deps),
  messages: (exchange, deps) => infer(protocols.messages, exchange, deps),
  count_tokens: countTokens,
  models: listModels,
  model: showModel,
  health,
  probe,
} as const satisfies Record<RouteName, Handler>;
