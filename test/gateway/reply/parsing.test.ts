// How often a frame is parsed on its way to the client: once at most, whoever looks at it before the commit and after.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../../src/canonical/traits.ts';
import type { BuiltRequest } from '../../../src/gateway/outbound/build-request.ts';
import { readUntilCommit, type StreamOpening } from '../../../src/gateway/outbound/first-frame.ts';
import type { FrameReader, FrameSource } from '../../../src/gateway/outbound/provider-reply.ts';
import type { FrameWriter } from '../../../src/gateway/reply/pump.ts';
import { createRelay } from '../../../src/gateway/reply/relay.ts';
import { createTranslation } from '../../../src/gateway/reply/translate.ts';
import { protocols } from '../../../src/protocols/registry.ts';
import { createSplitter, type Frame } from '../../../src/protocols/sse/splitter.ts';
import { BOTH, context, ids, NOTHING } from '../../translation/pipeline.ts';
import { content, FINISH, PING, START, TERMINAL } from '../wire.ts';

afterEach(() => vi.restoreAllMocks());

function framesOf(text: string): Frame[] {
  return createSplitter({ maxFrame: 1 << 20 }).push(Buffer.from(text));
}

/** Counts the calls of JSON.parse for exactly this text. */
function countParses(): (text: string) => number {
  const parse = vi.spyOn(JSON, 'parse');
  return (text) => parse.mock.calls.filter(([given]) => given === text).length;
}

/** Gives each of `chunks` to the reader that waits for a commit. */
async function open(client: ProtocolName, provider: ProtocolName, chunks: readonly Frame[][]) {
  const readers: FrameReader[] = [];
  const ignore = (): void => undefined;
  const read = (reader: FrameReader): void => void readers.push(reader);
  const source: FrameSource = {
    read,
    hold: ignore,
    pause: ignore,
    resume: ignore,
    abort: ignore,
    release: ignore,
  };
  const target = { traits: DEFAULT_TRAITS, provider: { headers: {} } };
  const crossing = client !== provider;
  const request = { protocol: protocols[provider], target, crossing, restore: NOTHING } as BuiltRequest;
  const opening = readUntilCommit(source, { request, usageAsked: false, ids });
  for (const chunk of chunks) readers[0]?.frames(chunk);
  return { request, opening: await opening };
}

function writerOf(client: ProtocolName, request: BuiltRequest, opening: StreamOpening): FrameWriter {
  const side = protocols[client].client;
  if (opening.kind === 'relayed') return createRelay(opening, side);
  if (opening.kind === 'stepped') throw new Error('nobody asked for events');
  return createTranslation(opening, request, side, context(client));
}

const PAIRS = BOTH.flatMap((client) => BOTH.map((provider) => [client, provider] as const));

describe.each(PAIRS)('for a client of %s, a provider of %s', (client, provider) => {
  const before = [START[provider], PING[provider], content(provider, 'one') + content(provider, 'two')];
  const after = content(provider, 'three') + FINISH[provider] + TERMINAL[provider];

  it('no frame is parsed twice', async () => {
    const chunks = before.map(framesOf);
    const behind = framesOf(after);
    const parses = countParses();
    const { request, opening } = await open(client, provider, chunks);
    const writer = writerOf(client, request, opening);
    writer.start();
    expect(writer.move(behind)).toMatchObject({ complete: true });
    for (const { data } of [...chunks.flat(), ...behind]) {
      if (data !== '') expect(parses(data), data).toBeLessThanOrEqual(1);
    }
    expect(parses(framesOf(content(provider, 'one'))[0]?.data ?? '')).toBe(1);
  });

  it('what came before the commit and behind it is written once, in order', async () => {
    const { request, opening } = await open(client, provider, before.map(framesOf));
    const writer = writerOf(client, request, opening);
    const moved = [writer.start(), writer.move(framesOf(after))];
    const text = Buffer.concat(moved.map(({ bytes }) => Buffer.from(bytes))).toString();
    const words = [...text.matchAll(/"(one|two|three)"/g)].map(([, word]) => word);
    expect(words).toEqual(['one', 'two', 'three']);
    if (client === provider) expect(text).toBe(before.join('') + after);
  });
});

it.each(BOTH)('a relay of %s parses no frame of content behind the first', async (protocol) => {
  const { request, opening } = await open(protocol, protocol, [
    framesOf(START[protocol]),
    framesOf(content(protocol, 'one')),
  ]);
  const writer = writerOf(protocol, request, opening);
  writer.start();
  const behind = framesOf(content(protocol, 'two') + PING[protocol] + content(protocol, 'three'));
  const parse = vi.spyOn(JSON, 'parse');
  writer.move(behind);
  expect(parse).not.toHaveBeenCalled();
});

it('usage that only the gateway asked for is dropped before the commit as well', async () => {
  const usage = 'data: {"id":"x","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n';
  const { request, opening } = await open('chat', 'chat', [
    framesOf(START.chat + usage),
    framesOf(usage + content('chat', 'one')),
  ]);
  const writer = writerOf('chat', request, opening);
  expect(writer.start().bytes.toString()).toBe(START.chat + content('chat', 'one'));
  expect(writer.usage()).toEqual({ input: 5, output: 2 });
});
