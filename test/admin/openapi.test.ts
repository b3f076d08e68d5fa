// The document of the admin API: a public validator accepts it, and every operation is called as it says and answers as it says.
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it, vi } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway } from '../helpers/gateway.ts';
import { askForCode } from '../sign-in/support.ts';
import { API, call, newToken, openBrowser, openMember } from './support.ts';

interface Operation {
  operationId: string;
  'x-scope'?: string;
  parameters: { name: string; in: string; required: boolean; schema: object }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

it('is a valid OpenAPI 3.1 document', async () => {
  const { url, store } = await gateway({ config: { admin: true } });
  const { plaintext: token } = await newToken({ store }, 'read');
  const { status, json } = await call({ url }, '/openapi.json', { token });
  expect(status).toBe(200);
  const result = await new Validator().validate(json);
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
});

it('describes what every operation answers', async () => {
  const running = await gateway({
    config: { admin: true, sign_in: 'on', routes: { auto: ['sim/echo'] } },
  });
  const { plaintext: token } = await newToken(running);
  const browser = await openBrowser(running);
  const member = await openMember(running, running.key);
  const document = (await call(running, '/openapi.json', { token })).json as unknown as Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'doc', components: document.components });
  const key = (await call(running, '/keys')).json;
  expect(key.code).toBe('unauthenticated');
  const [own] = (await call(running, '/keys', { token })).json.data ?? [];
  const id = String(own?.['id']);

  const answered = await ask(running, { model: 'sim/echo' });
  const requestId = answered.headers.get('x-request-id') ?? '';
  await vi.waitFor(
    async () => {
      expect((await call(running, '/requests', { token })).json.data).toHaveLength(1);
    },
    { timeout: 10_000 },
  );

  await running.newKey({ account: 'asking', tier: 'pro' });
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const raised = await call(running, '/limits/test/grants', {
    method: 'POST',
    token,
    body: { requests: 1, until },
  });
  const grant = String(raised.json.data?.[0]?.['id']);
  const conversations = (await call(running, '/conversations', { token })).json.data ?? [];
  const conversation = { id: String(conversations[0]?.['id']) };

  /** What an operation needs beside its path; `browser`: only a session can call it. */
  const NEEDS: Record<
    string,
    { params?: Record<string, string>; body?: object; query?: string; as?: 'browser' | 'member' }
  > = {
    listAccounts: { query: '?limit=1&order=newest&q=t' },
    listKeys: { query: '?state=valid&order=newest&q=key_' },
    readAccount: { params: { account: 'test' } },
    readKey: { params: { id } },
    changeAccount: { params: { account: 'test' }, body: { tier: 'pro' } },
    createKey: {
      body: { account: 'new one', name: 'laptop', models: ['sim/echo'], expires_at: '2999-01-01T00:00:00Z' },
    },
    // Of another key: this one is revoked before.
    askKey: {
      params: { id: (await running.store.listKeys('asking'))[0]?.id ?? '' },
      body: { model: 'sim/echo', request: { messages: [{ role: 'user', content: 'hello' }] } },
    },
    rotateKey: { params: { id }, body: { grace_seconds: 60 } },
    revokeKey: { params: { id } },
    approveSignIn: { body: { code: (await askForCode(running)).user_code, account: 'laptop' } },
    denySignIn: { body: { code: (await askForCode(running)).user_code } },
    readUsage: { query: '?since=7d&by=model' },
    readRequest: { params: { id: requestId } },
    search: { query: `?q=${requestId}` },
    listLimits: { query: '?order=fullest&limit=1' },
    raiseLimits: { params: { account: 'test' }, body: { requests: 5, until } },
    revokeGrant: { params: { id: grant } },
    readConversation: { params: conversation },
    readOwnConversation: { params: conversation },
    continueConversation: { params: conversation, body: {} },
    removeAccount: { params: { account: 'new one' } },
    readSession: { as: 'browser' },
    closeSession: { as: 'browser' },
    resetTargets: { body: {} },
    openMemberSession: { body: { key: running.key } },
    readOwnRequest: { params: { id: requestId } },
    openSession: { body: { link: new URL(await running.adminLink()).hash.replace('#link=', '') } },
  };
  const last = ['revokeKey', 'removeAccount', 'closeSession'];
  const operations = Object.entries(document.paths)
    .flatMap(([path, methods]) => Object.entries(methods).map(([method, row]) => ({ path, method, row })))
    .sort((a, b) => last.indexOf(a.row.operationId) - last.indexOf(b.row.operationId));
  expect(operations.length).toBeGreaterThan(15);

  for (const { path, method, row } of operations) {
    const { params = {}, body, query = '', as: given } = NEEDS[row.operationId] ?? {};
    const as = path.startsWith(`${API}/me`) ? 'member' : given;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? '?'));
    const [status = '', reply] = Object.entries(row.responses).find(([code]) => code.startsWith('2')) ?? [];
    const [type = '', content] = Object.entries(reply?.content ?? {})[0] ?? [];
    // A stream, or the address that leads a browser to the page (page-frame.browser.test.ts).
    if (type === 'text/event-stream' || status === '') continue;
    const asked = { method: method.toUpperCase(), body };
    const headers = { 'x-gateway-csrf': browser.csrf };
    const answer =
      as !== undefined
        ? await (as === 'browser' ? browser : member).call(filled, { ...asked, headers })
        : await call(running, filled + query, { ...asked, token });
    expect([row.operationId, answer.status, answer.text]).toEqual([
      row.operationId,
      Number(status),
      answer.text,
    ]);
    expect(answer.headers.get('content-type')).toBe(type);
    const schema = JSON.parse(
      JSON.stringify(content?.schema).replaceAll('#/components', 'doc#/components'),
    ) as object;
    const validate = ajv.compile(schema);
    validate(answer.json);
    expect([row.operationId, validate.errors]).toEqual([row.operationId, null]);
  }
  expect(API).toBe('/admin/api/v1');
});
