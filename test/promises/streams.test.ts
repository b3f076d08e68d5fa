// P18 and P21: text arrives as it was however the bytes are cut, nothing follows the end, and a slow reader slows nobody else.
import { once } from 'node:events';
import { describe, expect, it, test } from 'vitest';
import { ask, isWhole } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import { isWholeRequest, rawServer } from '../helpers/raw-server.ts';
import { inPieces, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, opened, START, streamOf, TERMINAL, wholeOf } from '../gateway/wire.ts';

const TEXT = 'grüß 😀 "dich"\n\r\u2028 \\u0041 data: [DONE]\n\nevent: message_stop\n\n';

describe.each(['chat', 'messages'] as const)('P18: a %s provider', (speaks) => {
  it.each(['chat', 'messages'] as const)('towards a %s client', async (client) => {
    const upstream = await scriptedProvider();
    const server = await gateway({ config: { providers: { p: provider(upstream.url, speaks, ['m']) } } });
    const bytes = START[speaks] + content(speaks, TEXT) + FINISH[speaks] + TERMINAL[speaks];
    for (const size of [1, 3, 100_000]) {
      // What comes after the end is nobody's.
      upstream.play({ steps: [...inPieces(bytes, size), content(speaks, 'and more'), TERMINAL[speaks]] });
      const answer = await ask(server, { protocol: client, model: 'm', stream: true });
      expect(answer).toMatchObject({ status: 200, content: TEXT, error: undefined, broken: false });
      expect(isWhole(answer)).toBe(true);
      expect(answer.frames.filter((frame) => isWhole({ frames: [frame] }))).toHaveLength(1);
    }
    upstream.play({ body: wholeOf(speaks, TEXT) });
    expect(await ask(server, { protocol: client, model: 'm' })).toMatchObject({ content: TEXT });
  });
});

test.each(['chat', 'messages'] as const)(
  'P21: a slow %s reader holds its provider back, and nobody else',
  async (protocol) => {
    const PIECE = content('chat', 'x'.repeat(60_000));
    const PIECES = 1000;
    const piece = `${Buffer.byteLength(PIECE).toString(16)}\r\n${PIECE}\r\n`;
    const end = FINISH.chat + TERMINAL.chat;
    let taken = 0;
    const endless = await rawServer((socket, soFar) => {
      if (!isWholeRequest(soFar)) return;
      void (async () => {
        socket.write(opened(START.chat));
        for (; taken < PIECES; taken += 1) if (!socket.write(piece)) await once(socket, 'drain');
        socket.write(`${end.length.toString(16)}\r\n${end}\r\n0\r\n\r\n`);
      })();
    });
    const quick = await scriptedProvider();
    quick.playAlways({ steps: [streamOf('chat', 'hello')] });
    const server = await gateway({
      config: {
        providers: {
          endless: provider(endless.url, 'chat', ['m']),
          quick: provider(quick.url, 'chat', ['n']),
        },
      },
    });
    const client = await rawClient(server.url);
    client.socket.pause();
    const path = protocol === 'chat' ? '/v1/chat/completions' : '/v1/messages';
    const body = { ...hello('m', { stream: true }), max_tokens: 5 };
    client.send(rawRequest({ key: server.key, path }, body, ['connection: close']));

    // The provider gets rid of what the sockets hold, and of no more.
    let before = -1;
    while (taken === 0 || taken !== before) {
      before = taken;
      for (let at = 0; at < 10; at += 1)
        expect(await ask(server, { model: 'n', stream: true })).toMatchObject({ content: 'hello' });
    }
    expect(taken).toBeLessThan(PIECES / 2);

    client.socket.resume();
    const text = await client.closed;
    expect(taken).toBe(PIECES);
    expect(text.length).toBeGreaterThan(PIECES * 60_000);
    expect(text).toContain(protocol === 'chat' ? 'data: [DONE]' : 'event: message_stop');
  },
);
