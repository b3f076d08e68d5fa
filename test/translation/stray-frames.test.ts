// Frames that hold no JSON: what a protocol does not know, pings and ends written carelessly are passed over, errors never are.
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import type { PumpStep } from '../../src/gateway/reply/pump.ts';
import type { FrameClass } from '../../src/protocols/interface/stream.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { createSplitter, type Frame } from '../../src/protocols/sse/splitter.ts';
import { content, FINISH, START, streamOf, TERMINAL } from '../gateway/wire.ts';
import { ALL, eventsIn, ids, mover, send } from './pipeline.ts';

function frames(text: string): Frame[] {
  const splitter = createSplitter({ maxFrame: 1 << 20 });
  return [...splitter.push(Buffer.from(text)), ...splitter.finish()];
}

function frameIn(text: string): Frame {
  const [only] = frames(text);
  if (only === undefined) throw new Error(`no frame in ${text}`);
  return only;
}

function first(protocol: ProtocolName, text: string): FrameClass {
  return protocols[protocol].relay.createClassifier({ usageAsked: true }).classify(frameIn(text));
}

/** What a client is given of `stream`, in one network chunk and frame by frame: both must be the same. */
function moved(client: ProtocolName, provider: ProtocolName, stream: string): PumpStep {
  const run = createSplitter({ maxFrame: 1 << 20 }).run(Buffer.from(stream));
  if (run === undefined) throw new Error('not one run');
  const fast = mover(client, provider).moveRun(run);
  const plain = mover(client, provider).move(frames(stream));
  expect({ ...fast, bytes: fast.bytes.toString() }).toEqual({ ...plain, bytes: plain.bytes.toString() });
  return plain;
}

function withinAnswer(provider: ProtocolName, stray: string): string {
  return START[provider] + stray + content(provider, 'hello') + stray + FINISH[provider] + stray;
}

const STRAY = [
  ['a ping that is no JSON', 'event: ping\ndata: keepalive\n\n'],
  ['a ping of empty data', 'event: ping\ndata:\n\n'],
  ['a ping without data', 'event: ping\n\n'],
  ['a ping of null', 'event: ping\ndata: null\n\n'],
  ['an unknown event that is no JSON', 'event: vendor.meta\ndata: not json\n\n'],
  ['an unknown event that breaks off', 'event: vendor.meta\ndata: {"usage":{"a":\n\n'],
  ['an unknown event of a list', 'event: vendor.meta\ndata: [1]\n\n'],
  ['an unknown event without data', 'event: vendor.meta\n\n'],
  ['the end of a chat stream', 'data: [DONE]\n\n'],
  ['the end of a chat stream between blanks', 'data:  [DONE] \n\n'],
  ['a comment', ': comment\n\n'],
];

describe.each(STRAY)('%s in a stream of messages', (_, stray) => {
  it('is skipped in a translation, and forwarded in a relay', () => {
    const stream = withinAnswer('messages', stray) + TERMINAL.messages;
    expect(eventsIn('messages', stream)).toEqual(eventsIn('messages', streamOf('messages', 'hello')));
    expect(moved('chat', 'messages', stream)).toMatchObject({ complete: true });
    expect(moved('messages', 'messages', stream)).toEqual({ bytes: Buffer.from(stream), complete: true });
  });

  it('before content neither begins an answer nor breaks it', () => {
    expect(first('messages', stray)).toEqual({ kind: 'quiet' });
  });
});

describe('what must be JSON and is not', () => {
  it.each<[name: string, provider: ProtocolName, bad: string]>([
    ['half of message_start', 'messages', 'event: message_start\ndata: {"type":\n\n'],
    ['content_block_start that is no JSON', 'messages', 'event: content_block_start\ndata: x\n\n'],
    ['half of content_block_delta', 'messages', 'event: content_block_delta\ndata: {"a\n\n'],
    ['content_block_stop that is no JSON', 'messages', 'event: content_block_stop\ndata: x\n\n'],
    ['half of message_delta', 'messages', 'event: message_delta\ndata: {"delta":{"stop_reason":"end_tu\n\n'],
    ['half of a frame of messages without an event name', 'messages', 'data: {"type":\n\n'],
    ['half of a chunk', 'chat', 'data: {"choices":[\n\n'],
    ['a chunk that is no JSON', 'chat', 'data: keepalive\n\n'],
  ])('fails a stream: %s', (_, provider, bad) => {
    const [event] = eventsIn(provider, bad);
    expect(event).toMatchObject({ type: 'error', failure: { reason: 'malformed' } });
    expect(first(provider, bad)).toMatchObject({ kind: 'error', failure: { reason: 'malformed' } });
  });

  it.each<[name: string, provider: ProtocolName, bad: string]>([
    ['half of message_delta', 'messages', 'event: message_delta\ndata: {"delta":{"stop_reason":"end_tu\n\n'],
    [
      'half of message_delta without an event name',
      'messages',
      'data: {"type":"message_delta","usage":{"outp\n\n',
    ],
    ['half of a chunk with usage', 'chat', 'data: {"choices":[],"usage":{"prompt\n\n'],
  ])('fails a relayed stream whose relay reads it: %s', (_, provider, bad) => {
    expect(moved(provider, provider, START[provider] + content(provider, 'a') + bad)).toMatchObject({
      failure: { reason: 'malformed' },
    });
  });
});

describe.each([
  ['[DONE] before a blank', 'data: [DONE] \n\n'],
  ['[DONE]', 'data:  [DONE]\n\n'],
  ['[DONE] without a blank before a tab', 'data:[DONE]\t\n\n'],
  ['[DONE] before forty blanks', `data: [DONE]${' '.repeat(40)}\n\n`],
])('ends a stream: %s', (_, done) => {
  it('ends a chat stream, relayed and translated', () => {
    const stream = START.chat + content('chat', 'hello') + FINISH.chat + done;
    for (const client of ALL) expect(moved(client, 'chat', stream)).toMatchObject({ complete: true });
    expect(moved('chat', 'chat', stream).bytes.toString()).toBe(stream);
    const plain = send([Buffer.from(streamOf('chat', 'hello'))], mover('messages', 'chat'));
    expect(send([Buffer.from(stream)], mover('messages', 'chat'))).toEqual(plain);
  });

  it('ends nothing where nothing came before it', () => {
    expect(first('chat', done)).toEqual({ kind: 'end' });
    expect(eventsIn('chat', done)).toMatchObject([{ type: 'error', failure: { reason: 'empty' } }]);
  });
});

describe('an error event, whatever its data', () => {
  const ERRORS: [name: string, data: string, says: RegExp][] = [
    ['an error without data', '', /error/],
    ['an error of empty data', 'data:\n', /error/],
    ['an error of plain text', 'data: busy\n', /^busy$/],
    ['an error that is a JSON text', 'data: "busy"\n', /^busy$/],
    ['an error whose error is a text', 'data: {"error":"busy"}\n', /^busy$/],
    ['an error with a message within error', 'data: {"error":{"message":"busy"}}\n', /^busy$/],
    ['an error with a message', 'data: {"message":"busy"}\n', /^busy$/],
    ['an error with a type', 'data: {"type":"overloaded_error","message":"busy"}\n', /^busy$/],
    ['an error of [DONE]', 'data: [DONE]\n', /./],
    ['an error within a list', 'data: [{"error":{"message":"busy"}}]\n', /^busy$/],
    ['an error of null', 'data: null\n', /error/],
    ['an error of an empty object', 'data: {}\n', /error/],
    ['an error of a page with a title', 'data: <html><title>Bad Gateway</title><p>x</html>\n', /Bad Gateway/],
    ['an error of a page without a title', 'data: <html><p>x</html>\n', /error/],
  ];

  describe.each(ALL)('of %s', (provider) => {
    it.each(ERRORS)('%s is a failure before content and after it', (_, data, says) => {
      const error = `event: error\n${data}\n`;
      const begun = START[provider] + content(provider, 'hello') + FINISH[provider];
      for (const stream of [error, begun + error + TERMINAL[provider]]) {
        for (const client of ALL) {
          const { failure, complete } = moved(client, provider, stream);
          expect(complete).toBeUndefined();
          expect(failure?.message).toMatch(says);
          expect(failure?.message).not.toContain('<');
        }
      }
    });
  });

  it.each(ALL)('is the last word of %s', (provider) => {
    const decoder = protocols[provider].provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
    const types = (events: StreamEvent[]) => events.map(({ type }) => type);
    expect(types(decoder.push(frameIn('event: error\n\n')))).toEqual(['error']);
    expect(decoder.push(frameIn(TERMINAL[provider]))).toEqual([]);
  });
});
