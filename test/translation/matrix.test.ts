// Every case of test/fixtures/cases with every client protocol and every provider protocol, whole and streamed: what the
// provider gets, and what the client gets, is what the fixtures say in each one's own protocol.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import {
  CASE_NAMES,
  comparable,
  expectedRequest,
  meaning,
  readCase,
  readJsonCase,
  streamedReply,
} from './cases.ts';

let provider: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  provider = await startScriptedProvider();
  const one = (protocol: ProtocolName): object => ({
    protocol,
    base_url: provider.url,
    flags: {
      max_tokens_field: 'max_completion_tokens',
      cache_marks: protocol === 'responses' ? 'prompt_cache_breakpoint' : 'cache_control',
    },
    prompt_cache: 'off',
    models: [{ id: 'crossing', upstream: 'upstream-model', max_output: 64_000 }],
  });
  gateway = await startGateway({
    config: {
      providers: Object.fromEntries(PROTOCOL_NAMES.map((name) => [`by-${name}`, one(name)])),
      tiers: { enterprise: 100_000 },
    },
  });
});

afterAll(async () => {
  await gateway.stop();
  await provider.close();
});

async function ask(client: ProtocolName, model: string, body: JsonObject): Promise<Response> {
  const response = await fetch(`${gateway.url}/v1${protocols[client].provider.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, model }),
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

describe.each(CASE_NAMES)('%s', (name) => {
  for (const client of PROTOCOL_NAMES) {
    for (const to of PROTOCOL_NAMES) {
      const model = `by-${to}/crossing`;

      it(`${client} client, ${to} provider, whole`, async () => {
        provider.play({
          headers: { 'content-type': 'application/json' },
          body: readCase(name, `${to}.response.json`),
        });
        const asked = provider.next();
        const response = await ask(client, model, readJsonCase(name, `${client}.request.json`));
        const text = await response.text();
        const { json } = await asked;
        expect(comparable(json, to)).toEqual(comparable(expectedRequest(name, client, to, false), to));
        if (client === to) expect(text).toBe(readCase(name, `${to}.response.json`));
        const expected = protocols[client].provider.decodeReply(
          readJsonCase(name, `${client}.response.json`),
        );
        expect(meaning(protocols[client].provider.decodeReply(JSON.parse(text)))).toEqual(meaning(expected));
      });

      it(`${client} client, ${to} provider, streamed`, async () => {
        const sse = readCase(name, `${to}.sse`);
        provider.play({ headers: { 'content-type': 'text/event-stream' }, steps: [sse] });
        const asked = provider.next();
        const body = { ...readJsonCase(name, `${client}.request.json`), stream: true };
        const options = client === 'chat' ? { stream_options: { include_usage: true } } : {};
        const response = await ask(client, model, { ...body, ...options });
        const text = await response.text();
        const { json } = await asked;
        expect(comparable(json, to)).toEqual(comparable(expectedRequest(name, client, to, true), to));
        if (client === to) expect(text).toBe(sse);
        const expected = protocols[client].provider.decodeReply(
          readJsonCase(name, `${client}.response.json`),
        );
        expect(meaning(streamedReply(client, text))).toEqual(meaning(expected));
      });
    }
  }
});
