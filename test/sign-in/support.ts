// A gateway whose sign-in is on, and a client that speaks as Claude Code does.
import { systemClock } from '../../src/clock.ts';
import { createIds } from '../../src/ids.ts';
import { createSignIn, type SignIn } from '../../src/sign-in/sign-in.ts';
import type { TestGateway } from '../helpers/gateway.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export interface Reply {
  status: number;
  headers: Headers;
  json: Record<string, unknown>;
}

export interface Code {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
}

export async function post(
  { url }: Pick<TestGateway, 'url'>,
  path: string,
  form: Record<string, string> | string = {},
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'user-agent': 'claude-code/2.1.332', ...headers },
    body: new URLSearchParams(form),
  });
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Reply['json'],
  };
}

export async function askForCode(
  gateway: Pick<TestGateway, 'url'>,
  headers: Record<string, string> = {},
): Promise<Code> {
  const { json } = await post(gateway, '/oauth/device_authorization', { surface: 'claude_code' }, headers);
  return json as unknown as Code;
}

export const poll = (gateway: Pick<TestGateway, 'url'>, { device_code }: Pick<Code, 'device_code'>) =>
  post(gateway, '/oauth/token', { grant_type: DEVICE_GRANT, device_code });

export const refresh = (gateway: Pick<TestGateway, 'url'>, token: unknown) =>
  post(gateway, '/oauth/token', { grant_type: 'refresh_token', refresh_token: String(token) });

/** What `gateway approve` does with the database. */
export function owner({ store }: Pick<TestGateway, 'store'>, clock = systemClock): SignIn {
  return createSignIn({ store, clock, ids: createIds() });
}

export const LAPTOP: Parameters<SignIn['approve']>[1] = { account: 'laptop', tier: 'pro', endsAt: null };

/** The tokens of a new sign-in. */
export async function signedIn(
  gateway: TestGateway,
  approval = LAPTOP,
  clock = systemClock,
): Promise<Reply['json']> {
  const code = await askForCode(gateway);
  await owner(gateway, clock).approve(code.user_code, approval);
  return (await poll(gateway, code)).json;
}

/** A request as Claude Code sends it. */
export async function prompt({ url }: Pick<TestGateway, 'url'>, token: unknown): Promise<Response> {
  return fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${String(token)}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sim/echo',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'hello' }],
    }),
  });
}
