import { describe, expect, test } from 'vitest';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { GatewayError } from '../../../src/errors.ts';
import type { StreamClassifier } from '../../../src/protocols/interface/stream.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { responses } from '../../../src/protocols/responses/index.ts';
import { dataOf } from '../../../src/protocols/responses/stream/relayed.ts';
import {
  added,
  bare,
  call,
  completed,
  CREATED,
  done,
  event,
  framesOf,
  message,
  textDelta,
} from './frames.ts';

const DONE = 'data: [DONE]\n\n';
const open = { ...message(''), status: 'in_progress', content: [] };
const thought = { id: 'rs_1', type: 'reasoning', summary: [] };

function classifier(): StreamClassifier {
  return responses.relay.createClassifier({ usageAsked: true });
}

function kindsOf(stream: string, over = classifier()): string[] {
  return framesOf(stream).map((frame) => over.classify(frame).kind);
}

describe('a relayed frame', () => {
  test.each<[string, string, string[]]>([
    ['the beginning', CREATED + event('response.in_progress', { response: {} }), ['quiet', 'quiet']],
    ['an item', CREATED + added(open), ['quiet', 'content']],
    ['a delta', CREATED + textDelta('a') + textDelta('b'), ['quiet', 'content', 'quiet']],
    ['a delta without an event name', bare('response.output_text.delta', { delta: 'a' }), ['content']],
    ['the end', CREATED + completed() + DONE, ['quiet', 'finish', 'end']],
    ['a comment', ': hello\n\n', ['quiet']],
    ['an event of a name of its own', event('ping') + event('vendor.metadata', { a: 1 }), ['quiet', 'quiet']],
    ['an error', CREATED + event('error', { message: 'no' }), ['quiet', 'error']],
    ['a failed Response', CREATED + event('response.failed', { response: {} }), ['quiet', 'error']],
    ['[DONE] before the end', CREATED + textDelta('a') + DONE, ['quiet', 'content', 'error']],
    ['what is not JSON', 'event: response.created\ndata: {"a\n\n', ['error']],
    [
      'a delta that is not JSON, later',
      textDelta('a') + textDelta('b').replace('}\n', '\n'),
      ['content', 'error'],
    ],
  ])('%s', (_, stream, kinds) => {
    expect(kindsOf(stream)).toEqual(kinds);
  });

  test('the last one has the usage', () => {
    const one = classifier();
    kindsOf(CREATED + completed(), one);
    expect(one.usage()).toEqual({ input: 3, output: 4 });
  });

  test.each([
    ['in it', [message('hello')]],
    ['in the events of its items alone', []],
  ])('the last one completes the answer, whose output stands %s', (_, output) => {
    const one = classifier();
    kindsOf(CREATED + added(open) + textDelta('hello') + done(message('hello')), one);
    expect(one.answer?.()).toBeUndefined();
    kindsOf(completed(output), one);
    expect(one.answer?.()).toMatchObject({ id: 'resp_1', output: [message('hello')] });
  });

  test('a rate limit inside a 200 is one', () => {
    const error = { code: 'rate_limit_exceeded', message: 'Try again in 20ms' };
    const frames = framesOf(event('response.failed', { response: { error } }));
    expect(frames.map((frame) => classifier().classify(frame))).toMatchObject([
      { kind: 'error', failure: { kind: 'rate_limited', retryAfterMs: 20 } },
    ]);
  });
});

/** What the official SDK holds. */
function snapshotOf(stream: string): unknown {
  let snapshot: ReturnType<typeof accumulateResponse> | undefined;
  for (const [, data = ''] of stream.matchAll(/^data: (\{.*)$/gm)) {
    const value = JSON.parse(data) as ResponseStreamEvent;
    if ((value as { type: string }).type !== 'error') snapshot = accumulateResponse(value, snapshot);
  }
  return JSON.parse(JSON.stringify(snapshot));
}

const PART = { type: 'output_text', text: '', annotations: [], logprobs: [] };
const at = { item_id: 'msg_1', output_index: 1, content_index: 0 };
const STEPS = [
  CREATED,
  added(thought, 0),
  event('response.reasoning_summary_part.added', {
    ...at,
    output_index: 0,
    summary_index: 0,
    part: { text: '' },
  }),
  event('response.reasoning_summary_text.delta', { ...at, output_index: 0, summary_index: 0, delta: 'hm' }),
  event('response.reasoning_summary_part.done', {
    ...at,
    output_index: 0,
    summary_index: 0,
    part: { text: 'hm' },
  }),
  done({ ...thought, summary: [{ type: 'summary_text', text: 'hm' }] }, 0),
  added(open, 1),
  event('response.content_part.added', { ...at, part: PART }),
  textDelta('hel', at),
  textDelta('lo', at),
  event('response.content_part.done', { ...at, part: { ...PART, text: 'hello' } }),
  done(message('hello'), 1),
  added(call(''), 2),
  done(call('{}'), 2),
  completed([{ ...thought, summary: [{ type: 'summary_text', text: 'hm' }] }, message('hello'), call('{}')]),
].map((frame, number) => frame.replace('"type":', `"sequence_number":${number},"type":`));

function withoutStatus({ status: _, ...item }: JsonObject): JsonObject {
  return item;
}

describe('what the gateway adds', () => {
  test.each(STEPS.map((_, count) => count))(
    'after %i frames leaves the official reader what it had',
    (count) => {
      const one = classifier();
      const before = STEPS.slice(0, count).join('');
      kindsOf(before, one);
      const notice = one.keepAlive?.() ?? '';
      const rest = STEPS.slice(count).join('');
      expect(snapshotOf(before + notice + rest)).toEqual(snapshotOf(before + rest));
      const [, number] = /"sequence_number":(\d+)/.exec(notice) ?? [];
      if (number !== undefined) expect(Number(number)).toBe(count);
    },
  );

  test('is an event of the Response so far, in the middle of an item too', () => {
    const outputs = STEPS.slice(0, -1).map((_, count) => {
      const one = classifier();
      kindsOf(STEPS.slice(0, count + 1).join(''), one);
      return (dataOf(one.keepAlive?.() ?? '')?.response as JsonObject).output;
    });
    const halfway = { ...open, content: [{ ...PART, text: 'hel' }] };
    expect(outputs[8]).toEqual([
      expect.objectContaining({ id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] }),
      halfway,
    ]);
    expect(outputs.map((output) => (output as JsonObject[]).length)).toEqual([
      0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3,
    ]);
  });

  test('knows pieces of other scripts and of many frames', () => {
    const one = classifier();
    kindsOf(STEPS.slice(0, 8).join(''), one);
    const delta = 'ж'.repeat(3000) + '😀';
    for (let count = 0; count < 300; count++) {
      const text = Buffer.from(textDelta(delta, at)).toString('latin1');
      expect(one.isQuiet(text)).toBe(true);
    }
    const { output } = dataOf(one.keepAlive?.() ?? '')?.response as { output: JsonObject[] };
    expect(output[1]).toEqual({ ...open, content: [{ ...PART, text: delta.repeat(300) }] });
  });

  test('raises the numbers of the frames behind it', () => {
    const one = classifier();
    kindsOf(STEPS.slice(0, 9).join(''), one);
    expect(one.shifted?.(Buffer.from(STEPS[9] ?? '')).toString()).toBe(STEPS[9]);
    const numbers = [one.keepAlive?.(), one.keepAlive?.()].map((text) => dataOf(text ?? '')?.sequence_number);
    expect(numbers).toEqual([9, 10]);
    const later = STEPS.slice(9).map((frame) => {
      kindsOf(frame, one);
      return dataOf(one.shifted?.(Buffer.from(frame)).toString() ?? '')?.sequence_number;
    });
    expect(later).toEqual(STEPS.slice(9).map((_, at) => 11 + at));
  });

  test.each(['"output":[]', '"usage":null'])(
    'is the output of a last event that has %s in its place',
    (none) => {
      const one = classifier();
      const before = STEPS.slice(0, -1).join('');
      kindsOf(before, one);
      const last = (STEPS.at(-1) ?? '').replace(/"output":\[.*\](?=[,}])/, none);
      expect(kindsOf(last, one)).toEqual(['finish']);
      const given = one.shifted?.(Buffer.from(last)).toString() ?? '';
      expect(snapshotOf(before + given)).toEqual(snapshotOf(STEPS.join('')));
      expect(one.shifted?.(Buffer.from(DONE)).toString()).toBe(DONE);
    },
  );

  test.each(STEPS.slice(0, -1).map((_, count) => count))('fails after %i frames with what came', (count) => {
    const one = classifier();
    const before = STEPS.slice(0, count + 1).join('');
    kindsOf(before, one);
    const added = one.fail?.(new GatewayError('upstream', 'It broke.'), 'r', 0) ?? '';
    expect(added.match(/^event: .*$/gm)).toEqual(['event: error', 'event: response.failed']);
    expect(added.endsWith(DONE)).toBe(true);
    expect(snapshotOf(before + added)).toMatchObject({
      id: 'resp_1',
      status: 'failed',
      error: { code: 'server_error', message: 'It broke.' },
    });
    // The official reader had read the same.
    const read = snapshotOf(before) as { output: JsonObject[] };
    const failed = snapshotOf(before + added) as { output: JsonObject[] };
    expect(failed.output.map(withoutStatus)).toEqual(read.output.map(withoutStatus));
    expect(one.fail?.(new GatewayError('upstream', 'again'), 'r', 0)).toBe('');
  });

  test('is a whole failed stream where nothing came', () => {
    expect(classifier().fail?.(new GatewayError('upstream', 'no'), 'r', 0)).toBe(
      responses.client.encodeStreamError(new GatewayError('upstream', 'no'), 'r', 0),
    );
  });

  test('is nothing behind the end', () => {
    const one = classifier();
    kindsOf(STEPS.join(''), one);
    expect(one.fail?.(new GatewayError('upstream', 'late'), 'r', 0)).toBe('');
  });
});
