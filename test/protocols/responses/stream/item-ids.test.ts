// Some servers give the items of a stream no ids, which readers with schemas demand: a relay adds them, the same in all events of an item.
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { responses } from '../../../../src/protocols/responses/index.ts';
import { createRelay } from '../../../../src/gateway/reply/relay.ts';
import { createSplitter } from '../../../../src/protocols/sse/splitter.ts';
import { dataOf } from '../../../../src/protocols/responses/stream/relayed.ts';
import { added, call, completed, CREATED, done, event, message, textDelta } from '../frames.ts';

const DONE = 'data: [DONE]\n\n';

function without(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'id'));
}

const noId = { item_id: undefined } as unknown as JsonObject;
const callDelta = (delta: string) =>
  event('response.function_call_arguments.delta', { output_index: 1, delta });
const text = without(message('Hi there'));
const tool = without(call('{"a":1}'));

/** What a client gets of the stream; `size`: bytes of a network chunk. */
function relayed(stream: string, size: number): string {
  const classifier = responses.relay.createClassifier({ usageAsked: true });
  const relay = createRelay(
    { kind: 'relayed', classifier, held: [], rest: [], finished: false },
    responses.client,
  );
  const splitter = createSplitter({ maxFrame: 1 << 20 });
  const bytes = Buffer.from(stream);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = Buffer.from(bytes.subarray(at, at + size));
    const run = splitter.run(chunk);
    const moved = run === undefined ? relay.move(splitter.push(chunk)) : relay.moveRun(run);
    expect(moved.failure).toBeUndefined();
    out.push(Buffer.from(moved.bytes));
  }
  return Buffer.concat(out).toString();
}

const STREAM =
  CREATED +
  added({ ...text, content: [], status: 'in_progress' }) +
  event('response.content_part.added', {
    output_index: 0,
    content_index: 0,
    part: { type: 'output_text', text: '' },
  }) +
  textDelta('Hi', noId) +
  textDelta(' there', noId) +
  done(text) +
  added({ ...tool, arguments: '' }, 1) +
  callDelta('{"a"') +
  callDelta(':1}') +
  done(tool, 1) +
  completed([text, tool]) +
  DONE;

it.each([1, 40, 1_000_000])('every event has the id of its item, in chunks of %i bytes', (size) => {
  const events = relayed(STREAM, size)
    .split('\n\n')
    .map(dataOf)
    .filter((value) => value !== undefined);
  const ids = events.map(({ item, item_id }) => (item as JsonObject | undefined)?.id ?? item_id);
  const [first, second] = ['msg_1_0', 'fc_1_1'] as const;
  expect(ids).toEqual([
    undefined,
    ...Array<string>(5).fill(first),
    ...Array<string>(4).fill(second),
    undefined,
  ]);
  const response = events.at(-1)?.response as JsonObject;
  expect((response.output as JsonObject[]).map(({ id }) => id)).toEqual([first, second]);
  expect(events.map(({ delta }) => delta).filter(Boolean)).toEqual(['Hi', ' there', '{"a"', ':1}']);
});

it('deltas that alone lack the id get that of their item', () => {
  const stream =
    CREATED +
    added(message('')) +
    textDelta('a', noId) +
    textDelta('b', noId) +
    completed([message('ab')]) +
    DONE;
  const ids = relayed(stream, 1_000_000).match(/"item_id":"[^"]*"/g);
  expect(ids).toEqual(['"item_id":"msg_1"', '"item_id":"msg_1"']);
});

it.each([1, 1_000_000])('a stream with ids stays byte for byte, in chunks of %i bytes', (size) => {
  const stream =
    CREATED +
    added(message('')) +
    textDelta('a') +
    textDelta('b') +
    done(message('ab')) +
    completed([message('ab')]) +
    DONE;
  expect(relayed(stream, size)).toBe(stream);
});
