// Signs of life, which need no key: for supervisors, for Prometheus, and for clients that check whether a server is there.
import { GatewayError } from '../../errors.ts';
import type { Exchange, GatewayDeps, HeaderList } from '../../gateway/exchange.ts';
import { shuttingDown } from '../../gateway/in-flight-limit.ts';

const JSON_TYPE: HeaderList = ['content-type', 'application/json'];

export async function health({ sink }: Exchange, deps: GatewayDeps): Promise<void> {
  if (deps.inFlightLimit.closed) throw shuttingDown();
  if (deps.config().maintenance) {
    throw new GatewayError('unavailable', 'the gateway is in maintenance', { retryAfter: 60 });
  }
  if (await deps.database.isAway()) {
    sink.send(503, [...JSON_TYPE, 'retry-after', '1'], '{"status":"unavailable","database":"away"}');
  } else sink.send(200, JSON_TYPE, '{"status":"ok","database":"ok"}');
}

const METRICS_TYPE: HeaderList = ['content-type', 'text/plain; version=0.0.4; charset=utf-8'];

/** Also in maintenance and while the gateway shuts down: that is when it is looked at. */
export async function metrics({ sink }: Exchange, deps: GatewayDeps): Promise<void> {
  sink.send(200, METRICS_TYPE, (await deps.metrics?.read()) ?? '');
}

const HELLO = `This is a gateway for language models. Base URLs: chat completions …/v1, messages … (without /v1).\n`;

export async function probe(exchange: Exchange): Promise<void> {
  exchange.sink.send(200, ['content-type', 'text/plain; charset=utf-8'], HELLO);
}
