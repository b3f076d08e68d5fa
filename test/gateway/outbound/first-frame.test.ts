// When a stream begins for the client: with the first content, or with keep-alives alone where a provider is silent for long.
import { describe, expect, it } from 'vitest';
import { framesOf, isWhole, readAll, send } from '../../helpers/ask.ts';
import { manualClock } from '../../helpers/clock.ts';
import { gateway, provider } from '../../helpers/gateway.ts';
import { CUT, gate, scriptedProvider } from '../../helpers/scripted-provider.ts';
import { content, errorBody, FINISH, PING, START, TERMINAL, wholeOf } from '../wire.ts';

const KEEP_ALIVE = {
  chat: /^: .*\n\n$/,
  messages: /^event: ping\ndata: \{"type": ?"ping"\}\n\n$/,
};

async function place() {
  const [first, second] = [await scriptedProvider(), await scriptedProvider()];
  const clock = manualClock();
  const server = await gateway({
    clock,
    config: {
      providers: {
        'first-chat': provider(first.url, 'chat', ['chat']),
        'first-messages': provider(first.url, 'messages', ['messages']),
        'second-chat': provider(second.url, 'chat', ['chat']),
        'second-messages': provider(second.url, 'messages', ['messages']),
      },
    },
  });
  return { first, second, clock, server };
}

/** What a stream says, piece by piece, and all that is left of it. */
function reader(response: Response) {
  const body = response.body?.getReader();
  const decoder = new TextDecoder();
  const next = async (): Promise<string | undefined> => {
    const piece: { value?: Uint8Array } | undefined = await body?.read();
    return piece?.value === undefined ? undefined : decoder.decode(piece.value, { stream: true });
  };
  return {
    next,
    async rest() {
      let text = '';
      for (let piece = await next(); piece !== undefined; piece = await next()) text += piece;
      return text;
    },
  };
}

describe.each(['chat', 'messages'] as const)('a stream of %s', (protocol) => {
  const question = { protocol, model: protocol, stream: true };

  it('opens after 10 s of silence with a keep-alive, and has one every 10 s', async () => {
    const { first, clock, server } = await place();
    const answer = gate();
    const more = gate();
    first.play({
      steps: [
        START[protocol],
        PING[protocol],
        answer.opened,
        content(protocol, 'hello'),
        more.opened,
        FINISH[protocol],
        TERMINAL[protocol],
      ],
    });
    const asking = send(server, question);
    await first.next();
    clock.advance(10_000);
    const response = await asking;
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-provider')).toBe(`first-${protocol}`);
    expect(response.headers.get('x-gateway-attempts')).toBe('1');
    const heard = reader(response);
    expect(await heard.next()).toMatch(KEEP_ALIVE[protocol]);
    clock.advance(10_000);
    expect(await heard.next()).toMatch(KEEP_ALIVE[protocol]);
    answer.open();
    const begun = (await heard.next()) ?? '';
    expect(begun).toContain('hello');
    // What was held comes with it, in order.
    if (protocol === 'messages') expect(framesOf(begun)[0]?.event).toBe('message_start');
    clock.advance(9999);
    clock.advance(1);
    expect(await heard.next()).toMatch(KEEP_ALIVE[protocol]);
    more.open();
    expect(isWhole({ frames: framesOf(await heard.rest()) })).toBe(true);
  });

  it('that was opened so has its errors as events', async () => {
    const { first, second, clock, server } = await place();
    const [fail, failToo] = [gate(), gate()];
    first.play({ steps: [fail.opened, CUT] });
    second.play({ steps: [failToo.opened, CUT] });
    const asking = send(server, question);
    await first.next();
    clock.advance(10_000);
    const response = await asking;
    fail.open();
    await second.next();
    failToo.open();
    const frames = framesOf((await readAll(response)).text);
    const last = JSON.parse(frames.at(-1)?.data ?? '') as { error: { type: string } };
    expect(last.error.type).toBe(protocol === 'chat' ? 'upstream_error' : 'api_error');
    expect(isWhole({ frames })).toBe(false);
  });

  it('that was opened so may still be answered by the next target', async () => {
    const { first, second, clock, server } = await place();
    const fail = gate();
    first.play({ steps: [START[protocol], fail.opened, CUT] });
    const text = START[protocol] + content(protocol, 'hello') + FINISH[protocol] + TERMINAL[protocol];
    second.play({ steps: [text] });
    const asking = send(server, question);
    await first.next();
    clock.advance(10_000);
    const response = await asking;
    // The headers name the target in flight at that moment, the log the one that answered.
    expect(response.headers.get('x-gateway-provider')).toBe(`first-${protocol}`);
    fail.open();
    const frames = framesOf(await reader(response).rest());
    expect(isWhole({ frames })).toBe(true);
    expect(frames.filter(({ data }) => data.includes('hello'))).toHaveLength(1);
    expect(frames.filter(({ event }) => event === 'message_start').length).toBeLessThanOrEqual(1);
    expect(server.log()).toContain(`"target":"second-${protocol}/${protocol}","stream":true,"status":200`);
  });

  it('is not opened by what is worth nothing: a refusal after it is still a status', async () => {
    const { first, clock, server } = await place();
    const fail = gate();
    first.play({ steps: [START[protocol], PING[protocol], fail.opened, CUT] });
    const asking = send(server, { ...question, model: `first-${protocol}/${protocol}` });
    await first.next();
    clock.advance(9999);
    fail.open();
    expect((await asking).status).toBe(502);
  });

  it('whole answers are never opened early', async () => {
    const { first, clock, server } = await place();
    const answer = gate();
    const body = JSON.stringify(wholeOf(protocol, 'hello'));
    first.play({ headers: { 'content-type': 'application/json' }, steps: [answer.opened, body] });
    const asking = send(server, { ...question, stream: false });
    await first.next();
    clock.advance(60_000);
    answer.open();
    const response = await asking;
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.text()).toBe(body);
  });

  it('opened with keep-alives: a refusal of every target is an error event of its kind', async () => {
    const { first, clock, server } = await place();
    const refuse = gate();
    first.play({
      headers: { 'content-type': 'application/json' },
      steps: [refuse.opened, JSON.stringify(errorBody(protocol, 'overloaded_error'))],
    });
    const asking = send(server, { ...question, model: `first-${protocol}/${protocol}` });
    await first.next();
    clock.advance(10_000);
    const response = await asking;
    refuse.open();
    expect((await readAll(response)).text).toContain('overloaded_error');
  });
});
