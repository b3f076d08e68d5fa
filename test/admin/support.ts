// A gateway whose admin API is on, a token for it, and requests as programs and browsers send them.
import { createAdminToken } from '../../src/accounts/admin.ts';
import { systemClock } from '../../src/clock.ts';
import { createIds } from '../../src/ids.ts';
import type { AdminScope } from '../../src/store/admin/admin-records.ts';
import type { TestGateway } from '../helpers/gateway.ts';

export const API = '/admin/api/v1';

export async function newToken(
  { store }: Pick<TestGateway, 'store'>,
  scope: AdminScope = 'write',
  expiresAt: number | null = null,
): Promise<{ id: string; plaintext: string }> {
  const deps = { store, clock: systemClock, ids: createIds() };
  const { token, plaintext } = await createAdminToken(deps, { label: null, scope, expiresAt });
  return { id: token.id, plaintext };
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** Of a JSON body; tests name its members. */
  json: Record<string, unknown> & { data?: Record<string, unknown>[]; code?: string };
}

export interface Asked {
  method?: string;
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** `path`: below the API, or a whole one. */
export async function call(
  gateway: Pick<TestGateway, 'url'>,
  path: string,
  { method = 'GET', token, body, headers = {} }: Asked = {},
): Promise<Answer> {
  const response = await fetch(gateway.url + (path.startsWith('/admin') ? path : API + path), {
    method,
    redirect: 'manual',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  const json = (isJson && text !== '' ? JSON.parse(text) : {}) as Answer['json'];
  return { status: response.status, headers: response.headers, text, json };
}

export interface Browser {
  cookie: string;
  csrf: string;
  /** As the page's own script: with the cookie and what browsers add. */
  call(path: string, asked?: Asked): Promise<Answer>;
}

/** Opens the link as the page does. */
export async function openBrowser(gateway: TestGateway): Promise<Browser> {
  const link = new URL(await gateway.adminLink()).hash.replace('#link=', '');
  return openWith(gateway, '/admin/session', { link });
}

/** Signs in with a key as the page does. */
export const openMember = (gateway: TestGateway, key: string): Promise<Browser> =>
  openWith(gateway, '/admin/session/member', { key });

async function openWith(gateway: TestGateway, path: string, body: object): Promise<Browser> {
  const own = { origin: gateway.url, 'sec-fetch-site': 'same-origin' };
  const opened = await call(gateway, path, { method: 'POST', body, headers: own });
  const cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return {
    cookie,
    csrf: String(opened.json['csrf']),
    call: (path, { headers = {}, ...asked } = {}) =>
      call(gateway, path, { ...asked, headers: { ...own, cookie, ...headers } }),
  };
}
