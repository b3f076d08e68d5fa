// Servers that fail in mid-stream say so in many ways, some of them beside the protocol. Each is the failure of the answer,
// relayed and translated alike: a stream that ends with `[DONE]` behind it is no whole answer.
import { describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { PumpStep } from '../../src/gateway/reply/pump.ts';
import { createSplitter } from '../../src/protocols/sse/splitter.ts';
import { content, FINISH, START, TERMINAL } from '../gateway/wire.ts';
import { ALL, mover, send } from './pipeline.ts';

const chunk = (members: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', ...members })}\n\n`;
const EMPTY = [{ index: 0, delta: {}, finish_reason: null }];

const IN_CHAT: [what: string, frame: string][] = [
  ['x_groq.error', chunk({ choices: EMPTY, x_groq: { id: 'req_1', error: 'busy' } })],
  [
    'x_groq.error beside a finish',
    chunk({ choices: [{ ...EMPTY[0], finish_reason: 'stop' }], x_groq: { error: 'busy' } }),
  ],
  ['a code and a message beside no choices', chunk({ choices: null, code: 500, message: 'busy' })],
  ['a message beside empty choices', chunk({ choices: [], code: 'x', message: 'busy' })],
  ['a base_resp', 'data: {"id":"1","choices":null,"base_resp":{"status_code":1002,"status_msg":"busy"}}\n\n'],
  ['an error behind an id', 'data: {"request_id":"r","code":"Throttling","message":"busy"}\n\n'],
];

const IN_BOTH: [what: string, frame: string][] = [
  ['a detail', 'data: {"detail":"busy"}\n\n'],
  ['a detail in a list', 'data: {"detail":[{"loc":["body"],"msg":"busy"}]}\n\n'],
  ['a code and a message', 'data: {"code":429,"message":"busy"}\n\n'],
  ['a message and a type', 'data: {"message":"busy","type":"overloaded_error"}\n\n'],
  ['no success', 'data: {"success":false,"errors":[{"code":10000,"message":"busy"}]}\n\n'],
  ['no success, and a message', 'data: { "success": false, "message": "busy" }\n\n'],
  ['an error without data', '{"error":{"message":"busy"}}\n\n'],
  ['an error without data and without a blank line', '{"error":{"message":"busy"}}\n'],
  ['an error without data over several lines', '{\n  "error": {\n    "message": "busy"\n  }\n}\n\n'],
  ['an error in a field of its own', 'error: {"code":500,"message":"busy","type":"server_error"}\n\n'],
];

/** What a client is given of `stream`, in one network chunk and frame by frame: both must be the same. */
function moved(client: ProtocolName, provider: ProtocolName, stream: string): PumpStep {
  const splitter = createSplitter({ maxFrame: 1 << 20 });
  const plain = mover(client, provider).move([...splitter.push(Buffer.from(stream)), ...splitter.finish()]);
  const run = createSplitter({ maxFrame: 1 << 20 }).run(Buffer.from(stream));
  if (run !== undefined) {
    const fast = mover(client, provider).moveRun(run);
    expect({ ...fast, bytes: fast.bytes.toString() }).toEqual({ ...plain, bytes: plain.bytes.toString() });
  }
  return plain;
}

describe.each<[ProtocolName, [string, string][]]>([
  ['chat', [...IN_CHAT, ...IN_BOTH]],
  ['messages', IN_BOTH],
  ['responses', IN_BOTH],
])('in a stream of %s', (provider, errors) => {
  describe.each(ALL)('to a %s client', (client) => {
    it.each(errors)('%s is a failure', (_, error) => {
      for (const before of ['', FINISH[provider]]) {
        const stream = START[provider] + content(provider, 'hello') + before + error + TERMINAL[provider];
        const got = moved(client, provider, stream);
        expect(got.failure?.message).toContain('busy');
        expect(got.complete).toBeUndefined();
        expect(got.bytes.toString()).toContain('hello');
      }
    });

    it.each([
      ['half a frame of chat', 'data: {"choices":[{"index":0,"delta":{"content":"ab\n\n'],
      [
        'half a frame of messages',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"te\n\n',
      ],
      ['a frame that is no JSON', 'data: keep going\n\n'],
    ])('%s is no answer', (_, broken) => {
      const stream =
        START[provider] + content(provider, 'hello') + broken + FINISH[provider] + TERMINAL[provider];
      expect(moved(client, provider, stream)).toMatchObject({ failure: { reason: 'malformed' } });
    });
  });
});

it.each([
  ['chat', 'data: {"type":"ping"}\n\n'],
  ['chat', chunk({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] })],
  ['chat', 'data: {"choices": [ {"index": 0, "delta": {"content": "x"}} ] } \n\n'],
  ['chat', chunk({ choices: EMPTY, x_groq: { id: 'req_1' } })],
  ['chat', chunk({ choices: [], base_resp: { status_code: 0, status_msg: '' } })],
  ['chat', '{}\n\n'],
  ['chat', 'retry: 3000\n\n'],
  ['messages', 'event: vendor.status\ndata: {"type":"vendor.status","message":"queued"}\n\n'],
  ['messages', 'data: {"type": "ping"}\n\n'],
  ['messages', 'id: 7\nevent: ping\ndata: {"type":"ping"}\n\n'],
] as const)('of %s, %j is forwarded', (provider, frame) => {
  const stream = START[provider] + content(provider, 'hello') + frame + FINISH[provider] + TERMINAL[provider];
  expect(moved(provider, provider, stream)).toEqual({ bytes: Buffer.from(stream), complete: true });
  const other = provider === 'chat' ? 'messages' : 'chat';
  expect(send([Buffer.from(stream)], mover(other, provider)).complete).toBe(true);
});
