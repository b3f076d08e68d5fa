// What comes before the content of a stream without being any of it: passed over, or a failure of the target, never an answer.
import { describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, isWhole } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, streamOf, TERMINAL } from './wire.ts';

const CLIENTS: ProtocolName[] = ['chat', 'messages'];

/** What a client sees of `stream`; where its provider fails, another answers "second". */
async function see(client: ProtocolName, speaks: ProtocolName, stream: string, route: boolean) {
  const [first, second] = [await scriptedProvider(), await scriptedProvider()];
  first.play({ headers: { 'content-type': 'text/event-stream' }, steps: [stream] });
  second.play({ headers: { 'content-type': 'text/event-stream' }, steps: [streamOf(speaks, 'second')] });
  const to = await gateway({
    config: {
      providers: {
        first: provider(`${first.url}/v1`, speaks, ['m']),
        second: provider(`${second.url}/v1`, speaks, ['m']),
      },
    },
  });
  return ask(to, { protocol: client, model: route ? 'm' : 'first/m', stream: true });
}

describe.each(CLIENTS)('a %s client', (client) => {
  it.each([
    ['a ping that is no JSON', 'event: ping\ndata: keepalive\n\n'],
    ['an unknown event that is no JSON', 'event: vendor.meta\ndata: not json\n\n'],
    ['an unknown event', 'event: vendor.meta\ndata: {"type":"vendor.meta"}\n\n'],
    ['the end of a chat stream', 'data: [DONE]\n\n'],
  ])('is answered by a messages provider that sends %s', async (_, stray) => {
    const stream = stray + START.messages + stray + content('messages', 'hello') + FINISH.messages;
    const seen = await see(client, 'messages', stream + TERMINAL.messages, false);
    expect(seen).toMatchObject({ status: 200, content: 'hello', error: undefined });
    expect(isWhole(seen)).toBe(true);
  });

  it('is answered by the next target if the first sends only an unknown event', async () => {
    const stray = 'event: vendor.meta\ndata: {"type":"vendor.meta"}\n\n';
    const seen = await see(client, 'messages', stray + 'event: error\ndata: busy\n\n', true);
    expect(seen).toMatchObject({ status: 200, content: 'second' });
  });

  it.each(CLIENTS)('is answered by the next target where %s has an error without data', async (speaks) => {
    const seen = await see(client, speaks, START[speaks] + 'event: error\n\n', true);
    expect(seen).toMatchObject({ status: 200, content: 'second' });
    const last = await see(client, speaks, START[speaks] + 'event: error\n\n', false);
    expect(last.status).toBe(502);
  });

  it.each(CLIENTS)('gets an error of %s that came without data or a last blank line', async (speaks) => {
    const begun = START[speaks] + content(speaks, 'hello') + FINISH[speaks];
    const seen = await see(client, speaks, `${begun}event: error\n`, false);
    expect(seen).toMatchObject({ status: 200, content: 'hello' });
    expect(seen.error).toBeDefined();
  });

  it.each(CLIENTS)(
    'is answered by the next target where %s ends nothing in an unknown word',
    async (speaks) => {
      const stream = (START[speaks] + FINISH[speaks] + TERMINAL[speaks]).replace(
        /"(stop|end_turn)"/,
        '"strange"',
      );
      expect(await see(client, speaks, stream, true)).toMatchObject({ status: 200, content: 'second' });
      expect((await see(client, speaks, stream, false)).status).toBe(502);
    },
  );
});
