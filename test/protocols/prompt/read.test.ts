// The print of a prompt: the same however it was read, without marks, of no text, and in linear time.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import type { PromptPrint } from '../../../src/canonical/prompt-print.ts';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { scanMembers } from '../../../src/protocols/json/splice.ts';
import { readPrompt } from '../../../src/protocols/prompt/read.ts';
import { protocols } from '../../../src/protocols/registry.ts';

function print(
  protocol: ProtocolName,
  body: JsonObject | string,
  before: readonly PromptPrint[] = [],
): PromptPrint {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const members = scanMembers(bytes, Infinity);
  return readPrompt({ bytes, members, model: 'm' }, protocols[protocol].client.prompt, before);
}

/** What two prints are compared by. */
const regions = ({ tools, system, messages, leading, parameters }: PromptPrint) => ({
  tools: [...tools.hashes],
  system: [...system.hashes],
  messages: [...messages.hashes],
  runs: [tools.run, system.run, messages.run].map(({ bytes, hash }) => [bytes, hash]),
  leading,
  parameters,
});

const MARK = { cache_control: { type: 'ephemeral' } };
const text = (words: string, more: JsonObject = {}): JsonObject => ({ type: 'text', text: words, ...more });
const user = (...content: JsonObject[]): JsonObject => ({ role: 'user', content });

describe('a body that grew', () => {
  const word = fc.string({ maxLength: 12, unit: 'binary' });
  const block = fc.record({ words: word, mark: fc.boolean() });
  const message = fc.array(block, { minLength: 1, maxLength: 3 });
  const write = (messages: { words: string; mark: boolean }[][], space: boolean): string =>
    JSON.stringify(
      {
        messages: messages.map((blocks) =>
          user(...blocks.map(({ words, mark }) => text(words, mark ? MARK : {}))),
        ),
        system: [text('rules', MARK)],
        tools: [{ name: 'f', input_schema: {} }],
      },
      null,
      space ? 1 : 0,
    );

  it('has the print that it has without a print before it, wherever its marks are now', () => {
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 6 }),
        fc.array(message, { maxLength: 4 }),
        fc.array(fc.boolean()),
        fc.boolean(),
        (old, added, marks, space) => {
          let at = 0;
          const moved = old.map((blocks) => blocks.map((each) => ({ ...each, mark: marks[at++] ?? false })));
          const before = print('messages', write(old, space));
          const whole = write([...moved, ...added], space);
          const { runs: _, ...alone } = regions(print('messages', whole));
          const read = print('messages', whole, [before]);
          expect(regions(read)).toMatchObject(alone);
          expect(print('messages', whole, [read]).messages).toEqual(read.messages);
        },
      ),
    );
  });

  it('is read from where it grew', () => {
    const before = print('messages', write([[{ words: 'a', mark: true }]], false));
    const grown = [[{ words: 'a', mark: false }], [{ words: 'b', mark: true }]];
    const after = print('messages', write(grown, false), [before]);
    expect(after.tools).toBe(before.tools);
    expect([...after.messages.hashes].slice(0, 1)).toEqual([...before.messages.hashes]);
    expect(after.messages.hashes).toHaveLength(2);
  });
});

describe('marks', () => {
  it.each<[name: string, marked: JsonObject]>([
    ['behind the text', { type: 'text', text: 'a', ...MARK }],
    ['before it', { ...MARK, type: 'text', text: 'a' }],
    ['with a life', { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }],
  ])('are no part of the prompt: %s', (_, marked) => {
    const body = (block: JsonObject) => ({ messages: [user(text('x'), block)], system: [block], tools: [] });
    expect(regions(print('messages', body(marked)))).toEqual(regions(print('messages', body(text('a')))));
  });

  it('say how long the prompt lives', () => {
    const body = (mark: JsonObject) => ({ messages: [user(text('a', { cache_control: mark }))] });
    expect(print('messages', body({ type: 'ephemeral' })).life).toBe(300_000);
    expect(print('messages', body({ type: 'ephemeral', ttl: '1h' })).life).toBe(3_600_000);
    expect(print('chat', { messages: [], prompt_cache_retention: '24h' }).life).toBe(86_400_000);
  });

  it('are not found in texts', () => {
    const said = (words: string) => ({ messages: [user(text(words))] });
    const quoted = 'a ,"cache_control":{"type":"ephemeral"} b';
    expect(regions(print('messages', said(quoted)))).not.toEqual(regions(print('messages', said('a  b'))));
  });
});

describe('one prompt in two forms has one print', () => {
  it.each(['chat', 'messages'] as const)('a text, and a list of one text (%s)', (protocol) => {
    const one = print(protocol, { messages: [{ role: 'user', content: 'a "b"' }] });
    const other = print(protocol, { messages: [user(text('a "b"', MARK))] });
    expect([...one.messages.hashes]).toEqual([...other.messages.hashes]);
  });

  it('a text that bore a mark goes on from the list that it was', () => {
    const list = { messages: [user(text('a "b" }]', MARK))] };
    const grown = { messages: [{ role: 'user', content: 'a "b" }]' }, user(text('c', MARK))] };
    const before = print('messages', list);
    const after = print('messages', grown, [before]);
    expect(after.messages.run.bytes).toBeLessThan(JSON.stringify(grown.messages).length);
    expect([...after.messages.hashes]).toEqual([...print('messages', grown).messages.hashes]);
    // Read item by item, it would have no cut where the first mark was.
    expect(after.messages.run.cuts.map(({ kind }) => kind)).toEqual(['open', 'close']);
    const again = { messages: [user(text('a "b" }]')), user(text('c'))] };
    expect([...print('messages', again, [before]).messages.hashes]).toEqual([...after.messages.hashes]);
  });

  it('the line of Claude Code that its provider leaves out', () => {
    const body = (line: string) => ({
      system: [text(`x-anthropic-billing-header: ${line}`), text('rules')],
      messages: [user(text('a'))],
    });
    const before = print('messages', body('cch=1;'));
    expect(regions(print('messages', body('cch=23;')))).toEqual(regions(before));
    expect(print('messages', body('cch=23;'), [before]).system).toBe(before.system);
    const joined = body('cch=1;\nrules, in the same text');
    expect(regions(print('messages', joined)).system).not.toEqual(regions(before).system);
  });
});

it('tells system text among the messages apart', () => {
  const messages = [
    { role: 'system', content: 'a' },
    { role: 'developer', content: 'b' },
    { role: 'user', content: 'c' },
  ];
  expect(print('chat', { messages }).leading).toBe(2);
});

it('knows messages that go on from an answer which the provider keeps', () => {
  expect(print('responses', { input: 'a', previous_response_id: 'resp_1' }).chained).toBe(true);
  expect(print('responses', { input: 'a', previous_response_id: null }).chained).toBe(false);
});

it('holds numbers alone, and no more of them for a hundred thousand messages', () => {
  const secret = 'a very secret text';
  const messages = Array.from({ length: 100_000 }, (_, at) => ({ role: 'user', content: `${secret} ${at}` }));
  const kept = print('messages', { messages, system: secret, tools: [{ name: secret, input_schema: {} }] });
  expect(JSON.stringify(kept)).not.toContain('secret');
  expect(kept.messages.hashes.byteLength).toBeLessThanOrEqual(8192);
  const grown = print('messages', { messages: [...messages, messages[0] ?? {}], system: secret }, [kept]);
  expect(grown.messages.hashes.byteLength).toBeLessThanOrEqual(8192);
});

it.each<[name: string, body: string]>([
  ['marks', `{"messages":[${'{"cache_control":{"a":1},"role":"user","content":""},'.repeat(20_000)}{}]}`],
  ['names of marks in texts', `{"messages":["${'\\"cache_control\\"'.repeat(50_000)}"]}`],
  [
    'marks without an end',
    `{"messages":[${'{"cache_control":{"a":"'.concat('{'.repeat(300), '"}},').repeat(3000)}{}]}`,
  ],
  ['empty items', `{"messages":[${'{},'.repeat(200_000)}{}],"tools":[${'{},'.repeat(50_000)}{}]}`],
])('a body full of %s takes linear time', (_, body) => {
  const before = print('messages', body);
  expect(regions(print('messages', body, [before]))).toEqual(regions(before));
});
