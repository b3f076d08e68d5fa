// P4, for whatever a body may hold: what the gateway decides by is what a provider reads in the bytes that it gets.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { PATHS } from '../helpers/ask.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { streamOf, wholeOf } from '../gateway/wire.ts';

type Protocol = keyof typeof PATHS;

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  upstream.answerBy(({ path, bytes }) => {
    const protocol = path.includes('responses')
      ? 'responses'
      : path.includes('messages')
        ? 'messages'
        : 'chat';
    return /"str(?:e|\\u0065)am" *: *true/.test(bytes.toString())
      ? { headers: { 'content-type': 'text/event-stream' }, body: streamOf(protocol, 'hello') }
      : { body: wholeOf(protocol, 'hello') };
  });
  gateway = await startGateway({
    config: {
      providers: {
        chat: provider(`${upstream.url}/v1`, 'chat', ['m', 'n']),
        messages: provider(`${upstream.url}/v1`, 'messages', ['o']),
        responses: provider(`${upstream.url}/v1`, 'responses', ['r']),
      },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});
afterEach(() => void vi.restoreAllMocks());

async function post(protocol: Protocol, body: string | Buffer, key = gateway.key) {
  const before = upstream.requests.length;
  const response = await fetch(gateway.url + PATHS[protocol], {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body,
  });
  const { status, headers } = response;
  const text = await response.text();
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  return {
    status,
    text,
    isStream,
    sent: upstream.requests.slice(before).map(({ bytes }) => bytes.toString()),
  };
}

const MESSAGES = '"messages":[{"role":"user","content":"x"}]';

describe('P4: a name with an escape is read as it is written, whatever names were read before', () => {
  it('a stored object stays the provider’s, and out of reach', async () => {
    const before = String.raw`{"model":"r","input":"x","z1":[],"convers\\u006":1}`;
    expect(await post('responses', before)).toMatchObject({ status: 200, sent: [before] });
    const hidden = String.raw`{"model":"r","input":"x","z1":1,"convers\u0061tion":"conv_of_another"}`;
    expect(await post('responses', hidden)).toMatchObject({
      status: 400,
      text: expect.stringContaining('conversation') as string,
      sent: [],
    });
  });

  it('a stream is seen to be one', async () => {
    await post('chat', String.raw`{"model":"m",${MESSAGES},"z2":[],"str\\u0":1}`);
    const hidden = String.raw`{"model":"m",${MESSAGES},"z2":1,"str\u0065am":true}`;
    expect(await post('chat', hidden)).toMatchObject({ status: 200, isStream: true });
  });
});

/** `{"model":"m",…}` with more members. */
const chat = (more: string): string => `{"model":"m",${MESSAGES}${more}}`;

describe('P4: the only model that a key may use is the one that a provider reads', () => {
  const names: [name: string, body: string | Buffer, status: number][] = [
    ['twice', chat(',"model":"n"'), 400],
    ['twice, the right one last', `{"model":"n",${MESSAGES},"model":"m"}`, 400],
    ['twice, once with an escape', chat(String.raw`,"mod\u0065l":"n"`), 400],
    ['with an escape, another', String.raw`{"mod\u0065l":"n",${MESSAGES}}`, 403],
    ['with an escape', String.raw`{"mod\u0065l":"\u006d",${MESSAGES}}`, 200],
    ['in other letters too, which servers in Go take for the same', chat(',"Model":"n"'), 400],
    [
      'in other letters that only Unicode folds',
      `{"ſtream":true,"stream":false,"model":"m",${MESSAGES}}`,
      400,
    ],
    ['in other letters alone', `{"MODEL":"n",${MESSAGES}}`, 400],
    ['in a prototype', `{"__proto__":{"model":"n"},"model":"m",${MESSAGES}}`, 200],
    ['in a prototype alone', `{"__proto__":{"model":"m"},${MESSAGES}}`, 400],
    ['below', chat(',"extra":{"model":"n"}'), 200],
    ['beside one that differs in more than case', chat(',"Models":"n","MODEL_":1'), 200],
    ['with half a surrogate pair', String.raw`{"model":"m\ud83d",${MESSAGES}}`, 400],
    ['whose name has half a surrogate pair', chat(String.raw`,"model\ud83d":"n"`), 200],
    ['whose name ends with NUL', chat(String.raw`,"model\u0000":"n"`), 200],
    ['that is a list', `{"model":["m","n"],${MESSAGES}}`, 400],
    ['behind a mark of byte order', Buffer.from(`\ufeff${chat('')}`), 400],
    ['in UTF-16', Buffer.from(chat(''), 'utf16le'), 400],
    ['beside invalid UTF-8', Buffer.from(chat(',"x":"\xff"'), 'latin1'), 400],
    ['in two bodies', `${chat('')}{"model":"n",${MESSAGES}}`, 400],
    ['before a NUL', `${chat('')}\0`, 400],
    ['in a comment', chat('/*,"model":"n"*/'), 400],
    ['behind a comma', chat(','), 400],
    ['beside a control character', chat(',"x":"\n","model":"n"'), 400],
  ];
  it.each(names)('%s', async (_, body, status) => {
    const key = await gateway.newKey({ account: 'a', models: ['m'] });
    const seen = await post('chat', body, key);
    expect([seen.status, seen.sent.length], seen.text).toEqual([status, status === 200 ? 1 : 0]);
    if (status === 200) expect(seen.sent).toEqual([body]);
  });
});

it('P4: says why names that differ in case alone are one', async () => {
  const [same, other] = [await post('chat', chat(',"model":"n"')), await post('chat', chat(',"Model":"n"'))];
  expect(same.text).toContain('the field \\"model\\" is given twice"');
  expect(other.text).toContain('the field \\"Model\\" is given twice, since some servers ignore');
});

describe('P4: numbers and sizes that readers read differently', () => {
  it.each([
    ['chat', chat(',"max_tokens":1e999'), 400],
    ['chat', chat(',"max_tokens":-0'), 400],
    ['chat', chat(',"max_tokens":1e2'), 200],
    ['chat', chat(',"max_tokens":01'), 400],
    ['chat', chat(',"max_tokens":NaN'), 400],
    ['chat', chat(',"max_tokens":12345678901234567890'), 200],
    ['chat', chat(',"n":1.0'), 200],
    ['messages', `{"model":"o","max_tokens":1e999,${MESSAGES}}`, 400],
    ['messages', `{"model":"o","max_tokens":-0,${MESSAGES}}`, 200],
    ['responses', '{"model":"r","input":"x","max_output_tokens":1e999}', 400],
  ] as const)('%s %s: %d', async (protocol, body, status) => {
    const seen = await post(protocol, body);
    expect(seen.status, seen.text).toBe(status);
    if (status === 200) expect(seen.sent).toEqual([body]);
  });
});

describe('P4: members within members count as a provider reads them: the last one', () => {
  const file = (members: string): string =>
    `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{${members}}}]}]}`;
  it.each([
    ['a file of another', file('"file_data":"data:application/pdf;base64,eA==","file_id":"f"'), 400],
    ['the same with an escape', file(String.raw`"file_data":"x","fil\u0065_id":"f"`), 400],
    [
      'named and taken back',
      file('"file_id":"f","file_id":"","file_data":"data:application/pdf;base64,eA=="'),
      200,
    ],
    ['taken back and named', file('"file_id":"","file_id":"f"'), 400],
    [
      'in a part whose type is given twice',
      `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","type":"file","file":{"file_id":"f"}}]}]}`,
      400,
    ],
    [
      'in a message whose content is given twice',
      `{"model":"m","messages":[{"role":"user","content":"x","c\\u006fntent":[{"type":"f\\u0069le","file":{"file_id":"f"}}]}]}`,
      400,
    ],
  ])('%s', async (_, body, status) => {
    const seen = await post('chat', body);
    expect(seen.status, seen.text).toBe(status);
    if (status === 400) expect([seen.text.includes('file_id'), seen.sent]).toEqual([true, []]);
    else expect(seen.sent).toEqual([body]);
  });
});

describe('P4: whether it is a stream', () => {
  it.each([
    ['true', chat(',"stream":true'), true],
    ['with an escape', chat(String.raw`,"str\u0065am":true`), true],
    ['in a large body', chat(String.raw`,"str\u0065am":true,"x":"${'x'.repeat(10_000)}"`), true],
    ['below', chat(',"x":{"stream":1}'), false],
    ['null', chat(',"stream":null'), false],
  ])('%s', async (_, body, isStream) => {
    const seen = await post('chat', body);
    expect(seen).toMatchObject({ status: 200, isStream });
    const added = isStream ? ',"stream_options":{"include_usage":true}}' : '}';
    expect(seen.sent).toEqual([body.slice(0, -1) + added]);
  });
});
