// What a responses request refers to, the same request without references, and what is stored of an answer.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { GatewayError } from '../../../src/errors.ts';
import type { FoundAnswers } from '../../../src/protocols/interface/features.ts';
import { stored } from '../../../src/protocols/responses/stored/index.ts';
import { show, showInput } from '../../../src/protocols/responses/stored/show.ts';
import { bodyIn, bodyOf } from '../../../src/protocols/json/body.ts';

const QUESTION = { type: 'message', role: 'user', content: 'Look.' };
const REASONING = { id: 'rs_1', type: 'reasoning', summary: [] };
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Seen.', annotations: [] }],
};
const ANSWER = { id: 'resp_1', object: 'response', output: [REASONING, MESSAGE] };
const THINKING = '{"text":"Hm.","signature":"c2ln"}';
const BOUNDS = { maxBody: 100_000, maxValues: 1000 };
const NONE = { texts: new Map<string, string>(), opened: new Map<string, string>() };

function textsOf(holder?: string): Map<string, string> {
  const hidden = new Map([['rs_1', THINKING]]);
  const items = stored.toStore({ request: bodyOf({ input: 'Look.' }), answer: ANSWER, holder, hidden });
  return new Map(items.map(({ id, text }) => [id, text()]));
}

function inlined(value: JsonObject, found: FoundAnswers, use: 'translated' | 'relayed'): JsonObject {
  const resolved = stored.resolve(bodyOf(value), found, BOUNDS);
  const bytes = use === 'translated' ? resolved.translated() : resolved.relayedTo('other', false)?.bytes;
  return bytes === undefined ? value : (JSON.parse(bytes.toString()) as JsonObject);
}

function faultOf(value: JsonObject): GatewayError {
  try {
    inlined(value, NONE, 'translated');
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error('expected a GatewayError');
}

describe('references', () => {
  it('are previous answers, item references with or without a type, reasoning without its content, and sealed blobs', () => {
    const input = [
      QUESTION,
      { type: 'item_reference', id: 'rs_1' },
      { id: 'msg_1' },
      { ...REASONING, encrypted_content: 'gw1.abc' },
      { ...REASONING, encrypted_content: 'gAAAA' },
      { ...REASONING, id: 'rs_2', encrypted_content: null },
    ];
    expect(stored.references(bodyOf({ previous_response_id: 'resp_0', input }))).toEqual({
      ids: ['resp_0', 'rs_1', 'msg_1'],
      bare: ['rs_2'],
      sealed: ['gw1.abc'],
      refers: true,
    });
    expect(stored.references(bodyOf({ input: 'Look.', previous_response_id: null }))).toEqual({
      ids: [],
      bare: [],
      sealed: [],
      refers: false,
    });
  });
});

describe('many references', () => {
  const referring = (count: number): JsonObject => ({
    input: Array.from({ length: count }, (_, at) => ({ type: 'item_reference', id: `msg_${at}` })),
  });

  it('are looked up once each', () => {
    const input = [{ id: 'msg_1' }, { id: 'msg_1' }, { ...REASONING }, { ...REASONING }];
    expect(stored.references(bodyOf({ input, previous_response_id: 'msg_1' }))).toEqual({
      ids: ['msg_1'],
      bare: ['rs_1'],
      sealed: [],
      refers: true,
    });
  });

  it('are refused above what is read at once', () => {
    expect(stored.references(bodyOf(referring(2000))).ids).toHaveLength(2000);
    expect(() => stored.references(bodyOf(referring(2001)))).toThrow(
      'input refers to more than 2000 stored items; send the items themselves',
    );
  });
});

describe('a request without its references', () => {
  it('takes an answer for no item, whatever id a provider has chosen', () => {
    const found = { ...NONE, texts: textsOf() };
    const reference = { input: [{ type: 'item_reference', id: 'resp_1' }] };
    expect(() => inlined(reference, found, 'translated')).toThrow("Item with id 'resp_1' not found.");
    const bare = { ...REASONING, id: 'resp_1' };
    expect(inlined({ input: [bare] }, found, 'translated').input).toEqual([bare]);
  });

  it('holds the input and the output of the previous answer, then its own input', () => {
    const value = { model: 'm', previous_response_id: 'resp_1', input: 'And now?' };
    expect(inlined(value, { ...NONE, texts: textsOf() }, 'translated')).toEqual({
      model: 'm',
      input: [
        { type: 'message', role: 'user', content: 'Look.' },
        { ...REASONING, encrypted_content: THINKING },
        MESSAGE,
        { type: 'message', role: 'user', content: 'And now?' },
      ],
    });
  });

  it('holds the items that it referred to, and thinking that was sealed for it', () => {
    const input = [
      { type: 'item_reference', id: 'msg_1' },
      { type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: 'gw1.abc' },
    ];
    const found = { texts: textsOf(), opened: new Map([['gw1.abc', THINKING]]) };
    expect(inlined({ input }, found, 'translated').input).toEqual([
      MESSAGE,
      { type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: THINKING },
    ]);
  });

  it('holds the stored thinking of reasoning that came back without it', () => {
    const gone = { ...REASONING, id: 'rs_gone' };
    const found = { ...NONE, texts: textsOf() };
    expect(inlined({ input: [REASONING, gone] }, found, 'translated').input).toEqual([
      { ...REASONING, encrypted_content: THINKING },
      gone,
    ]);
  });

  it('goes to a provider of the protocol without reasoning that only the gateway can read', () => {
    const value = { previous_response_id: 'resp_1', input: [{ ...REASONING, encrypted_content: 'gAAAA' }] };
    expect(inlined(value, { ...NONE, texts: textsOf() }, 'relayed').input).toEqual([
      { type: 'message', role: 'user', content: 'Look.' },
      MESSAGE,
      { ...REASONING, encrypted_content: 'gAAAA' },
    ]);
  });

  it.each([
    ['a question', '"input":"And now?",', ',{"type":"message","role":"user","content":"And now?"}'],
    ['no input', '', ''],
  ])('leaves all but the input byte for byte: %s', (_, input, own) => {
    const rest = '"tools":[{"maximum": 18446744073709551615, "10":1.0}]';
    const bytes = Buffer.from(`{${input}"previous_response_id":"resp_1", ${rest}}`);
    const body = bodyIn(bytes);
    const found = { ...NONE, texts: textsOf() };
    const text = stored.resolve(body, found, BOUNDS).translated().toString();
    expect(text.endsWith(`${rest}}`)).toBe(true);
    expect(text).toContain(`${JSON.stringify(MESSAGE)}${own}]`);
  });

  it('keeps a place for reasoning that is not stored any more, so that it is reported', () => {
    const input = [{ type: 'item_reference', id: 'rs_gone' }, QUESTION];
    const [gone] = inlined({ input }, NONE, 'translated').input as JsonObject[];
    expect(gone).toMatchObject({ type: 'reasoning', id: 'rs_gone' });
  });

  it('is refused in the words that clients know if an item or an answer is not stored', () => {
    const item = faultOf({ input: [{ type: 'item_reference', id: 'msg_gone' }] });
    expect(item.message).toMatch(
      /^Item with id 'msg_gone' not found. Items are not persisted when `store` is set to false\. /,
    );
    expect(item.options.param).toBe('input');
    const answer = faultOf({ previous_response_id: 'resp_gone', input: 'x' });
    expect(answer.message).toBe("Previous response with id 'resp_gone' not found.");
    expect(answer.options.code).toBe('previous_response_not_found');
  });
});

describe('what is stored of an answer', () => {
  it('is written when it is needed, each item once, and its size is known before', () => {
    const answer = { ...ANSWER, error: null, output: [REASONING, MESSAGE, 'odd'] };
    const items = stored.toStore({ request: bodyOf({ input: ['a', { type: 'x' }] }), answer, holder: 'h' });
    const texts = items.map(({ text }) => JSON.parse(text()) as unknown);
    expect(texts).toEqual([
      {
        response: { ...ANSWER, error: null, output: [REASONING, MESSAGE] },
        input: ['a', { type: 'x' }],
        heldBy: 'h',
      },
      { item: REASONING, heldBy: 'h' },
      { item: MESSAGE, heldBy: 'h' },
    ]);
    for (const { size, text } of items) {
      expect(size).toBeGreaterThan(text().length / 2);
      expect(size).toBeLessThan(text().length * 2);
    }
  });

  it('is read as the client got it, without hidden thinking', () => {
    expect(show(textsOf().get('resp_1') ?? '', new URLSearchParams())).toEqual(ANSWER);
    expect(show(textsOf().get('msg_1') ?? '', new URLSearchParams())).toBe(undefined);
  });

  it('lists its input in pages, with ids', () => {
    const answered = { type: 'message', role: 'assistant', content: 'Seen.' };
    const input = [QUESTION, answered, { type: 'function_call', id: 'fc_1' }];
    const [record] = stored.toStore({ request: bodyOf({ input }), answer: ANSWER });
    const page = showInput(record?.text() ?? '', new URLSearchParams('limit=2&order=asc'), 'resp_1');
    expect(page).toMatchObject({
      object: 'list',
      data: [
        { role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Seen.' }] },
      ],
      has_more: true,
    });
    const { last_id: after } = page as { last_id: string };
    const rest = showInput(
      record?.text() ?? '',
      new URLSearchParams({ after, limit: '2', order: 'asc' }),
      'resp_1',
    );
    expect(rest).toMatchObject({ data: [{ id: 'fc_1' }], has_more: false });
    const newest = showInput(record?.text() ?? '', new URLSearchParams('limit=1'), 'resp_1');
    expect(newest).toMatchObject({ data: [{ id: 'fc_1' }], has_more: true });
  });
});
