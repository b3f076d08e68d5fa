// What a request refers to counts where its target is chosen. A store that cannot be read costs thinking alone, unless the request
// cannot be understood without it.
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import type { Config } from '../../../src/config/config.ts';
import { ownArrival, readRequest } from '../../../src/gateway/inbound/read-request.ts';
import { resolveReferences } from '../../../src/gateway/inbound/stored-references.ts';
import { createLog } from '../../../src/log.ts';
import { stored } from '../../../src/protocols/responses/stored/index.ts';
import { responses } from '../../../src/protocols/responses/index.ts';
import type { SealedItems } from '../../../src/store/items/sealed-items.ts';
import { gateway, provider } from '../../helpers/gateway.ts';
import { scriptedProvider } from '../../helpers/scripted-provider.ts';

const items = { find: () => Promise.reject(new Error('away')) } as unknown as SealedItems;
const log = createLog({ format: 'off', stream: { write: () => true } });
const CONFIG = {
  limits: { maxBody: 1e6, maxValues: 1e6 },
  responses: { store: true },
} as unknown as Config;
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [] };
const QUESTION = { role: 'user', content: 'Look.' };

function resolve(body: JsonObject): ReturnType<typeof resolveReferences> {
  const inbound = readRequest(ownArrival(responses), Buffer.from(JSON.stringify({ model: 'm', ...body })));
  return resolveReferences(inbound, stored, 1, { items, log, current: { config: CONFIG } });
}

it('reasoning without its content goes on without it', async () => {
  const references = await resolve({ input: [QUESTION, REASONING] });
  expect(references?.translated.value.input).toEqual([QUESTION, REASONING]);
});

it('a request that names an answer is refused as unavailable', async () => {
  const body = { input: [QUESTION, REASONING], previous_response_id: 'resp_1' };
  await expect(resolve(body)).rejects.toMatchObject({ kind: 'unavailable' });
});

const IMAGE = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };

it.each<[string, JsonObject[] | string]>([
  ['an image', [{ role: 'user', content: [IMAGE] }]],
  ['more than its window', 'word '.repeat(2000)],
])('a target that cannot take %s of the earlier turns is passed over', async (_, input) => {
  const scripted = await scriptedProvider();
  const message = { role: 'assistant', content: 'Yes.' };
  scripted.playAlways({ body: { choices: [{ index: 0, message, finish_reason: 'stop' }] } });
  const small = { id: 'small', vision: false, context_window: 1000 };
  const providers = {
    a: provider(`${scripted.url}/v1`, 'chat', [small]),
    b: provider(`${scripted.url}/v1`, 'chat', ['big']),
  };
  const { url, key } = await gateway({ config: { providers, routes: { m: ['a/small', 'b/big'] } } });
  const ask = (body: object): Promise<Response> =>
    fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'm', ...body }),
    });
  const { id } = (await (await ask({ model: 'b/big', input })).json()) as { id: string };
  expect((await ask({ input: 'Hi.' })).headers.get('x-gateway-provider')).toBe('a');
  const next = await ask({ input: 'And now?', previous_response_id: id });
  expect(next.headers.get('x-gateway-provider')).toBe('b');
});
