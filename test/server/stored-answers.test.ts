// Stored answers over HTTP: read, listed and deleted by their own account alone; and the words for what is not there.
import { beforeAll, afterAll, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createLog } from '../../src/log.ts';
import { scanMembers } from '../../src/protocols/json/splice.ts';
import { responses } from '../../src/protocols/responses/index.ts';
import { createSealedItems } from '../../src/store/items/sealed-items.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
const ANSWER = { id: 'resp_1', object: 'response', status: 'completed', output: [MESSAGE] };

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({});
});
afterAll(() => gateway.stop());

async function store(id: string): Promise<void> {
  const account = await gateway.store.findAccount('test');
  const items = createSealedItems({
    store: gateway.store,
    keepMs: () => 60_000,
    clock: systemClock,
    log: createLog({ format: 'off', stream: { write: () => true } }),
  });
  const bytes = Buffer.from(JSON.stringify({ model: 'm', input: 'Look.' }));
  const request = { bytes, members: scanMembers(bytes, Infinity) };
  const records = responses.client.stored?.toStore({ request, answer: { ...ANSWER, id } }) ?? [];
  items.put(
    account?.id ?? 0,
    records.map((record) => ({ kind: 'answer', ...record })),
  );
  expect(await items.flush()).toBe(0);
}

async function ask(
  method: string,
  path: string,
  key = gateway.key,
): Promise<{ status: number; json: unknown }> {
  const answer = await fetch(`${gateway.url}/v1/responses/${path}`, {
    method,
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: answer.status, json: await answer.json() };
}

const NOT_FOUND = {
  error: { type: 'invalid_request_error', message: "Response with id 'resp_1' not found." },
};

it('the events of an answer are not stored: a request for its stream is refused with the reason', async () => {
  await store('resp_1');
  expect(await ask('GET', 'resp_1?stream=true')).toMatchObject({
    status: 400,
    json: { error: { type: 'invalid_request_error', param: 'stream' } },
  });
  expect((await ask('GET', 'resp_1?stream=false')).status).toBe(200);
});

it('an answer and its input are read until they are deleted', async () => {
  await store('resp_1');
  expect(await ask('GET', 'resp_1')).toEqual({ status: 200, json: ANSWER });
  expect(await ask('GET', 'resp_1/input_items')).toMatchObject({
    status: 200,
    json: { object: 'list', data: [{ role: 'user', content: [{ type: 'input_text', text: 'Look.' }] }] },
  });
  const deleted = { id: 'resp_1', object: 'response', deleted: true };
  expect(await ask('DELETE', 'resp_1')).toEqual({ status: 200, json: deleted });
  expect(await ask('GET', 'resp_1')).toMatchObject({ status: 404, json: NOT_FOUND });
  expect(await ask('GET', 'resp_1/input_items')).toMatchObject({ status: 404, json: NOT_FOUND });
  expect(await ask('DELETE', 'resp_1')).toMatchObject({ status: 404, json: NOT_FOUND });
});

it('another account, a key without the permission and no key get nothing', async () => {
  await store('resp_2');
  const other = await gateway.newKey({ account: 'other', permissions: ['responses'] });
  expect(await ask('GET', 'resp_2', other)).toMatchObject({ status: 404 });
  expect(await ask('DELETE', 'resp_2', other)).toMatchObject({ status: 404 });
  const chatOnly = await gateway.newKey({ permissions: ['chat'] });
  expect(await ask('GET', 'resp_2', chatOnly)).toMatchObject({ status: 403 });
  expect(await ask('GET', 'resp_2', 'wrong')).toMatchObject({ status: 401 });
  expect(await ask('GET', 'resp_2')).toMatchObject({ status: 200 });
});

it.each([
  { method: 'GET', path: 'msg_1', status: 404 },
  { method: 'GET', path: 'resp_3/cancel', status: 404 },
  { method: 'POST', path: 'resp_3/cancel', status: 404 },
  { method: 'PUT', path: 'resp_3', status: 405 },
  { method: 'DELETE', path: 'resp_3/input_items', status: 405 },
  { method: 'GET', path: 'resp_2/input_items?limit=0', status: 400 },
])('$method $path is a $status', async ({ method, path, status }) => {
  await store('resp_2');
  expect((await ask(method, path)).status).toBe(status);
});
