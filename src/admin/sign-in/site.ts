// Sign-in of an agent by a code over HTTP: OAuth 2.0's device grant (RFC 8628) with its metadata (RFC 8414) and revocation (RFC 7009), as
// Claude Code speaks it. No answer tells whether a code exists: unknown, used and expired ones look alike.
import { LOCAL, noted } from '../../accounts/admin.ts';
import { createThrottle } from '../../accounts/throttle.ts';
import { GatewayError } from '../../errors.ts';
import { ClientGone, type Site, type SiteExchange } from '../../gateway/exchange.ts';
import { withoutKeys } from '../../ids.ts';
import type { Logger } from '../../log.ts';
import { isLoopback } from '../../loopback.ts';
import { CODE_MS, createSignIn, type SignIn, type Tokens } from '../../sign-in/sign-in.ts';
import { POLL_INTERVAL_S } from '../../store/admin/sign-ins.ts';
import { StoreError } from '../../store/store.ts';
import { readAssets, sendAsset, type Assets } from '../assets.ts';
import { checkOrigin } from '../authenticate.ts';
import { Problem } from '../reply.ts';
import { DEVICE_FILES, SIGN_IN_PATHS, type SignInOptions } from './paths.ts';
import { sendManagedSettings } from './managed-settings.ts';
import { OAuthError, readForm, sendOAuth, urlOf } from './oauth.ts';

interface Parts extends SignInOptions {
  signIn: SignIn;
  throttle: ReturnType<typeof createThrottle>;
  assets: () => Promise<Assets>;
}

type Answer = (exchange: SiteExchange, parts: Parts) => Promise<void> | void;

interface Row {
  path: string;
  method: 'GET' | 'POST';
  answer: Answer;
}

const ROWS: readonly Row[] = [
  { path: SIGN_IN_PATHS.discovery, method: 'GET', answer: describe },
  { path: SIGN_IN_PATHS.code, method: 'POST', answer: giveCode },
  { path: SIGN_IN_PATHS.token, method: 'POST', answer: giveTokens },
  { path: SIGN_IN_PATHS.revoke, method: 'POST', answer: revoke },
  { path: SIGN_IN_PATHS.settings, method: 'GET', answer: sendManagedSettings },
];

export function createSignInSite(options: SignInOptions): Site['answer'] {
  let assets: Promise<Assets> | undefined;
  const parts: Parts = {
    ...options,
    signIn: createSignIn(options),
    throttle: createThrottle(options.clock),
    assets: () => (assets ??= readAssets()),
  };
  return async (exchange) => {
    try {
      await answer(exchange, parts);
    } catch (error) {
      // A key that is refused is an error of the models' protocols.
      if (error instanceof ClientGone || exchange.path === SIGN_IN_PATHS.settings) throw error;
      refuse(exchange, error, options.log);
    }
  };
}

async function answer(exchange: SiteExchange, parts: Parts): Promise<void> {
  checkOrigin(exchange);
  const { path, method } = exchange;
  const row = ROWS.find((known) => known.path === path);
  if (row === undefined) return sendDevicePage(exchange, parts);
  if (method !== row.method && !(row.method === 'GET' && method === 'HEAD')) {
    const allow = row.method === 'GET' ? 'GET, HEAD' : row.method;
    throw new OAuthError(405, 'invalid_request', `use ${allow}`, ['allow', allow]);
  }
  await row.answer(exchange, parts);
}

/** The page holds nothing that is not public: what it shows, it asks of the admin API with the owner's session. */
async function sendDevicePage(exchange: SiteExchange, { assets }: Parts): Promise<void> {
  const { path } = exchange;
  const name = path === SIGN_IN_PATHS.device ? 'device.html' : path.slice(DEVICE_FILES.length);
  const isOfPage = name === 'device.html' || name.startsWith('assets/');
  sendAsset(exchange, isOfPage ? (await assets()).get(name) : undefined);
}

function describe(exchange: SiteExchange, { current }: Parts): void {
  const base = urlOf(exchange, current.config);
  sendOAuth(exchange, 200, {
    issuer: base,
    device_authorization_endpoint: base + SIGN_IN_PATHS.code,
    token_endpoint: base + SIGN_IN_PATHS.token,
    revocation_endpoint: base + SIGN_IN_PATHS.revoke,
    grant_types_supported: Object.keys(GRANTS),
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
  });
}

async function giveCode(exchange: SiteExchange, { current, signIn, log }: Parts): Promise<void> {
  const base = urlOf(exchange, current.config);
  await readForm(exchange);
  const { headers, remoteAddress: address } = exchange;
  const asked = { userAgent: String(headers['user-agent'] ?? ''), address };
  const begun = await signIn.begin(asked);
  if (begun === undefined) {
    const message = 'too many codes wait for their approval; try again in some minutes';
    throw new OAuthError(429, 'slow_down', message, ['retry-after', '60']);
  }
  const { code } = begun;
  if (current.config.signIn?.autoApprove === true && isLoopback(address))
    log.info('a sign-in waits for you', {
      code,
      client: asked.userAgent,
      approve: `gateway approve ${code}`,
    });
  const page = base + SIGN_IN_PATHS.device;
  sendOAuth(exchange, 200, {
    device_code: begun.deviceCode,
    user_code: code,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${code}`,
    expires_in: CODE_MS / 1000,
    interval: POLL_INTERVAL_S,
    login_notice: `To approve it, run on the machine of the gateway: gateway approve ${code} (its owner can also approve it on the page).`,
  });
}

type Grant = (form: URLSearchParams, exchange: SiteExchange, parts: Parts) => Promise<void>;

const GRANTS: Readonly<Record<string, Grant>> = {
  'urn:ietf:params:oauth:grant-type:device_code': poll,
  refresh_token: refresh,
};

async function giveTokens(exchange: SiteExchange, parts: Parts): Promise<void> {
  const form = await readForm(exchange);
  const type = form.get('grant_type') ?? '';
  const grant = Object.hasOwn(GRANTS, type) ? GRANTS[type] : undefined;
  if (grant === undefined)
    throw new OAuthError(400, 'unsupported_grant_type', `send one of ${Object.keys(GRANTS).join(', ')}`);
  await grant(form, exchange, parts);
}

const WAITS = {
  pending: ['authorization_pending', 'the owner of the gateway has not approved the code yet'],
  slow_down: ['slow_down', 'polled too soon; wait 5 seconds longer from now on'],
  denied: ['access_denied', 'the owner of the gateway denied it'],
  unknown: ['expired_token', 'the code is not valid any more; sign in again'],
} as const;

async function poll(form: URLSearchParams, exchange: SiteExchange, parts: Parts): Promise<void> {
  const result = await parts.signIn.poll(given(form, 'device_code'));
  if (result.outcome === 'unknown') slowDown(exchange, parts);
  if (result.outcome !== 'approved') {
    const [code, description] = WAITS[result.outcome];
    throw new OAuthError(400, code, description);
  }
  const { key } = result.tokens;
  await note(exchange, parts, { actor: key.id, action: 'signIn', detail: { account: key.account } });
  sendTokens(exchange, result.tokens);
}

/** Two programs of one home send the same token at the same second, and a session that slept sends one that was exchanged long ago: a
 *  spent token is refused, and its sign-in goes on. */
async function refresh(form: URLSearchParams, exchange: SiteExchange, parts: Parts): Promise<void> {
  const result = await parts.signIn.refresh(given(form, 'refresh_token'));
  if (result.outcome === 'refreshed') return sendTokens(exchange, result.tokens);
  if (result.outcome === 'unknown') slowDown(exchange, parts);
  else if (result.first) {
    const { id: actor, account } = result.key;
    await note(exchange, parts, { actor, action: 'spentRefreshToken', detail: { account } }, 401);
  }
  throw new OAuthError(401, 'invalid_grant', 'the refresh token is not valid any more; sign in again');
}

async function revoke(exchange: SiteExchange, parts: Parts): Promise<void> {
  const ended = await parts.signIn.end(given(await readForm(exchange), 'token'));
  if (ended === undefined) slowDown(exchange, parts);
  else if (ended.now) {
    const { id: actor, account } = ended.key;
    await note(exchange, parts, { actor, action: 'signOut', detail: { account } });
  }
  sendOAuth(exchange, 200, {});
}

function given(form: URLSearchParams, name: string): string {
  const value = form.get(name) ?? '';
  if (value === '') throw new OAuthError(400, 'invalid_request', `${name} is missing`);
  return value;
}

function sendTokens(exchange: SiteExchange, { access, refresh: next, expiresInMs, key }: Tokens): void {
  sendOAuth(exchange, 200, {
    access_token: access,
    token_type: 'Bearer',
    expires_in: Math.max(0, Math.floor(expiresInMs / 1000)),
    refresh_token: next,
    email: key.account,
  });
}

/** Slows down who sends codes and tokens that do not exist, and nobody else. Throws OAuthError 429. */
function slowDown({ remoteAddress }: SiteExchange, { throttle }: Parts): void {
  const wait = throttle.waitMs(remoteAddress);
  if (wait > 0) {
    const headers = ['retry-after', String(Math.ceil(wait / 1000))];
    throw new OAuthError(429, 'slow_down', 'too many codes and tokens were sent that are not valid', headers);
  }
  throttle.failed(remoteAddress);
}

function note(
  { remoteAddress }: SiteExchange,
  parts: Parts,
  { detail, ...entry }: { actor: string; action: string; detail: object },
  status = 200,
): Promise<void> {
  const address = remoteAddress === '' ? LOCAL : remoteAddress;
  return noted(parts, { ...entry, address, detail: JSON.stringify(detail) }, status);
}

function refuse(exchange: SiteExchange, error: unknown, log: Logger): void {
  const { requestId: request, path } = exchange;
  const known = oauthOf(error);
  const { status, code, message, headers } = known ?? FAULT;
  if (known === undefined) {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error('a request of the sign-in failed', { request, path, detail });
  } else if (code !== WAITS.pending[0]) log.info('refused', { request, path, status, kind: code });
  sendOAuth(exchange, status, { error: code, error_description: withoutKeys(message) }, headers);
}

const FAULT = new OAuthError(500, 'server_error', 'the gateway failed; its log says more');

/** undefined: a fault of the gateway. */
function oauthOf(error: unknown): OAuthError | undefined {
  if (error instanceof OAuthError) return error;
  if (error instanceof Problem)
    return new OAuthError(error.status, 'invalid_request', error.message, error.headers);
  if (error instanceof StoreError) {
    const message = 'the gateway cannot use its database at the moment';
    return new OAuthError(503, 'temporarily_unavailable', message, ['retry-after', '1']);
  }
  if (error instanceof GatewayError && error.status < 500)
    return new OAuthError(error.status, 'invalid_request', error.message);
  return undefined;
}
