// Telemetry of signed-in clients over real sockets: taken from them alone, in both forms of OTLP; only counts of work are kept, and only
// where the owner wants it.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { conversationNamed } from '../../src/conversations/identity.ts';
import { NO_WORK, type Work } from '../../src/store/holds/work.ts';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { signedIn } from './support.ts';

const SESSION = '0b8f1a52-7f0e-4a53-9d0a-1f1f5f0c2a10';
const ON = { config: { claude: { telemetry: 'on' } } };
const PATHS = ['/v1/metrics', '/v1/logs', '/v1/traces'];

interface Count {
  metric: string;
  value: number;
  type?: string;
  /** Nanoseconds; given: the count is a sum since then. */
  since?: number;
  session?: string;
}

const commits = (value: number, more: Partial<Count> = {}): Count => ({
  ...{ metric: 'claude_code.commit.count', value },
  ...more,
});
const lines = (type: string, value: number, more: Partial<Count> = {}): Count => ({
  ...{ metric: 'claude_code.lines_of_code.count', value, type },
  ...more,
});

const attributesOf = ({ type, session = SESSION }: Count): [string, string][] => [
  ['session.id', session],
  ...(type === undefined ? [] : [['type', type] as [string, string]]),
];

function asJson(...counts: Count[]): string {
  const metrics = counts.map((count) => ({
    name: count.metric,
    sum: {
      aggregationTemporality: count.since === undefined ? 1 : 2,
      isMonotonic: true,
      dataPoints: [
        {
          asDouble: count.value,
          startTimeUnixNano: String(count.since ?? 1),
          attributes: attributesOf(count).map(([key, value]) => ({ key, value: { stringValue: value } })),
        },
      ],
    },
  }));
  return JSON.stringify({ resourceMetrics: [{ resource: {}, scopeMetrics: [{ scope: {}, metrics }] }] });
}

/** A field of protobuf: a number is a varint, bytes are counted. */
function field(number: number, value: number | string | Buffer): Buffer {
  if (typeof value === 'number') return Buffer.from([number * 8, value]);
  const bytes = Buffer.from(value);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length % 128) + 128, bytes.length >> 7];
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
}

function eightBytes(number: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(9, number * 8 + 1);
  bytes.writeBigInt64LE(value, 1);
  return bytes;
}

function asProtobuf(...counts: Count[]): Buffer {
  const metrics = counts.map((count) => {
    const attributes = attributesOf(count).map(([key, value]) =>
      field(7, Buffer.concat([field(1, key), field(2, field(1, value))])),
    );
    const start = eightBytes(2, BigInt(count.since ?? 1));
    const point = Buffer.concat([...attributes, start, eightBytes(6, BigInt(count.value)), field(8, 0)]);
    const sum = [field(1, point), field(2, count.since === undefined ? 1 : 2), field(3, 1)];
    return field(2, Buffer.concat([field(1, count.metric), field(3, '1'), field(7, Buffer.concat(sum))]));
  });
  const scope = field(2, Buffer.concat([field(1, field(1, 'scope')), ...metrics]));
  return field(1, Buffer.concat([field(1, ''), scope]));
}

const FORMS: readonly (readonly [string, (...counts: Count[]) => string | Buffer])[] = [
  ['JSON', asJson],
  ['protobuf', asProtobuf],
];

async function send(
  { url }: TestGateway,
  key: string,
  body: string | Buffer,
  { path = '/v1/metrics', method = 'POST', headers = {} } = {},
): Promise<Response> {
  const type = typeof body === 'string' ? 'application/json' : 'application/x-protobuf';
  return fetch(url + path, {
    method,
    headers: {
      'content-type': type,
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(method === 'POST' && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  });
}

async function workOf({ store }: TestGateway, account: string, session = SESSION): Promise<Work> {
  const id = (await store.findAccount(account))?.id ?? 0;
  return store.workOf(id, conversationNamed(id, session));
}

const nativeKey = (gw: TestGateway, account = 'anna'): Promise<string> =>
  gw.newKey({ account, native: true });

it('is taken from a client that signed in by a code: 200, in the form that it sent', async () => {
  const gw = await gateway({ config: { sign_in: 'on', claude: { telemetry: 'on' } } });
  const token = String((await signedIn(gw))['access_token']);
  for (const path of PATHS) {
    const json = await send(gw, token, '{}', { path });
    expect([json.status, json.headers.get('content-type'), await json.text()]).toEqual([
      200,
      'application/json',
      '{}',
    ]);
    const proto = await send(gw, token, Buffer.alloc(0), { path });
    expect([proto.status, proto.headers.get('content-type'), await proto.text()]).toEqual([
      200,
      'application/x-protobuf',
      '',
    ]);
  }
  await send(gw, token, asJson(commits(1)));
  expect(await workOf(gw, 'laptop')).toEqual({ ...NO_WORK, commits: 1 });
});

it('is of no path for everybody else: 404 for other keys and methods, 401 without a key', async () => {
  const gw = await gateway(ON);
  const native = await nativeKey(gw);
  for (const path of PATHS) {
    const other = await send(gw, gw.key, asJson(commits(1)), { path });
    expect(other.status).toBe(404);
    expect(await other.text()).toContain(`unknown path ${path}`);
    expect((await send(gw, native, '', { path, method: 'GET' })).status).toBe(404);
    for (const key of ['', 'sk-gw-nothing']) expect((await send(gw, key, '{}', { path })).status).toBe(401);
  }
  expect(await workOf(gw, 'test')).toEqual(NO_WORK);
});

it('is not kept unless telemetry is on, and is not even read', async () => {
  const gw = await gateway();
  const key = await nativeKey(gw);
  for (const body of [asJson(commits(1)), asProtobuf(commits(1)), 'no json'])
    expect((await send(gw, key, body)).status).toBe(200);
  expect(await workOf(gw, 'anna')).toEqual(NO_WORK);
});

it.each(FORMS)(
  'adds counts of commits, pull requests and lines to the conversation, as %s',
  async (_, form) => {
    const gw = await gateway(ON);
    const key = await nativeKey(gw);
    const counts = [
      commits(1),
      { metric: 'claude_code.pull_request.count', value: 2 },
      lines('added', 30),
      lines('removed', 4),
      lines('other', 9),
      { metric: 'claude_code.token.usage', value: 99 },
    ];
    for (let sent = 0; sent < 2; sent += 1) expect((await send(gw, key, form(...counts))).status).toBe(200);
    expect(await workOf(gw, 'anna')).toEqual({
      ...{ commits: 2, pullRequests: 4, linesAdded: 60, linesRemoved: 8 },
    });
  },
);

it.each(FORMS)('counts sums since a start once, and a new start anew, as %s', async (_, form) => {
  const gw = await gateway(ON);
  const key = await nativeKey(gw);
  for (const value of [1, 3, 3, 2]) await send(gw, key, form(commits(value, { since: 100 })));
  await send(gw, key, form(commits(5, { since: 200 }), lines('added', 7, { since: 200 })));
  expect(await workOf(gw, 'anna')).toEqual({ ...NO_WORK, commits: 8, linesAdded: 7 });
});

it('joins the conversation of the session’s requests, and of no other account', async () => {
  const gw = await gateway(ON);
  const key = await nativeKey(gw);
  const answer = await fetch(`${gw.url}/v1/messages`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      'x-claude-code-session-id': SESSION,
    },
    body: JSON.stringify({
      ...{ model: 'sim/echo', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] },
    }),
  });
  await answer.text();
  await send(gw, key, asJson(commits(1)));
  await send(gw, await nativeKey(gw, 'bob'), asJson(commits(5)));
  await expect.poll(() => gw.store.conversationParts({ limit: 1 })).toHaveLength(1);
  const [part] = await gw.store.conversationParts({ limit: 1 });
  const { accountId = 0, conversation = '' } = part ?? {};
  expect(await gw.store.workOf(accountId, conversation)).toEqual({ ...NO_WORK, commits: 1 });
  expect(await workOf(gw, 'bob')).toEqual({ ...NO_WORK, commits: 5 });
});

it('reads a compressed body, and none that is too large', async () => {
  const gw = await gateway(ON);
  const key = await nativeKey(gw);
  const headers = { 'content-encoding': 'gzip' };
  expect((await send(gw, key, gzipSync(asProtobuf(commits(1))), { headers })).status).toBe(200);
  expect(await workOf(gw, 'anna')).toEqual({ ...NO_WORK, commits: 1 });
  const bomb = gzipSync(Buffer.alloc(5 * 1024 * 1024));
  expect((await send(gw, key, bomb, { headers })).status).toBe(413);
});

it('keeps nothing of a body that is malformed: 400, or what it does not know is passed over', async () => {
  const gw = await gateway(ON);
  const key = await nativeKey(gw);
  const whole = asProtobuf(commits(1));
  // Without its last bracket: some versions of Node read deep JSON, others do not.
  const deep = `{"key":"a","value":${'{"kvlistValue":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
  const bad = [
    asJson(commits(1)).toString().replace('"attributes":[', `"attributes":[${deep},`),
    ...['', '[]', 'null', '{"resourceMetrics":', '['.repeat(100_000)],
    ...[whole.subarray(0, -1), Buffer.alloc(99, 255), Buffer.from([10, 255, 255, 255, 255, 255, 127, 0])],
  ];
  for (const body of bad) expect((await send(gw, key, body)).status).toBe(400);
  const passed = [
    ...['{"resourceMetrics":{}}', '{"resourceMetrics":[1,null,{"scopeMetrics":[{"metrics":[{"name":7}]}]}]}'],
    asJson(commits(-1), commits(1e12), commits(1, { session: '' }), commits(1, { session: 'x'.repeat(999) })),
    asJson({ metric: 'constructor', value: 1 }, { metric: '__proto__', value: 1 }),
  ];
  for (const body of passed) expect((await send(gw, key, body)).status).toBe(200);
  expect(await workOf(gw, 'anna')).toEqual(NO_WORK);
});

it('writes no more than 64 rows for a body, whatever it names', async () => {
  const gw = await gateway(ON);
  const key = await nativeKey(gw);
  await send(gw, key, asJson(...Array.from({ length: 200 }, (__, at) => commits(1, { session: `s${at}` }))));
  let rows = 0;
  for await (const batch of gw.store.exportRecords())
    rows += batch.filter(({ type }) => type === 'work').length;
  expect(rows).toBe(64);
});

it('keeps counts and a hash alone: no id of a session, no path, no address', async () => {
  const gw = await gateway(ON);
  await send(gw, await nativeKey(gw), asJson(commits(1, { since: 5 })));
  const kept: unknown[] = [];
  for await (const batch of gw.store.exportRecords())
    kept.push(...batch.filter(({ type }) => type === 'work'));
  expect(kept).toMatchObject([{ commits: 1, series: expect.stringMatching(/^[0-9a-f]{24}$/) as string }]);
  expect(JSON.stringify(kept)).not.toContain(SESSION);
  expect(JSON.stringify(kept)).not.toContain(createHash('sha256').update(SESSION).digest('hex'));
});
