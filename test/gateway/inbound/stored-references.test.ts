// A store that cannot be read costs thinking alone, unless the request cannot be understood without it.
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { readRequest } from '../../../src/gateway/inbound/read-request.ts';
import { resolveReferences } from '../../../src/gateway/inbound/stored-references.ts';
import { createLog } from '../../../src/log.ts';
import { stored } from '../../../src/protocols/responses/stored.ts';
import { responses } from '../../../src/protocols/responses/index.ts';
import type { SealedItems } from '../../../src/store/sealed-items.ts';

const items = { find: () => Promise.reject(new Error('away')) } as unknown as SealedItems;
const log = createLog({ format: 'off', stream: { write: () => true } });
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [] };
const QUESTION = { role: 'user', content: 'Look.' };

function resolve(body: JsonObject): ReturnType<typeof resolveReferences> {
  const inbound = readRequest(responses, Buffer.from(JSON.stringify({ model: 'm', ...body })));
  return resolveReferences(inbound, stored, 1, { items, log });
}

it('reasoning without its content goes on without it', async () => {
  const references = await resolve({ input: [QUESTION, REASONING] });
  expect(references?.translated.value.input).toEqual([QUESTION, REASONING]);
});

it('a request that names an answer is refused as unavailable', async () => {
  const body = { input: [QUESTION, REASONING], previous_response_id: 'resp_1' };
  await expect(resolve(body)).rejects.toMatchObject({ kind: 'unavailable' });
});
