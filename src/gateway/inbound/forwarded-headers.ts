// The client's headers that mean something to a provider of the same protocol: the version, its betas, the query.
import { GatewayError } from '../../errors.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import type { Exchange } from '../exchange.ts';
import type { ForwardedHeaders } from '../outbound/build-request.ts';

const VERSION_HEADERS = ['anthropic-version', 'provider-version'] as const;
/** Known to be a date: to check one costs 1 µs. */
const USUAL = '2023-06-01';
/** Characters: all betas together are some hundred. */
const MOST_BETA = 8192;

/** Throws GatewayError `invalid_request` for a version that is no date, two that differ, and betas that are too long. */
export function forwardedHeaders(exchange: Exchange, protocol: Protocol): ForwardedHeaders {
  if (protocol.name !== 'messages') return { version: undefined, beta: undefined, query: '' };
  const beta = textOf(exchange.headers['anthropic-beta']);
  if (beta.length > MOST_BETA) {
    const message = `anthropic-beta: is longer than ${MOST_BETA} characters`;
    throw new GatewayError('invalid_request', message, { param: 'anthropic-beta' });
  }
  const query = exchange.query === '?beta=true' ? exchange.query : '';
  return { version: versionOf(exchange.headers), beta: beta === '' ? undefined : beta, query };
}

function versionOf(headers: Exchange['headers']): string | undefined {
  let version: string | undefined;
  for (const name of VERSION_HEADERS) {
    const text = textOf(headers[name]);
    if (text === '') continue;
    if (version !== undefined && version !== text) {
      const message = `${VERSION_HEADERS.join(' and ')} differ; send one of them`;
      throw new GatewayError('invalid_request', message, { param: VERSION_HEADERS[0] });
    }
    version ??= checked(text, name);
  }
  return version;
}

function checked(version: string, name: string): string {
  if (version === USUAL || isDate(version)) return version;
  const message = `${name}: ${JSON.stringify(version.slice(0, 40))} is not a date such as ${USUAL}`;
  throw new GatewayError('invalid_request', message, { param: name });
}

function textOf(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value.join(', ') : (value ?? '')).trim();
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
