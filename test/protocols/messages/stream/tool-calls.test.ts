// Arguments that are no JSON object, in a stream to a messages client: its readers throw at them, so that what they are given
// is always an object, and the same as in a whole reply wherever nothing else was sent before it was known.
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replay } from '../../../../src/canonical/collect.ts';
import type { StreamEvent, Reply, StopReason } from '../../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { argumentsToObject } from '../../../../src/protocols/shared/tools/tool-names.ts';
import { context, dataOf, encodeAll } from '../support.ts';

/** The official reader on a stream that was written here. */
async function read(text: string): Promise<Anthropic.Message> {
  const client = new Anthropic({
    apiKey: 'k',
    baseURL: 'http://127.0.0.1:1',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  });
  const body = { model: 'm', max_tokens: 1, messages: [{ role: 'user' as const, content: 'x' }] };
  return client.messages.stream(body).finalMessage();
}

const inputs = async (text: string): Promise<unknown[]> =>
  (await read(text)).content.map((block) => (block.type === 'tool_use' ? block.input : undefined));

const START: StreamEvent = { type: 'start', id: 'chatcmpl-1', model: 'gpt' };

/** Calls of these pieces, one after the other or all of them open from the beginning. */
function stream(
  calls: readonly string[][],
  reason: StopReason['reason'] = 'tool_calls',
  parallel = false,
): string {
  const starts = calls.map((_, index): StreamEvent => ({
    type: 'tool_start',
    index,
    id: `c${index}`,
    name: 'f',
  }));
  const deltas = calls.map((pieces, index) =>
    pieces.map((text): StreamEvent => ({ type: 'tool_delta', index, text })),
  );
  const ends = calls.map((_, index): StreamEvent => ({ type: 'tool_end', index }));
  const body = parallel
    ? [...starts, ...deltas.flat(), ...ends]
    : calls.flatMap((_, index) => [starts[index], ...(deltas[index] ?? []), ends[index]]);
  const events = body.filter((event) => event !== undefined);
  return encodeAll([START, ...events, { type: 'end', stop: { reason } }]);
}

function written(text: string): string {
  return dataOf(text)
    .map(({ delta }) => (delta as { partial_json?: string } | undefined)?.partial_json ?? '')
    .join('');
}

describe('arguments in one piece', () => {
  it.each([
    ['arguments of a wrong object', '{bad'],
    ['arguments that are no JSON', 'not json'],
    ['arguments that are a number', '5'],
    ['arguments that are a list', '[1]'],
    ['arguments that are a text', '"x"'],
    ['arguments that are null', 'null'],
    ['blank arguments', '  '],
    ['empty arguments', ''],
    ['arguments with text behind them', '{"a":1} and more'],
    ['arguments with a fraction of zero', '{"n":1.0}'],
    ['arguments in single quotes', "{'a':1}"],
  ])('%s are what a whole reply has', async (_, args) => {
    const reply: Reply = {
      id: '1',
      model: 'm',
      stop: { reason: 'tool_calls' },
      parts: [{ type: 'tool_call', id: 'c', name: 'f', arguments: args }],
    };
    const whole = messages.client.encodeReply(reply, context()).content as JsonObject[];
    const [given] = await inputs(encodeAll(replay(reply)));
    expect(given).toEqual(whole[0]?.input);
    expect(given).toEqual(argumentsToObject(args).value);
  });

  it('that are blank write no delta', () => {
    expect(stream([['  ']])).not.toContain('input_json_delta');
  });

  it('that are good go out as they came', () => {
    expect(written(stream([['{"n": 1.0, ', '"10":2,"b":1}\n']]))).toBe('{"n": 1.0, "10":2,"b":1}\n');
  });
});

describe('arguments in pieces', () => {
  it('that turn out to be broken end as the whole text, beside null for what was written', async () => {
    const pieces = ['{"path":"/', '","all":tr', 'ue, force}'];
    expect(await inputs(stream([pieces]))).toEqual([{ path: null, all: null, _raw: pieces.join('') }]);
  });

  it('that turn bad at the first name are what a whole reply has', async () => {
    expect(await inputs(stream([['{', 'bad', '}']]))).toEqual([{ _raw: '{bad}' }]);
  });

  it('that begin like no object wait for their end', () => {
    const encoder = messages.client.createStreamEncoder(context());
    encoder.push(START);
    encoder.push({ type: 'tool_start', index: 0, id: 'c', name: 'f' });
    expect(encoder.push({ type: 'tool_delta', index: 0, text: '[1' })).toBe('');
    expect(encoder.push({ type: 'tool_delta', index: 0, text: ',2]' })).toBe('');
    expect(written(encoder.push({ type: 'tool_end', index: 0 }))).toBe('{"value":[1,2]}');
  });

  it('with something behind the object are the object', async () => {
    expect(await inputs(stream([['{"a":1}', '</tool_call>']]))).toEqual([{ a: 1 }]);
  });

  it.each(['length', 'refusal', 'stop_sequence', 'context_window'] as const)(
    'that were cut by %s stay cut, as the protocol has it',
    (reason) => {
      expect(written(stream([['{"path":"/a', '/b']], reason))).toBe('{"path":"/a/b');
    },
  );

  it.each(['tool_calls', 'end'] as const)(
    'that just end, with %s, are no call that may be run',
    async (reason) => {
      expect(await inputs(stream([['{"path":"/a', '/b']], reason))).toEqual([
        { path: null, _raw: '{"path":"/a/b' },
      ]);
    },
  );

  it('of a call that waits behind another are wrapped as in a whole reply, where they turn bad there', async () => {
    const calls = [['{"a":', '1}'], ['{"b":1,', 'bad'], ['{"c":', '2'], ['{"d":3}']];
    expect(await inputs(stream(calls, 'tool_calls', true))).toEqual([
      { a: 1 },
      { _raw: '{"b":1,bad' },
      { c: null, _raw: '{"c":2' },
      { d: 3 },
    ]);
    const cut = [['{"a":'], ['{"b":1']];
    expect(await inputs(stream(cut, 'tool_calls', true))).toEqual([
      { a: null, _raw: '{"a":' },
      { _raw: '{"b":1' },
    ]);
  });

  it('are always an object to the official reader, with all that the model wrote', async () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '"a"',
      '"',
      ':',
      ',',
      '1',
      '[',
      ']',
      'x',
      '\n',
      '\\',
      'tru',
      'e',
      ' ',
      '-',
      '.',
      '"b":{"c":"',
    );
    const call = fc.array(piece, { maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        async (calls, parallel) => {
          const given = await inputs(stream(calls, 'tool_calls', parallel));
          calls.forEach((pieces, index) => {
            const text = pieces.join('');
            const { value, repaired } = argumentsToObject(text);
            const input = given[index] as JsonObject;
            if (!repaired) expect(input).toEqual(value);
            else if (text.trimStart().startsWith('{') && input._raw !== undefined) {
              const { _raw: raw, ...rest } = input;
              expect(raw).toBe(text);
              expect(Object.values(rest).every((member) => member === null)).toBe(true);
            } else if (!text.trimStart().startsWith('{')) expect(input).toEqual(value);
            // An object with something behind it.
            else expect(text.trimStart()).toMatch(/^\{[^]*\}/);
          });
        },
      ),
      { numRuns: 300 },
    );
  });
});
