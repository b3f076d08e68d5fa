// The client's headers that mean something to a provider of the same protocol.
import type { ForwardedHeaders, Protocol } from '../../protocols/protocol.ts';
import type { Exchange } from '../exchange.ts';

export function forwardedHeaders({ headers, query }: Exchange, { client }: Protocol): ForwardedHeaders {
  return client.forwardedHeaders(headers, query);
}
