// Arguments of calls cross as they were written: numbers digit by digit, members in their order. JSON.parse would hold neither,
// so that both sides are read here by a parser of the source itself.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repairHistory } from '../../../src/canonical/history.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';
import type { Reply } from '../../../src/canonical/reply.ts';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../../src/canonical/traits.ts';
import { requestBytes, rawJson, rawObjectJson } from '../../../src/protocols/json/raw-json.ts';
import { protocols } from '../../../src/protocols/registry.ts';
import { argumentsToObject } from '../../../src/protocols/shared/tools/tool-names.ts';
import { context, eventsIn } from '../../translation/pipeline.ts';

type Source = string | { list: Source[] } | { members: [name: string, value: Source][] };

/** What JSON says, with scalars as their text: numbers as written, strings in one spelling. */
function read(json: string): Source {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g) ?? [];
  let at = 0;
  const next = (): string => tokens[at++] ?? '';
  const scalar = (token: string): string =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token;
  const value = (): Source => {
    const first = next();
    if (first === '[') {
      const list: Source[] = [];
      while (tokens[at] !== ']') {
        list.push(value());
        if (tokens[at] === ',') at++;
      }
      at++;
      return { list };
    }
    if (first !== '{') return scalar(first);
    const members: [string, Source][] = [];
    while (tokens[at] !== '}') {
      const name = scalar(next());
      at++;
      members.push([name, value()]);
      if (tokens[at] === ',') at++;
    }
    at++;
    return { members };
  };
  return value();
}

function inside(source: Source, ...way: (string | number)[]): Source {
  let found = source;
  for (const step of way) {
    if (typeof found === 'string') throw new Error(`no ${step}`);
    const inner: Source | undefined =
      'list' in found
        ? found.list[Number(step)]
        : found.members.find(([name]) => name === JSON.stringify(step))?.[1];
    if (inner === undefined) throw new Error(`no ${step}`);
    found = inner;
  }
  return found;
}

/** The text that a JSON string stands for. */
function string(source: Source): string {
  return JSON.parse(source as string) as string;
}

// -- any JSON --

const number = fc.oneof(
  fc.constantFrom('12345678901234567890', '1.0', '-0', '1e400', '0.10', '1E5', '3.14159265358979323846', '7'),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/),
);
const name = fc.oneof(
  fc.constantFrom('10', '2', '0', 'b', '__proto__', 'toJSON', 'input', 'length', '"', '\\', 'é', '{"', ''),
  fc.string({ maxLength: 4 }),
);
const spelt = (text: string): fc.Arbitrary<string> =>
  fc.boolean().map((escaped) => {
    const plain = JSON.stringify(text);
    if (!escaped) return plain;
    return plain.replace(
      /[^\\"\x20-\x7e]|é/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  });
const text = fc
  .oneof(
    fc.constantFrom('1.0', '"input":{"a":1.0}', '}', '\\', '\\"', '{"b":1,"10":2}', 'é🎉'),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
  )
  .chain(spelt);
const space = fc.constantFrom('', '', ' ', '\n\t');
const { object, any } = fc.letrec<{ any: string; list: string; object: string }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(number, text, fc.constantFrom('true', 'null')),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .tuple(fc.array(tie('any'), { maxLength: 3 }), space)
    .map(([items, gap]) => `[${gap}${items.join(`,${gap}`)}]`),
  object: fc
    .tuple(fc.uniqueArray(fc.tuple(name, tie('any')), { maxLength: 4, selector: ([key]) => key }), space)
    .map(([members, gap]) => {
      const written = members.map(([key, value]) => `${JSON.stringify(key)}${gap}:${gap}${value}`);
      return `{${gap}${written.join(`${gap},`)}${gap}}`;
    }),
}));
const calls = fc.array(object, { minLength: 1, maxLength: 3 });

// -- the four ways across --

/** A request's body, written for a provider of the other protocol. */
function crossed(client: ProtocolName, body: string): Source {
  const to = client === 'chat' ? 'messages' : 'chat';
  const request = protocols[client].client.decodeRequest(JSON.parse(body) as JsonObject, Buffer.from(body));
  const repaired = repairHistory(request, {
    rules: protocols[to].provider.historyRules,
    traits: DEFAULT_TRAITS,
  });
  const encoded = protocols[to].provider.encodeRequest(repaired.request, 'm', DEFAULT_TRAITS);
  return read(requestBytes(encoded.body, body.length).toString());
}

function reply(provider: ProtocolName, body: string): { decoded: Reply; written: Source } {
  const client = provider === 'chat' ? 'messages' : 'chat';
  const decoded = protocols[provider].provider.decodeReply(JSON.parse(body), body);
  return { decoded, written: read(rawJson(protocols[client].client.encodeReply(decoded, context(client)))) };
}

const chatCalls = (texts: readonly string[]): string =>
  texts
    .map(
      (args, index) =>
        `{"id":"call_${index}","type":"function","function":{"name":"f","arguments":${JSON.stringify(args)}}}`,
    )
    .join(',');

/** Blocks are found by their ids where these come first, without a space; else by their place. */
const ORDERS = {
  usual: (id: string, input: string) => `{"type":"tool_use","id":"${id}","name":"f","input":${input}}`,
  spaced: (id: string, input: string) =>
    `{"type":"tool_use", "id": "${id}", "name":"f", "input" : ${input} }`,
  'id last': (id: string, input: string) => `{"input":${input},"name":"f","type":"tool_use","id":"${id}"}`,
} as const;
type Order = keyof typeof ORDERS;
const orders = fc.constantFrom<Order>('usual', 'usual', 'spaced', 'id last');

const blocks = (texts: readonly string[], order: Order): string =>
  texts.map((input, index) => ORDERS[order](`call_${index}`, input)).join(',');

const chatBody = (texts: readonly string[], user = 'go'): string =>
  `{"model":"m","messages":[{"role":"user","content":${JSON.stringify(user)}},{"role":"assistant","content":null,"tool_calls":[${chatCalls(texts)}]},` +
  `${texts.map((_, index) => `{"role":"tool","tool_call_id":"call_${index}","content":"ok"}`).join(',')}]}`;

const messagesBody = (texts: readonly string[], order: Order = 'usual'): string =>
  `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[${blocks(texts, order)}]},{"role":"user","content":[` +
  `${texts.map((_, index) => `{"type":"tool_result","tool_use_id":"call_${index}","content":"ok"}`).join(',')}]}]}`;

const chatReply = (texts: readonly string[]): string =>
  `{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[${chatCalls(texts)}]}}]}`;

const messagesReply = (texts: readonly string[], order: Order = 'usual'): string =>
  `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"é"},${blocks(texts, order)}],"stop_reason":"tool_use"}`;

describe('any arguments cross as they were written', () => {
  it("from a chat client's history", () => {
    fc.assert(
      fc.property(calls, fc.boolean(), (texts, long) => {
        const body = crossed('chat', chatBody(texts, long ? 'x'.repeat(140_000) : 'go'));
        texts.forEach((args, index) => {
          expect(inside(body, 'messages', 1, 'content', index, 'input')).toEqual(read(args));
        });
      }),
    );
  });

  it("from a messages client's history", () => {
    fc.assert(
      fc.property(calls, orders, (texts, order) => {
        const body = crossed('messages', messagesBody(texts, order));
        texts.forEach((input, index) => {
          const args = string(inside(body, 'messages', 1, 'tool_calls', index, 'function', 'arguments'));
          expect(read(args)).toEqual(read(input));
        });
      }),
    );
  });

  it('beside others of the same id', () => {
    const decoy = '{"id":"call_1","input":{"n":1}}';
    const texts = [
      `{"a":${decoy},"b":"\\"id\\":\\"call_1\\",\\"input\\":{}","c":1.0}`,
      '{"n":2.0}',
      '{"n":3.0}',
    ];
    const body = crossed('messages', messagesBody(texts));
    const args = texts.map((_, index) =>
      string(inside(body, 'messages', 1, 'tool_calls', index, 'function', 'arguments')),
    );
    expect(args).toEqual(texts);
  });

  it('in a reply to a messages client', () => {
    fc.assert(
      fc.property(calls, (texts) => {
        const { written } = reply('chat', chatReply(texts));
        texts.forEach((args, index) => {
          expect(inside(written, 'content', index, 'input')).toEqual(read(args));
        });
      }),
    );
  });

  it('in a reply to a chat client', () => {
    fc.assert(
      fc.property(calls, orders, (texts, order) => {
        const { written } = reply('messages', messagesReply(texts, order));
        texts.forEach((input, index) => {
          const way = ['choices', 0, 'message', 'tool_calls', index, 'function', 'arguments'];
          expect(read(string(inside(written, ...way)))).toEqual(read(input));
        });
      }),
    );
  });

  it("in the start frame of a messages provider's stream", () => {
    fc.assert(
      fc.property(object, orders, (input, order) => {
        const start = `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":${blocks([input.replaceAll(/[\n\t]/g, ' ')], order)}}\n\n`;
        const stop = 'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n';
        const given = eventsIn('messages', start + stop).find((event) => event.type === 'tool_delta');
        expect(read(given?.text ?? '')).toEqual(read(input));
      }),
    );
  });

  it('where a client or a server sends the object itself to chat', () => {
    fc.assert(
      fc.property(object, (args) => {
        const call = `[{"id":"call_0","type":"function","function":{"name":"f","arguments":${args}}}]`;
        const { decoded } = reply(
          'chat',
          chatReply([]).replace('"tool_calls":[]', () => `"tool_calls":${call}`),
        );
        const body = chatBody([]).replace('"tool_calls":[]},', () => `"tool_calls":${call}}`);
        expect(decoded.parts.map((part) => part.type === 'tool_call' && read(part.arguments))).toEqual([
          read(args),
        ]);
        expect(inside(crossed('chat', body), 'messages', 1, 'content', 0, 'input')).toEqual(read(args));
      }),
    );
  });

  it('wrapped, where they are JSON but no object', () => {
    fc.assert(
      fc.property(any, (args) => {
        fc.pre(!args.startsWith('{'));
        const { written } = reply('chat', chatReply([args]));
        expect(inside(written, 'content', 0, 'input', 'value')).toEqual(read(args));
      }),
    );
  });
});

describe('exactJson', () => {
  const BIG = '{"id":12345678901234567890}';
  const big = (): JsonObject => argumentsToObject(BIG).value;

  it('writes what remembers no text as JSON.stringify does', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => rawJson(value) === JSON.stringify(value)));
  });

  it('writes the same object each time, at any place', () => {
    const one = big();
    expect(rawJson({ a: [one, 1, one], b: one })).toBe(`{"a":[${BIG},1,${BIG}],"b":${BIG}}`);
    expect(rawJson(one)).toBe(BIG);
  });

  it('does not change what anyone else sees of the object', () => {
    const one = big();
    expect(one).toEqual({ id: 12345678901234567000 });
    expect(Object.keys(one)).toEqual(['id']);
    expect(JSON.stringify({ one })).toBe('{"one":{"id":12345678901234567000}}');
    expect(structuredClone(one)).toEqual({ id: 12345678901234567000 });
  });

  it('can be called while it writes', () => {
    const one = big();
    let inner = '';
    const other = { toJSON: (): string => (inner = rawJson([one])) };
    expect(rawJson([one, other, one])).toBe(`[${BIG},${JSON.stringify(`[${BIG}]`)},${BIG}]`);
    expect(inner).toBe(`[${BIG}]`);
  });

  it('leaves the next writing alone after one that failed', () => {
    const ring: Record<string, unknown> = {};
    ring.self = ring;
    expect(() => rawJson(ring)).toThrow(TypeError);
    expect(JSON.stringify(big())).toBe('{"id":12345678901234567000}');
  });

  it('spells no half of a surrogate pair', () => {
    const { value } = argumentsToObject('{"a":1.0,"b":"\\ud83c","c":"\\ud83c\\udf89"}');
    expect(rawJson(value)).toBe('{"a":1.0,"b":"\ufffd","c":"🎉"}');
  });

  it('spells none in the text of an object either', () => {
    const half = { '\ud83c': ['\udf89', '🎉', '\\ud83c'] };
    expect(rawObjectJson(half)).toBe('{"\ufffd":["\ufffd","🎉","\\\\ud83c"]}');
  });
});

describe('arguments that are nested deeper than readers go', () => {
  const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;

  it('are carried as text', () => {
    expect(argumentsToObject(deep)).toEqual({ value: { _raw: deep }, repaired: true });
  });

  it('reach a messages client as text', () => {
    const { written } = reply('chat', chatReply([deep]));
    expect(string(inside(written, 'content', 0, 'input', '_raw'))).toBe(deep);
  });

  it('reach a chat client, whose arguments are text, as they were written', () => {
    const body = messagesReply([deep]);
    const [, call] = protocols.messages.provider.decodeReply(JSON.parse(body), body).parts;
    expect(call).toMatchObject({ type: 'tool_call', arguments: deep });
  });
});
