// The built gateway before strict stubs of many families, over sockets: what a provider refuses never reaches it, whole or streamed, from
// clients of all protocols, and what was changed for that is named.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { startHome, type Home, type Server } from '../helpers/process.ts';
import { startStrictSim, type StrictSim } from '../helpers/strict-sim.ts';
import { INTENTS } from '../models/intents.ts';
import { STUBS } from '../models/matrix.ts';
import { KINDS, type Stub } from '../models/stubs/rule.ts';

/** Each kind of refusal stands in the rules of some of them. */
const FAMILIES = [
  'openai/gpt-5.6-sol',
  'anthropic/claude-opus-5-5',
  'gemini/gemini-3.8-flash',
  'mistral/mistral-medium-latest',
  'deepseek/deepseek-v4-pro',
  'xai/grok-4.5',
  'moonshot/kimi-k2.6',
  'zai/glm-5.3',
  'dashscope/qwen3.8-max',
  'minimax/MiniMax-M3',
  'groq/qwen/qwen3.6-27b',
  'cerebras/gpt-oss-120b',
  'fireworks/accounts/fireworks/models/glm-5p3',
  'lmstudio/qwen3-8b',
  'llamacpp/qwen3.8-27b',
];
/** One of each kind of request; those that a stub cannot take in any form are left out. */
const ASKS = [
  'late system',
  'tools required',
  'tools named',
  'thinking max',
  'thinking off',
  'json_schema',
  'sampling',
  'several texts',
  'a tool loop',
  'much output',
  'a union at the root',
];
const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
} as const satisfies Record<ProtocolName, string>;

const nameOf = ({ provider, model }: Stub): string => `${provider}/${model}`;
const stubs = STUBS.filter((stub) => FAMILIES.includes(nameOf(stub)));

let strict: StrictSim;
let shell: Home;
let remove: () => Promise<void>;
let server: Server;
let key = '';

beforeAll(async () => {
  strict = await startStrictSim(stubs);
  ({ shell, remove } = startHome());
  const names = [...new Set(stubs.map(({ provider }) => provider))];
  const providers = names.map((name) => [
    name,
    { base_url: strict.urlOf(name), api_key: 'sk-0123456789abcdef' },
  ]);
  shell.configure({ providers: Object.fromEntries(providers) as JsonObject, tiers: { enterprise: 100_000 } });
  ({ key } = await shell.json<{ key: string }>('keys', 'create', '--account', 'a', '--tier', 'enterprise'));
  server = await shell.serve();
});

afterAll(async () => {
  await remove();
  await strict.close();
});

async function send(protocol: ProtocolName, body: JsonObject) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const reply = await fetch(server.url + PATHS[protocol], {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const text = await reply.text();
  return {
    status: reply.status,
    id: reply.headers.get('x-request-id') ?? '',
    dropped: reply.headers.get('x-gateway-dropped'),
    text,
  };
}

const DONE: Readonly<Record<ProtocolName, string>> = {
  chat: 'data: [DONE]',
  messages: 'event: message_stop',
  responses: 'event: response.completed',
};

it('holds at least twelve families, and every kind of refusal', () => {
  expect(new Set(stubs.map(({ provider }) => provider)).size).toBeGreaterThanOrEqual(12);
  expect(stubs).toHaveLength(FAMILIES.length);
  for (const kind of KINDS)
    expect(stubs.some(({ rules }) => rules.some((rule) => rule.kind === kind))).toBe(true);
});

/** No form of the relayed bytes avoids it: turns cannot be joined in them. */
const REFUSED: ReadonlySet<string> = new Set(['lmstudio/qwen3-8b, chat: late system']);
/** What the gateway itself sets, whatever the target. */
const ITS_OWN: ReadonlySet<string> = new Set(['model', 'stream_options', 'prompt_cache_key']);

/** The client's members that the provider got otherwise. */
function changedIn(sent: JsonObject, got: JsonObject): string[] {
  const names = Object.keys(sent).filter((name) => !ITS_OWN.has(name));
  return names.filter((name) => JSON.stringify(sent[name]) !== JSON.stringify(got[name]));
}

/** What the log says of a request. */
function noted(id: string): string {
  const line =
    server
      .stderr()
      .split('\n')
      .find((text) => text.includes(id) && text.includes('"status"')) ?? '{}';
  const { dropped = '', changed = '' } = JSON.parse(line) as Record<string, unknown>;
  return JSON.stringify([dropped, changed]);
}

describe.each(stubs.map((stub) => [nameOf(stub), stub] as const))('%s', (model, { lacks = [] }) => {
  it.each(PROTOCOL_NAMES)(
    'refuses nothing that it gets from a client of %s, and what was changed is named',
    async (protocol) => {
      const faults: string[] = [];
      for (const [at, asks] of ASKS.entries()) {
        const given = INTENTS[protocol][asks];
        const name = `${model}, ${protocol}: ${asks}`;
        if (given === undefined || REFUSED.has(name)) continue;
        if (lacks.includes('tools') && given.tools !== undefined) continue;
        const body: JsonObject = { ...given, model, stream: at % 2 === 1 };
        const before = strict.requests.length;
        const { status, id, text } = await send(protocol, body);
        if (status !== 200) faults.push(`${name}: ${text.slice(0, 300)}`);
        if (body.stream === true && !text.includes(DONE[protocol])) faults.push(`${name}: cut`);
        const [got, ...more] = strict.requests.slice(before);
        // No refusal was needed to learn from.
        if (got === undefined || more.length > 0) faults.push(`${name}: ${more.length + 1} requests`);
        const isRelay = got?.path === PATHS[protocol].slice('/v1'.length);
        const changed = isRelay ? changedIn(body, got.body) : [];
        if (changed.length > 0) await server.logged(id);
        for (const member of changed)
          if (!noted(id).includes(member)) faults.push(`${name}: ${member} is not named`);
      }
      expect(faults).toEqual([]);
    },
  );
});
