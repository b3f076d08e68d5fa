// A gateway before one scripted provider, which it knows as a provider of each protocol.
import type { Reply } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { provider as configured, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { context } from './pipeline.ts';
import { replay } from '../../src/canonical/collect.ts';

export interface Both {
  upstream: ScriptedProvider;
  gateway: TestGateway;
  close: () => Promise<void>;
}

export async function startBoth(): Promise<Both> {
  const upstream = await startScriptedProvider();
  const one = (protocol: ProtocolName, more: object = {}): object => ({
    ...configured(upstream.url, protocol, ['m', { id: 'formless', structured_output: false }]),
    ...more,
  });
  const gateway = await startGateway({
    config: {
      providers: {
        chat: one('chat', { flags: { max_stop: 1 } }),
        messages: one('messages', { flags: { max_stop: 1 } }),
        'no-urls': one('chat', { flags: { image_url: false } }),
      },
      routes: { 'urls-last': ['no-urls/m', 'messages/m'] },
      tiers: { enterprise: 100_000 },
    },
  });
  return {
    upstream,
    gateway,
    async close() {
      await gateway.stop();
      await upstream.close();
    },
  };
}

export const MODES = ['whole', 'stream'] as const;
export type Mode = (typeof MODES)[number];

/** The provider's answer in its own protocol, in pieces of one event where it streams. */
export function playReply(
  upstream: ScriptedProvider,
  speaks: ProtocolName,
  mode: Mode,
  reply: Partial<Reply>,
): void {
  const full: Reply = { id: '1', model: 'm', parts: [], stop: { reason: 'end' }, ...reply };
  if (mode === 'whole') {
    upstream.play({ body: protocols[speaks].client.encodeReply(full, context(speaks)) });
    return;
  }
  const encoder = protocols[speaks].client.createStreamEncoder(context(speaks));
  upstream.play({
    steps: replay(full)
      .map((event) => encoder.push(event))
      .filter((text) => text !== ''),
  });
}

export const USER = { role: 'user', content: 'go' };
