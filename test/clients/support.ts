// A gateway in front of a scripted provider of each protocol, and one answer as that provider sends it.
import { afterAll, beforeAll } from 'vitest';
import { replay } from '../../src/canonical/collect.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Reply, ReplyPart, StopReason } from '../../src/canonical/reply.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { signatureOfEncrypted } from '../../src/canonical/thinking-signature.ts';
import { createIds } from '../../src/ids.ts';
import type { ReplyContext } from '../../src/protocols/interface/answer.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type Script, type ScriptedProvider } from '../helpers/scripted-provider.ts';

export const ALL: readonly ProtocolName[] = PROTOCOL_NAMES;

/** `messages` is a model that thinks with a budget and signs its thinking. */
export const MODELS = {
  chat: 'chat/m',
  messages: 'messages/claude-sonnet-4-5',
  responses: 'responses/m',
} as const satisfies Record<ProtocolName, string>;

export interface Scene {
  upstream: ScriptedProvider;
  gateway: TestGateway;
}

export function providersAt(url: string): Record<string, object> {
  return Object.fromEntries(
    Object.values(MODELS).map((key) => {
      const [name = '', model = ''] = key.split('/');
      return [name, provider(`${url}/v1`, name as ProtocolName, [model])];
    }),
  );
}

/** For all tests of a file; its members are there when they run. */
export function scene(config: Record<string, unknown> = {}): Scene {
  const made: Partial<Scene> = {};
  beforeAll(async () => {
    made.upstream = await startScriptedProvider();
    const providers = providersAt(made.upstream.url);
    made.gateway = await startGateway({ config: { providers, tiers: { enterprise: 100_000 }, ...config } });
  });
  afterAll(async () => {
    await made.gateway?.stop();
    await made.upstream?.close();
  });
  return made as Scene;
}

export interface Answer {
  parts: ReplyPart[];
  stop?: StopReason;
}

let answers = 0;

const PREFIXES: Record<ProtocolName, string> = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' };

/** The answer in the provider's own words. */
export function scriptOf(speaks: ProtocolName, { parts, stop }: Answer, stream: boolean): Script {
  const hasCalls = parts.some(({ type }) => type === 'tool_call');
  const reply: Reply = {
    id: `${PREFIXES[speaks]}${++answers}`,
    model: 'm',
    parts,
    stop: stop ?? { reason: hasCalls ? 'tool_calls' : 'end' },
    usage: { input: 12, cacheRead: 6, output: 4, reasoning: 3 },
  };
  const context: ReplyContext = {
    ids: createIds(),
    created: 1_700_000_000,
    now: () => 1_700_000_000_000,
    request: { includeUsage: true },
    elapsed: () => 0,
    estimateInput: () => 7,
  };
  const { client } = protocols[speaks];
  // A responses provider keeps its answers.
  if (!stream) return { body: { ...client.encodeReply(reply, context), store: true } };
  const encoder = client.createStreamEncoder(context);
  const steps = replay(reply).map((event) => encoder.push(event).replace('"store":false', '"store":true'));
  return { steps: steps.filter((step) => step !== '') };
}

/** Thinking as a provider of the protocol seals it; chat providers don't. */
export function thought(speaks: ProtocolName, text: string, name = '1'): ReplyPart {
  if (speaks === 'chat') return { type: 'reasoning', text };
  const signature =
    speaks === 'messages'
      ? Buffer.from(`signature ${name}`).toString('base64')
      : signatureOfEncrypted({ id: '', content: `encrypted ${name}` });
  return { type: 'reasoning', text, signature };
}

/** What the provider was asked, the newest first. */
export function lastAsked({ upstream }: Scene, before = 0): JsonObject {
  return (upstream.requests.at(-1 - before)?.json ?? {}) as JsonObject;
}
