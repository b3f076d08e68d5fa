// A provider whose connection breaks at any byte of its stream: the client is told, in its own protocol, and has what arrived.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { ask, isWhole, type Seen } from '../helpers/ask.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { isWholeRequest, startRawServer, type RawServer } from '../helpers/raw-server.ts';
import { closed, content, FINISH, http, START, TERMINAL } from './wire.ts';

const ALL = PROTOCOL_NAMES;
const PIECES = ['Hé\n', '"🎉"'];
const TEXT = PIECES.join('');

function stream(protocol: ProtocolName): string {
  const pieces = PIECES.map((text) => content(protocol, text)).join('');
  return START[protocol] + pieces + FINISH[protocol] + TERMINAL[protocol];
}

/** How the bytes are put into HTTP, and how the connection ends after them. */
type Framing = 'chunked' | 'length' | 'unframed';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';

function framed(bytes: Buffer, total: number, framing: Framing): Buffer {
  if (framing === 'unframed') return Buffer.concat([Buffer.from(`${HEAD}connection: close\r\n\r\n`), bytes]);
  if (framing === 'length')
    return Buffer.concat([Buffer.from(`${HEAD}content-length: ${total}\r\n\r\n`), bytes]);
  const chunk = bytes.length === 0 ? '' : `${bytes.length.toString(16)}\r\n`;
  return Buffer.concat([
    Buffer.from(`${HEAD}transfer-encoding: chunked\r\n\r\n${chunk}`),
    bytes,
    Buffer.from(bytes.length === 0 ? '' : '\r\n'),
  ]);
}

interface Broken {
  protocol: ProtocolName;
  at: number;
  framing: Framing;
}

/** The model's name tells the provider what to do: `chat-12-chunked`. */
function nameOf({ protocol, at, framing }: Broken): string {
  return `${protocol}-${at}-${framing}`;
}

function brokenOf(request: string): Broken {
  const [, protocol = '', at = '', framing = ''] =
    /"(chat|messages|responses)-(\d+)-(\w+)"/.exec(request) ?? [];
  return { protocol: protocol as ProtocolName, at: Number(at), framing: framing as Framing };
}

/** What the provider says instead, where a test wants it. */
const says = new Map<string, string>();

let server: RawServer;
let gateway: TestGateway;

beforeAll(async () => {
  server = await startRawServer((socket, soFar) => {
    if (!isWholeRequest(soFar)) return;
    const own = says.get(/"model":"([^"]*)"/.exec(soFar)?.[1] ?? '');
    if (own !== undefined) {
      socket.end(own);
      return;
    }
    const { protocol, at, framing } = brokenOf(soFar);
    const bytes = Buffer.from(stream(protocol));
    const part = framed(bytes.subarray(0, at), bytes.length, framing);
    // The end of an unframed body is the end of the connection, which only then says nothing of a fault.
    if (framing === 'unframed') socket.end(part);
    else socket.write(part, () => (at % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()));
  });
  const one = (protocol: ProtocolName): object => {
    const { models: _all, ...rest } = provider(server.url, protocol, []) as { models: unknown };
    return rest;
  };
  gateway = await startGateway({
    config: {
      providers: Object.fromEntries(ALL.map((name) => [name, one(name)])),
      tiers: { enterprise: 1_000_000 },
    },
  });
});

afterAll(async () => {
  await gateway.stop();
  await server.close();
});

/** All at once, but not more than the machine likes. */
async function inBatches<T>(
  items: readonly T[],
  size: number,
  each: (item: T) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += size) await Promise.all(items.slice(at, at + size).map(each));
}

function checkBroken(seen: Seen, arrived: string, where: string): void {
  expect(isWhole(seen), where).toBe(false);
  expect(seen.error, where).toBeDefined();
  if (seen.status !== 200) {
    // Nothing was delivered, so that nothing had to be.
    expect([502, arrived], where).toEqual([seen.status, '']);
    return;
  }
  // Clients of responses know the event, or miss the terminal one.
  const ofResponses = seen.frames.some(({ event }) => event.startsWith('response.'));
  expect(seen.broken, where).toBe(!ofResponses);
  expect(seen.content, where).toBe(arrived);
  const frames = seen.frames.filter(({ data }) => data !== '[DONE]');
  expect(frames.at(-1)?.data, where).toContain('"error"');
  // Some of these clients read the one, some the other.
  if (frames[0]?.event === 'response.created')
    expect(
      frames.slice(-2).map(({ event }) => event),
      where,
    ).toEqual(['error', 'response.failed']);
}

type Kind = 'letter' | 'sign' | 'line end' | 'inside a character';

function kindOf(byte: number): Kind {
  if (byte >= 0x80) return 'inside a character';
  if (byte === 0x0a) return 'line end';
  return /\w/.test(String.fromCharCode(byte)) ? 'letter' : 'sign';
}

/**
 * One break between each two kinds of byte in each line of a stream: a break further inside a word, or between two other members
 * of the same frame, is the same break again. Every place around a line's end or a character beyond ASCII counts.
 */
function breakPoints(bytes: Buffer): number[] {
  const kinds = [...bytes].map(kindOf);
  const seen = new Set<string>();
  let line = 0;
  return kinds.flatMap((kind, at) => {
    const around = [kinds[at - 2], kinds[at - 1], kind];
    if (kinds[at - 1] === 'line end') line += 1;
    const isEdge = around.includes('line end') || around.includes('inside a character');
    const name = `${line}: ${isEdge ? at : around.slice(1).join(', ')}`;
    if (seen.has(name)) return [];
    seen.add(name);
    return [at];
  });
}

/** The pieces of text whose frames are whole in the first `at` bytes; of the last one `blank` bytes may be missing. */
function arrivedIn(protocol: ProtocolName, at: number, blank: number): string {
  let size = Buffer.byteLength(START[protocol]);
  let text = '';
  for (const piece of PIECES) {
    size += Buffer.byteLength(content(protocol, piece));
    if (size - blank <= at) text += piece;
  }
  return text;
}

function isFirstTranslation(client: ProtocolName, speaks: ProtocolName): boolean {
  return client === ALL.find((name) => name !== speaks);
}

describe.each(ALL)('a %s client', (client) => {
  describe.each(ALL)('of a provider that speaks %s', (speaks) => {
    const whole = Buffer.byteLength(stream(speaks));
    const terminal = whole - Buffer.byteLength(TERMINAL[speaks]);

    it.each<Framing>(['chunked', 'length', 'unframed'])(
      'gets an error after a break at any kind of byte (%s), and the text that arrived',
      async (framing) => {
        // The other framings differ only in how the body ends. Two clients are translated for: each has every second place.
        const step = (framing === 'chunked' ? 1 : 4) * (client === speaks ? 1 : 2);
        const first = isFirstTranslation(client, speaks) ? step / 2 : 0;
        const places = breakPoints(Buffer.from(stream(speaks))).filter((_, at) => at % step === first);
        await inBatches(places, 24, async (at) => {
          const model = `${speaks}/${nameOf({ protocol: speaks, at, framing })}`;
          const seen = await ask(gateway, { protocol: client, model, stream: true });
          // The data of the terminal frame may be whole before its blank line is.
          if (at > terminal && isWhole(seen)) expect([seen.content, at > whole - 3]).toEqual([TEXT, true]);
          else
            checkBroken(seen, arrivedIn(speaks, at, framing === 'unframed' ? 2 : 0), `${model} ${seen.text}`);
        });
      },
      60_000,
    );

    it.each([
      ['chunks', (text: string) => closed(text)],
      ['a length', (text: string) => http(200, text, { 'content-type': 'text/event-stream' })],
    ])('has a whole answer where the body ends properly after the finish (%s)', async (_name, body) => {
      const text = stream(speaks).slice(0, -TERMINAL[speaks].length);
      const whole: [string, string] = ['whole-without-blank-line', stream(speaks).slice(0, -2)];
      const finished: [string, string][] = [
        ['finished', text],
        ['no-last-line', text.slice(0, -1)],
        ['no-blank-line', text.slice(0, -2)],
      ];
      // Its terminal event is the finish.
      for (const [name, bytes] of speaks === 'responses' ? [whole] : [...finished, whole]) {
        says.set(name, body(bytes));
        const seen = await ask(gateway, { protocol: client, model: `${speaks}/${name}`, stream: true });
        expect([name, seen.status, seen.content, seen.error]).toEqual([name, 200, TEXT, undefined]);
        // Nothing is invented on a relay; a translation writes its own end.
        if (client !== speaks || name.startsWith('whole')) expect(isWhole(seen), name).toBe(true);
      }
    });

    it('gets an error where the body ends properly, but before the finish', async () => {
      const name = 'unfinished';
      const half = START[speaks] + content(speaks, 'Hé');
      for (const bytes of [
        half,
        ...(speaks === 'responses' ? [half + FINISH[speaks]] : []),
        half + content(speaks, 'lost').slice(0, -9),
        half + content(speaks, 'last').slice(0, -2),
      ]) {
        says.set(name, closed(bytes));
        const seen = await ask(gateway, { protocol: client, model: `${speaks}/${name}`, stream: true });
        checkBroken(seen, bytes.includes('last') ? 'Hélast' : 'Hé', seen.text);
      }
    });
  });
});
