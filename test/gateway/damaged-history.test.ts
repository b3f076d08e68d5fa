// A history with damaged arguments, over sockets: translated ones are mended, relayed ones where the provider refuses them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startStrictProvider, type StrictProvider, type StrictRequest } from '../helpers/strict-provider.ts';
import { WORDED } from '../protocols/refusals/wordings.ts';
import { objectOf, withCall } from '../translation/damaged.ts';

const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
} as const satisfies Record<ProtocolName, string>;
const CUT = '{"path":"a.txt","content":"hello wor';
const MENDED = { path: 'a.txt', content: 'hello wor' };

let strict: StrictProvider;
let to: TestGateway;
/** New in each test: nothing was learnt of it. */
let model = '';
let made = 0;

beforeAll(async () => {
  strict = await startStrictProvider();
  const open = (protocol: string, more: object = {}): object => ({
    base_url: strict.url,
    protocol,
    api_key: 'sk-provider-secret-0123456789',
    ...more,
  });
  const providers = {
    ...Object.fromEntries(PROTOCOL_NAMES.map((name) => [name, open(name)])),
    known: open('chat', { flags: { strict_arguments: true } }),
    exact: open('chat', { relay: 'exact' }),
  };
  to = await startGateway({ config: { providers } });
});

afterAll(async () => {
  await to.stop();
  await strict.close();
});

beforeEach(() => {
  model = `m${made++}`;
});

async function send(from: ProtocolName, target: string, args: JsonObject[''], by = to) {
  const response = await fetch(by.url + PATHS[from], {
    method: 'POST',
    headers: { authorization: `Bearer ${by.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...withCall(from, args ?? null), model: `${target}/${model}` }),
  });
  return { status: response.status, text: await response.text() };
}

/** Refuses what it cannot parse. */
function refusing(name: ProtocolName, wording: string) {
  const worded = WORDED.find((other) => other.name === wording);
  if (worded === undefined) throw new Error(`no such wording: ${wording}`);
  return ({ body }: StrictRequest) => {
    try {
      objectOf(name, body);
      return undefined;
    } catch {
      return worded;
    }
  };
}

const CROSSINGS = PROTOCOL_NAMES.flatMap((from) =>
  PROTOCOL_NAMES.filter((name) => name !== from).map((name) => [from, name] as const),
);

it.each(CROSSINGS)('%s to %s: one request, with an object', async (from, name) => {
  strict.reset(refusing(name, 'vLLM, damaged arguments'));
  expect(await send(from, name, CUT)).toMatchObject({ status: 200 });
  expect(strict.requests).toHaveLength(1);
  expect(objectOf(name, strict.requests[0]?.body ?? {})).toEqual(MENDED);
});

describe('a relay', () => {
  it.each<[ProtocolName, string]>([
    ['chat', 'MiniMax, damaged arguments'],
    ['chat', 'DashScope, damaged arguments'],
    ['chat', 'vLLM, damaged arguments'],
    ['chat', 'a template, arguments that are a text'],
    ['chat', 'llama.cpp, damaged arguments'],
    ['chat', 'Ollama, damaged arguments'],
    ['chat', 'Kimi, damaged arguments'],
    ['messages', 'Anthropic, an input that is a text'],
    ['messages', 'Bedrock, an input that is a text'],
    ['responses', 'vLLM, damaged arguments'],
  ])('%s: %s: two requests the first time, one afterwards', async (name, wording) => {
    strict.reset(refusing(name, wording));
    expect(await send(name, name, CUT)).toMatchObject({ status: 200 });
    expect(strict.requests).toHaveLength(2);
    expect(objectOf(name, strict.requests[1]?.body ?? {})).toEqual(MENDED);
    expect(await send(name, name, CUT)).toMatchObject({ status: 200 });
    expect(strict.requests).toHaveLength(3);
  });

  it.each<[ProtocolName, string]>([
    ['chat', 'OpenAI, arguments that are an object'],
    ['responses', 'OpenAI, arguments of an item that are an object'],
  ])('%s: an object in place of its text', async (name, wording) => {
    strict.reset(refusing(name, wording));
    expect(await send(name, name, MENDED)).toMatchObject({ status: 200 });
    expect(strict.requests).toHaveLength(2);
    expect(objectOf(name, strict.requests[1]?.body ?? {})).toEqual(MENDED);
  });

  it('leaves the bytes where the provider takes them', async () => {
    strict.reset(() => undefined);
    expect(await send('chat', 'chat', CUT)).toMatchObject({ status: 200 });
    expect(JSON.stringify(strict.requests[0]?.body)).toContain(JSON.stringify(CUT));
  });

  it('is mended at once where the provider is known to refuse them', async () => {
    strict.reset(refusing('chat', 'MiniMax, damaged arguments'));
    expect(await send('chat', 'known', CUT)).toMatchObject({ status: 200 });
    expect(strict.requests).toHaveLength(1);
  });

  it("with `relay: exact` stays, and the refusal is the client's", async () => {
    strict.reset(refusing('chat', 'MiniMax, damaged arguments'));
    const reply = await send('chat', 'exact', CUT);
    expect(reply.status).toBe(400);
    expect(reply.text).toContain('invalid function arguments json string');
    expect(strict.requests).toHaveLength(1);
  });

  it('with `strict: true` learns nothing from a refusal', async () => {
    const lossless = await startGateway({
      config: { strict: true, providers: { chat: { base_url: strict.url, protocol: 'chat', api_key: 'k' } } },
    });
    strict.reset(refusing('chat', 'MiniMax, damaged arguments'));
    expect((await send('chat', 'chat', CUT, lossless)).status).toBe(400);
    expect(strict.requests).toHaveLength(1);
    await lossless.stop();
  });

  it("in order, refused in such words: the refusal is the client's, and nothing is learnt", async () => {
    strict.reset(() => WORDED.find(({ name }) => name === 'vLLM, damaged arguments'));
    expect((await send('chat', 'chat', '{"path":"a"}')).status).toBe(400);
    expect(strict.requests).toHaveLength(1);
    strict.reset(() => undefined);
    await send('chat', 'chat', CUT);
    expect(JSON.stringify(strict.requests[0]?.body)).toContain(JSON.stringify(CUT));
  });
});
