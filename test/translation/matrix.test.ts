// Every case of test/fixtures/cases with every client protocol and every provider protocol, whole and streamed: what the
// provider gets, and what the client gets, is what the fixtures say in each one's own protocol.
import { readFileSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCollector } from '../../src/canonical/collect.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Reply } from '../../src/canonical/reply.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { createIds } from '../../src/ids.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { createSplitter } from '../../src/protocols/sse/splitter.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';

const CASES = new URL('../fixtures/cases/', import.meta.url);
const NAMES = readdirSync(CASES).sort();

function read(name: string, file: string): string {
  return readFileSync(new URL(`${name}/${file}`, CASES), 'utf8');
}

function readJson(name: string, file: string): JsonObject {
  return JSON.parse(read(name, file)) as JsonObject;
}

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

/** What an answer means, without what is each answer's own: ids, the time, and what a protocol cannot carry. */
/** A refusal that the provider does not explain in the stream is marked by a sentence of the gateway. */
const isOfTheModel = (part: Reply['parts'][number]): boolean =>
  !(part.type === 'text' && part.text === 'The model refused to answer.');

function meaning(reply: Reply): object {
  const parts = reply.parts.filter(isOfTheModel).map((part) => {
    if (part.type === 'tool_call')
      return { name: part.name, arguments: JSON.parse(part.arguments) as unknown };
    if (part.type === 'reasoning') return { thought: part.text };
    return part.type === 'text' ? { text: part.text, refusal: part.refusal ?? false } : part;
  });
  // A refusal is text in one protocol and a member of its own in the other.
  const plain = parts
    .map((part) => ('refusal' in part ? { text: part.text } : part))
    .filter((part) => !('text' in part && part.text === ''));
  const {
    input,
    output,
    reasoning = 0,
    cacheRead = 0,
    cacheWrite = 0,
  } = reply.usage ?? { input: -1, output: -1 };
  return {
    parts: plain,
    stop: reply.stop.reason,
    usage: { input, output, reasoning, cacheRead, cacheWrite },
    model: reply.model,
  };
}

function collected(client: ProtocolName, text: string): Reply {
  const decoder = protocols[client].provider.createStreamDecoder({
    ids: createIds(),
    traits: DEFAULT_TRAITS,
  });
  const splitter = createSplitter({ maxFrame: 1 << 20 });
  const collector = createCollector();
  const frames = [...splitter.push(Buffer.from(text)), ...splitter.finish()];
  for (const event of [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish(true)])
    collector.push(event);
  const result = collector.result();
  if (!('reply' in result)) throw new Error(JSON.stringify(result));
  return result.reply;
}

/** The request as the provider of that protocol should get it. */
function expectedRequest(name: string, client: ProtocolName, to: ProtocolName, stream: boolean): JsonObject {
  const body: JsonObject = { ...readJson(name, `${to}.request.json`), model: 'upstream-model' };
  // Its clients cannot ask for stop sequences.
  if (client === 'responses') for (const member of ['stop', 'stop_sequences']) delete body[member];
  if (stream) {
    body.stream = true;
    if (to === 'chat') body.stream_options = { include_usage: true };
  }
  return body;
}

describe.each(NAMES)('%s', (name) => {
  for (const client of PROTOCOL_NAMES) {
    for (const to of PROTOCOL_NAMES) {
      const model = `by-${to}/crossing`;

      it(`${client} client, ${to} provider, whole`, async () => {
        provider.play({
          headers: { 'content-type': 'application/json' },
          body: read(name, `${to}.response.json`),
        });
        const asked = provider.next();
        const response = await ask(client, model, readJson(name, `${client}.request.json`));
        const text = await response.text();
        const { json } = await asked;
        expect(comparable(json, to)).toEqual(comparable(expectedRequest(name, client, to, false), to));
        if (client === to) expect(text).toBe(read(name, `${to}.response.json`));
        const expected = protocols[client].provider.decodeReply(readJson(name, `${client}.response.json`));
        expect(meaning(protocols[client].provider.decodeReply(JSON.parse(text)))).toEqual(meaning(expected));
      });

      it(`${client} client, ${to} provider, streamed`, async () => {
        const sse = read(name, `${to}.sse`);
        provider.play({ headers: { 'content-type': 'text/event-stream' }, steps: [sse] });
        const asked = provider.next();
        const body = { ...readJson(name, `${client}.request.json`), stream: true };
        const options = client === 'chat' ? { stream_options: { include_usage: true } } : {};
        const response = await ask(client, model, { ...body, ...options });
        const text = await response.text();
        const { json } = await asked;
        expect(comparable(json, to)).toEqual(comparable(expectedRequest(name, client, to, true), to));
        if (client === to) expect(text).toBe(sse);
        const expected = protocols[client].provider.decodeReply(readJson(name, `${client}.response.json`));
        expect(meaning(collected(client, text))).toEqual(meaning(expected));
      });
    }
  }
});

/** A text and a list of one text are the same, and so are a request's fields in any order. What an echoed answer bears is no loss. */
function comparable(value: unknown, to: ProtocolName): object {
  const { native, tools, ...request } = protocols[to].client.decodeRequest(value as JsonObject);
  return {
    ...request,
    // Not strict is what tools of chat and messages are anyway.
    tools: tools?.map((tool) => ({
      ...tool,
      strict: (tool.type === 'function' && tool.strict) || undefined,
    })),
    native: native.filter(({ fate }) => fate !== 'quiet'),
  };
}
