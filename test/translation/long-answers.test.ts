// A provider may be broken or hostile: megabytes of its answer are read in one pass, whatever stands in them, as all other
// requests wait meanwhile.
import { describe, expect, it, vi } from 'vitest';
import { repairHistory } from '../../src/canonical/history.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Message, ProtocolName, GenerationRequest } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { createIds } from '../../src/ids.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { makeFrame } from '../../src/protocols/sse/frame.ts';
import { fasterThanLinear } from '../helpers/growth.ts';

/** A look at all that came before, at each frame, takes a hundred times as long for ten times the frames. */
const SIZES = [2000, 20_000];
const DEEP = 60_000;

vi.setConfig({ testTimeout: 120_000 });

type WireFrame = [event: string, data: JsonObject | string];

function many(count: number, frame: (at: number) => WireFrame): WireFrame[] {
  return Array.from({ length: count }, (_, at) => frame(at));
}

function callOf(call: JsonObject): WireFrame {
  return ['', { id: 'c', choices: [{ index: 0, delta: { tool_calls: [call] } }] }];
}

const LONG: [name: string, protocol: ProtocolName, frames: (count: number) => WireFrame[]][] = [
  [
    'calls by index and id',
    'chat',
    (count) =>
      many(count, (at) => callOf({ index: at, id: `c${at}`, function: { name: 'f', arguments: '{}' } })),
  ],
  [
    'calls without an index',
    'chat',
    (count) => many(count, (at) => callOf({ id: `c${at}`, function: { name: 'f', arguments: '{}' } })),
  ],
  [
    'arguments in pieces that each name the call',
    'chat',
    (count) =>
      many(count, (at) =>
        callOf({ index: 0, function: { name: 'f', arguments: at === 0 ? '{"a":"' : `${'x'.repeat(40)}}` } }),
      ),
  ],
  [
    'blocks that are never closed',
    'messages',
    (count) =>
      many(count, (index) => [
        'content_block_start',
        {
          type: 'content_block_start',
          index,
          content_block: { type: 'tool_use', id: 't', name: 'f', input: {} },
        },
      ]),
  ],
  [
    'members of a block that nobody knows',
    'messages',
    (count) => [
      [
        'content_block_start',
        { type: 'content_block_start', index: 0, content_block: { type: 'compaction' } },
      ],
      ...many(count, (at) => [
        'content_block_delta',
        { type: 'content_block_delta', index: 0, delta: { type: 'more', [`m${at}`]: at } },
      ]),
    ],
  ],
  ['a page for an error', 'chat', (count) => [['error', '<title'.repeat(count)]]],
  ['a page for an error', 'messages', (count) => [['error', '<title'.repeat(count)]]],
];

it.each(LONG)('%s, streamed (%s)', (_, protocol, make) => {
  const found = fasterThanLinear(
    (count) => {
      const frames = make(count).map(([event, data]): [string, string] => [
        event,
        typeof data === 'string' ? data : JSON.stringify(data),
      ]);
      return () => {
        const decoder = protocols[protocol].provider.createStreamDecoder({
          ids: createIds(),
          traits: DEFAULT_TRAITS,
        });
        for (const [event, data] of frames) decoder.push(makeFrame(event, data));
        decoder.finish(true);
      };
    },
    undefined,
    SIZES,
  );
  expect(found).toBeUndefined();
});

it('a history of many results in another order than their calls', () => {
  const found = fasterThanLinear(
    (count) => {
      const ids = Array.from({ length: count }, (_, at) => `c${at}`);
      const messages: Message[] = [
        {
          role: 'assistant',
          parts: ids.map((id) => ({ type: 'tool_call', id, name: 'f', arguments: '{}' })),
        },
        {
          role: 'user',
          parts: ids.toReversed().map((callId) => ({ type: 'tool_result', callId, content: 'x' })),
        },
      ];
      const request: GenerationRequest = {
        protocol: 'chat',
        model: 'm',
        stream: false,
        includeUsage: false,
        native: [],
        messages,
      };
      const rules = protocols.messages.provider.historyRules;
      return () => repairHistory(request, { rules, traits: DEFAULT_TRAITS });
    },
    undefined,
    SIZES,
  );
  expect(found).toBeUndefined();
});

describe('an error that is deeper than can be written', () => {
  const deep = (message: string): string =>
    `{"error":{"message":"${message}","details":{"a":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}}}`;

  it.each(['chat', 'messages'] as const)('is read as one (%s)', (protocol) => {
    const wire = protocols[protocol];
    for (const message of ['no', 'prompt is too long']) {
      const kind = message === 'no' ? 'invalid_request' : 'context_overflow';
      expect(wire.provider.decodeError(400, new Map(), deep(message))).toEqual({
        kind,
        message,
        status: 400,
      });
      const decoder = wire.provider.createStreamDecoder({ ids: createIds(), traits: DEFAULT_TRAITS });
      const [event] = decoder.push(makeFrame('error', deep(message)));
      expect(event).toMatchObject({ type: 'error', failure: { message } });
    }
  });
});
