// What happens at each path.
import type { GatewayDeps, Exchange, HeaderList } from '../../gateway/exchange.ts';
import { infer } from '../../gateway/inference.ts';
import { countTokens } from '../../gateway/count-tokens.ts';
import type { Route } from '../router.ts';
import { listModels, showModel } from './models.ts';
import { GatewayError } from '../../errors.ts';
import { shuttingDown } from '../../gateway/in-flight-limit.ts';

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

const JSON_TYPE: HeaderList = ['content-type', 'application/json'];

/** For supervisors; needs no key. */
async function health({ sink }: Exchange, deps: GatewayDeps): Promise<void> {
  if (deps.gate.closed) throw shuttingDown();
  if (deps.config().maintenance) {
    throw new GatewayError('unavailable', 'the gateway is in maintenance', { retryAfter: 60 });
  }
  if (await deps.database.isAway()) {
    sink.send(503, [...JSON_TYPE, 'retry-after', '1'], '{"status":"unavailable","database":"away"}');
  } else sink.send(200, JSON_TYPE, '{"status":"ok","database":"ok"}');
}

const HELLO = `This is a gateway for language models. Base URLs: chat completions …/v1, messages … (without /v1).\n`;

/** For clients that check whether a server is there; needs no key. */
async function probe(exchange: Exchange): Promise<void> {
  exchange.sink.send(200, ['content-type', 'text/plain; charset=utf-8'], HELLO);
}
