// What OAuth asks of every path of a sign-in: forms, JSON that nobody keeps, errors with a word, and URLs that no client can choose.
import type { Config } from '../../config/config.ts';
import type { HeaderList, SiteExchange } from '../../gateway/exchange.ts';
import { isLoopbackHost } from '../../loopback.ts';
import { safeHeaders } from '../reply.ts';

/** `code`: a word of RFC 6749 or RFC 8628. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly status: number;
  readonly code: string;
  readonly headers: HeaderList;

  constructor(status: number, code: string, description: string, headers: HeaderList = []) {
    super(description);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function sendOAuth(
  { sink }: Pick<SiteExchange, 'sink'>,
  status: number,
  body: object,
  more: HeaderList = [],
): void {
  const own = ['content-type', 'application/json', 'cache-control', 'no-store', 'pragma', 'no-cache'];
  if (status === 401 || status === 403) own.push('x-should-retry', 'false');
  sink.send(status, [...safeHeaders(), ...own, ...more], JSON.stringify(body));
}

const MOST_FORM = 16 * 1024;

/** A form, without members that occur twice. Rejects with OAuthError, or with GatewayError. */
export async function readForm(exchange: SiteExchange): Promise<URLSearchParams> {
  const form = new URLSearchParams((await exchange.readForm(MOST_FORM)).toString('utf8'));
  const names = [...form.keys()];
  if (new Set(names).size < names.length)
    throw new OAuthError(400, 'invalid_request', 'a parameter occurs twice');
  return form;
}

/**
 * The origin of all URLs that a client is given: the one of the configuration, else the loopback address at which it asks. Never one that
 * a header of a proxy names. Throws OAuthError.
 */
export function urlOf(
  { headers }: Pick<SiteExchange, 'headers'>,
  { signIn }: Pick<Config, 'signIn'>,
): string {
  if (signIn !== null && signIn.url !== null) return signIn.url;
  const host = String(headers.host ?? '');
  // The server has checked the form of the header, and that it is a name of this gateway.
  if (isLoopbackHost(host)) return `http://${host}`;
  const message = 'this gateway is asked by a name, so its sign-in needs sign_in: { url: https://… }';
  throw new OAuthError(403, 'invalid_request', message);
}
