// What a chat client can't be given of an answer is in the log, once each.
import { expect, it } from 'vitest';
import { ask } from '../../helpers/ask.ts';
import { gateway, provider, PROVIDER_KEY } from '../../helpers/gateway.ts';
import { scriptedProvider } from '../../helpers/scripted-provider.ts';
import { protocols } from '../../../src/protocols/registry.ts';
import { replay } from '../../../src/canonical/collect.ts';
import type { Reply } from '../../../src/canonical/reply.ts';
import { context } from '../../translation/pipeline.ts';

const REPLY: Reply = {
  id: 'msg_1',
  model: 'm',
  parts: [
    { type: 'reasoning', text: 'Hm.', signature: 'c2ln' },
    { type: 'reasoning', text: '', redacted: 'eA==' },
    { type: 'reasoning', text: '', redacted: 'eQ==' },
    {
      type: 'native',
      protocol: 'messages',
      kind: 'server_tool_use',
      value: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    },
    { type: 'text', text: 'hello' },
  ],
  stop: { reason: 'end' },
};
const LOST = ['a block of type server_tool_use'];

it.each([
  ['chat', LOST],
  ['messages', undefined],
] as const)('a %s client, whole and streamed', async (protocol, lost) => {
  const scripted = await scriptedProvider();
  const to = await gateway({
    config: { providers: { p: provider(`${scripted.url}/v1`, 'messages', ['m']) } },
  });
  const wire = protocols.messages;
  const encoder = wire.client.createStreamEncoder(context('messages'));
  scripted.play(
    { body: wire.client.encodeReply(REPLY, context('messages')) },
    {
      headers: { 'content-type': 'text/event-stream' },
      steps: [
        replay(REPLY)
          .map((event) => encoder.push(event))
          .join(''),
      ],
    },
  );
  for (const stream of [false, true]) {
    expect(await ask(to, { protocol, model: 'p/m', stream })).toMatchObject({
      status: 200,
      content: 'hello',
    });
  }
  const lines = (): Record<string, unknown>[] =>
    to
      .log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'answered');
  await expect.poll(lines).toHaveLength(2);
  expect(lines().map((line) => line.lost)).toEqual([lost, lost]);
});

it('a messages client whose signature came after its block was closed', async () => {
  const scripted = await scriptedProvider();
  const to = await gateway({ config: { providers: { p: provider(`${scripted.url}/v1`, 'chat', ['m']) } } });
  const item = { type: 'reasoning.text', index: 0 };
  const deltas = [
    { reasoning_details: [{ ...item, text: 'hm' }] },
    { content: 'hello' },
    { reasoning_details: [{ ...item, signature: 's' }] },
  ];
  const chunks = [...deltas, {}].map((delta, at) => ({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: at === deltas.length ? 'stop' : null }],
  }));
  scripted.play({
    headers: { 'content-type': 'text/event-stream' },
    steps: [
      [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''),
    ],
  });
  expect(await ask(to, { protocol: 'messages', model: 'p/m', stream: true })).toMatchObject({
    status: 200,
    content: 'hello',
  });
  await expect.poll(() => to.log()).toContain('"lost":["the signature of thinking, which came late"]');
});

it('words of a provider are few, short and without its key', async () => {
  const scripted = await scriptedProvider();
  const to = await gateway({
    config: { providers: { p: provider(`${scripted.url}/v1`, 'messages', ['m']) } },
  });
  const kinds = Array.from({ length: 100 }, (_, at) => `kind-${at}`);
  const types = [`${'x'.repeat(50)} ${PROVIDER_KEY}`, ...kinds];
  const content = [{ type: 'text', text: 'hello' }, ...types.map((type) => ({ type }))];
  scripted.play({
    body: { id: 'm', type: 'message', model: 'm', content, stop_reason: `why ${PROVIDER_KEY}`, usage: {} },
  });
  expect((await ask(to, { model: 'p/m' })).content).toBe('hello');
  await expect.poll(() => to.log()).toContain('"lost":[');
  expect(to.log()).toContain('kind-5');
  expect(to.log()).not.toContain('kind-50');
  expect(to.log()).not.toContain(PROVIDER_KEY.slice(0, 9));
});
