// What a provider told of usage is recorded, however its stream ends.
import { expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, send } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { CUT, scriptedProvider, type Step } from '../helpers/scripted-provider.ts';
import { content, START } from '../gateway/wire.ts';

async function started(last: Step) {
  const scripted = await scriptedProvider();
  scripted.play({
    headers: { 'content-type': 'text/event-stream' },
    steps: [START.messages + content('messages', 'half'), last],
  });
  return gateway({ config: { providers: { p: provider(`${scripted.url}/v1`, 'messages', ['m']) } } });
}

const CLIENTS: ProtocolName[] = ['chat', 'messages'];

it.each(CLIENTS)('where it broke off (%s client)', async (protocol) => {
  const to = await started(CUT);
  const seen = await ask(to, { protocol, model: 'p/m', stream: true });
  expect(seen.error).toBeDefined();
  await expect.poll(() => to.log()).toMatch(/"input":5,"output":1\b/);
});

it.each(CLIENTS)('where the client left (%s client)', async (protocol) => {
  const to = await started(new Promise(() => undefined));
  const leaving = new AbortController();
  const response = await send(to, { protocol, model: 'p/m', stream: true, signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await expect.poll(() => to.log()).toMatch(/"input":5,"output":1\b/);
});
