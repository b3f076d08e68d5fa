// Names of clients in headers and errors: readable by every client, bounded, and never a fault of the gateway.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headerList, headerText } from '../../../src/gateway/reply/response-headers.ts';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { ask } from '../../helpers/ask.ts';
import { provider, startGateway, type TestGateway } from '../../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../../helpers/scripted-provider.ts';
import { wholeOf } from '../wire.ts';

const BOTH: readonly ProtocolName[] = ['chat', 'messages'];
const HALF = '\ud83d';

describe('a header', () => {
  it('of a list is bounded, and counts what is left out', () => {
    const names = Array.from({ length: 1000 }, (_, at) => `field_${at}`);
    const list = headerList(names);
    expect(list.length).toBeLessThan(2100);
    const [, told, more] = /^(.*),%E2%80%A6 and (\d+) more$/.exec(list) ?? [];
    expect((told ?? '').split(',').length + Number(more)).toBe(1000);
    expect(headerList(['x'.repeat(9000), 'b']).length).toBeLessThan(2100);
    expect(headerList(['b', 'c.d'])).toBe('b,c.d');
  });

  it('holds no half of a surrogate pair and no half of an escape', () => {
    expect(headerText(`a${HALF}b`)).toBe('a%EF%BF%BDb');
    for (const start of ['', 'x', 'xx', 'xxx']) {
      const text = headerText(start + 'ü'.repeat(2000));
      expect(text.length).toBeLessThanOrEqual(2048);
      expect(text.replace(start, '')).toMatch(/^(%[0-9A-F]{2})+$/);
    }
  });
});

let upstream: ScriptedProvider;
let gateway: TestGateway;

// Answers are played always: the gateway asks the provider `chat` for its models whenever it likes.
beforeAll(async () => {
  upstream = await startScriptedProvider();
  gateway = await startGateway({
    config: {
      providers: {
        chat: { base_url: `${upstream.url}/v1`, protocol: 'chat', api_key: 'k'.repeat(20) },
        messages: provider(`${upstream.url}/v1`, 'messages', ['m']),
      },
      tiers: { enterprise: 100_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

describe.each(BOTH)('a %s client', (client) => {
  it.each([
    ['of more than 256 characters', `chat/${'x'.repeat(252)}`],
    ['that holds half of a surrogate pair', `chat/x${HALF}`],
  ])('is refused a model name %s', async (_, model) => {
    const seen = await ask(gateway, { protocol: client, model });
    expect([seen.status, seen.error?.type]).toEqual([400, 'invalid_request_error']);
    expect(seen.error?.message).toContain('model');
  });

  it('learns of a long name of any script who answered', async () => {
    upstream.playAlways({ body: wholeOf('chat', 'hi') });
    const model = '模'.repeat(250);
    const seen = await ask(gateway, { protocol: client, model: `chat/${model}` });
    expect(seen.status).toBe(200);
    const header = seen.headers.get('x-gateway-model') ?? '';
    expect(header.length).toBeLessThanOrEqual(2048);
    expect(encodeURIComponent(model)).toContain(header);
  });

  it('gets a readable header for many or strange members that were left out', async () => {
    const speaks = client === 'chat' ? 'messages' : 'chat';
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`unknown_${at}`, 1]));
    const strange = { [`x${HALF}`]: 1, 'a\r\nb': 1, ü: 1, ['y'.repeat(100_000)]: 1 };
    for (const body of [many, strange]) {
      upstream.playAlways({ body: wholeOf(speaks, 'hi') });
      const seen = await ask(gateway, { protocol: client, model: `${speaks}/m`, body });
      expect(seen.status).toBe(200);
      const dropped = seen.headers.get('x-gateway-dropped') ?? '';
      expect(dropped).not.toBe('');
      expect(dropped.length).toBeLessThan(2100);
    }
    const line = gateway.log().trim().split('\n').at(-1) ?? '';
    expect(line.length).toBeLessThan(4000);
  });
});

it('betas of more than 8 KB are a 400', async () => {
  upstream.playAlways({ body: wholeOf('messages', 'hi') });
  const beta = (length: number) =>
    ask(gateway, {
      protocol: 'messages',
      model: 'messages/m',
      headers: { 'anthropic-beta': 'b'.repeat(length) },
    });
  expect((await beta(9000)).error?.message).toContain('anthropic-beta');
  expect((await beta(9000)).status).toBe(400);
  expect((await beta(8000)).status).toBe(200);
});
