import fc from 'fast-check';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import type { StreamEvent } from '../../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { responses } from '../../../../src/protocols/responses/index.ts';
import { checkedEvents } from '../../../helpers/responses-schemas.ts';
import { contextOf, streamOf } from '../answers.ts';

const START: StreamEvent = { type: 'start', id: 'resp_1', model: 'm', created: 1_700_000_000 };
const END: StreamEvent = { type: 'end', stop: { reason: 'end' }, usage: { input: 1, output: 2 } };

/** Every event that a reply can consist of, in an order in which a provider may send it. */
const ALL: StreamEvent[] = [
  START,
  { type: 'reasoning_start', index: 0 },
  { type: 'reasoning_delta', index: 0, text: 'h' },
  { type: 'reasoning_delta', index: 0, text: 'm' },
  { type: 'reasoning_end', index: 0, signature: 's' },
  { type: 'text_start', index: 1 },
  { type: 'text_delta', index: 1, text: 'L' },
  { type: 'text_delta', index: 1, text: 'ook' },
  { type: 'text_end', index: 1 },
  { type: 'tool_start', index: 2, id: 'call_1', name: 'f' },
  { type: 'tool_start', index: 3, id: 'call_2', name: 'g' },
  { type: 'tool_delta', index: 2, text: '{"a"' },
  { type: 'tool_delta', index: 3, text: '{"b":2}' },
  { type: 'tool_delta', index: 2, text: ':1}' },
  { type: 'tool_end', index: 2 },
  { type: 'tool_end', index: 3 },
  { type: 'redacted', index: 4, data: 'r' },
  { type: 'text_start', index: 5, refusal: true },
  { type: 'text_delta', index: 5, text: 'No.' },
  { type: 'text_end', index: 5 },
  { ...END, stop: { reason: 'refusal', explanation: 'No.' } },
];

function typesOf(events: readonly JsonObject[]): string[] {
  return events.map(({ type }) => (type as string).replace('response.', ''));
}

describe('a stream', () => {
  test('has the events of each item, in order', () => {
    expect(typesOf(streamOf(ALL, contextOf({ store: false })))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'output_item.added',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'refusal.delta',
      'refusal.done',
      'content_part.done',
      'output_item.done',
      'incomplete',
    ]);
  });

  test('parallel calls are written one after the other, completely', () => {
    const events = streamOf(ALL, contextOf());
    const { output } = events.at(-1)?.response as { output: JsonObject[] };
    expect(output.filter(({ type }) => type === 'function_call')).toMatchObject([
      { call_id: 'call_1', arguments: '{"a":1}' },
      { call_id: 'call_2', arguments: '{"b":2}' },
    ]);
  });

  test.each([
    [
      'with an explanation beside its text has both',
      'Hm.',
      { explanation: 'No.' },
      [
        ['output_text', 'Hm.'],
        ['refusal', 'No.'],
      ],
    ],
    [
      'after half an answer says so',
      'Hm.',
      { raw: 'refusal' },
      [
        ['output_text', 'Hm.'],
        ['refusal', 'The model refused to answer.'],
      ],
    ],
    ['in the words of its text says them once', 'No.', { explanation: 'No.' }, [['output_text', 'No.']]],
    ['without any text says so', '', { raw: 'refusal' }, [['refusal', 'The model refused to answer.']]],
  ])('of a refusal %s, and is complete only without text', (_title, said, stop, expected) => {
    const text: StreamEvent[] =
      said === ''
        ? []
        : [
            { type: 'text_start', index: 0 },
            { type: 'text_delta', index: 0, text: said },
            { type: 'text_end', index: 0 },
          ];
    const end: StreamEvent = { ...END, stop: { reason: 'refusal', ...stop } };
    const { response } = streamOf([START, ...text, end], contextOf()).at(-1) as { response: JsonObject };
    expect(response.status).toBe(said === '' ? 'completed' : 'incomplete');
    expect(response.incomplete_details).toEqual(said === '' ? null : { reason: 'content_filter' });
    const [message] = response.output as { content: JsonObject[] }[];
    expect(message?.content.map(({ type, text, refusal }) => [type, text ?? refusal])).toEqual(expected);
  });

  test('without content is an empty Response', () => {
    expect(streamOf([START, END], contextOf()).at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output: [], usage: { input_tokens: 1, output_tokens: 2 } },
    });
  });
});

/** What the official SDK holds after these frames. */
function snapshotOf(stream: string): JsonObject {
  let snapshot: ReturnType<typeof accumulateResponse> | undefined;
  for (const [, data = ''] of stream.matchAll(/^data: (\{.*)$/gm)) {
    const event = JSON.parse(data) as ResponseStreamEvent;
    if ((event as { type: string }).type === 'error') continue;
    snapshot = accumulateResponse(event, snapshot);
  }
  return JSON.parse(JSON.stringify(snapshot)) as JsonObject;
}

describe('a keep-alive', () => {
  test('opens a stream of which nothing is known, whose id stays', () => {
    const encoder = responses.client.createStreamEncoder(contextOf());
    const stream = [encoder.keepAlive?.(), ...[START, END].map((event) => encoder.push(event))].join('');
    const ids = checkedEvents(stream).map(({ response }) => (response as JsonObject).id);
    expect(new Set(ids).size).toBe(1);
    expect(snapshotOf(stream).model).toBe('m');
  });

  test('anywhere in a stream leaves the official reader with the same answer', () => {
    const plain = responses.client.createStreamEncoder(contextOf());
    const expected = snapshotOf(ALL.map((event) => plain.push(event)).join(''));
    fc.assert(
      fc.property(fc.array(fc.nat(ALL.length - 1), { minLength: 1, maxLength: 6 }), (places) => {
        const encoder = responses.client.createStreamEncoder(contextOf());
        const stream = ALL.map((event, at) => {
          const times = places.filter((place) => place === at && at > 0).length;
          return Array.from({ length: times }, () => encoder.keepAlive?.()).join('') + encoder.push(event);
        }).join('');
        checkedEvents(stream);
        expect(snapshotOf(stream)).toEqual(expected);
      }),
    );
  });

  test('behind the end is nothing', () => {
    const encoder = responses.client.createStreamEncoder(contextOf());
    for (const event of ALL) encoder.push(event);
    expect(encoder.keepAlive?.()).toBe('');
    expect(encoder.fail?.(new GatewayError('upstream', 'late'), 'r', 0)).toBe('');
  });
});

describe('a failure in mid-stream', () => {
  test('after any event is an error and a failed Response with what came, and the end', () => {
    for (let count = 0; count < ALL.length; count++) {
      const encoder = responses.client.createStreamEncoder(contextOf());
      const before = ALL.slice(0, count).map((event) => encoder.push(event));
      const stream = before.join('') + encoder.fail?.(new GatewayError('upstream', 'It broke.'), 'r', 0);
      const events = checkedEvents(stream);
      expect(events.slice(-2)).toMatchObject([
        { type: 'error', message: 'It broke.', code: 'server_error', param: null },
        {
          type: 'response.failed',
          response: { status: 'failed', error: { code: 'server_error', message: 'It broke.' } },
        },
      ]);
      const { output } = snapshotOf(stream) as { output: JsonObject[] };
      expect(output.length).toBe(events.filter(({ type }) => type === 'response.output_item.added').length);
      expect(encoder.push(END)).toBe('');
    }
  });

  test.each([
    ['context_overflow', 'context_length_exceeded'],
    ['rate_limited', 'rate_limit_exceeded'],
    ['invalid_request', 'invalid_prompt'],
    ['unavailable', 'server_error'],
    ['internal', 'server_error'],
  ] as const)('of kind %s has the code %s', (kind, code) => {
    const stream = responses.client.encodeStreamError(new GatewayError(kind, 'no'), '1234', 9999);
    expect(checkedEvents(stream).at(-1)).toMatchObject({
      response: { id: 'resp_1234', created_at: 9, error: { code, message: 'no' } },
    });
  });
});
