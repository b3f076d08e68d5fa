// Bodies are read by spans as JSON.parse reads them: the same verdict, the same words, the same values. READER_BODIES=200000 runs
// as many bodies as a release should have seen.
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonValue } from '../../../src/canonical/json.ts';
import { GatewayError } from '../../../src/errors.ts';
import { ownArrival, readRequest } from '../../../src/gateway/inbound/read-request.ts';
import { bodyIn, readJson, type JsonNode } from '../../../src/protocols/json/body.ts';
import { MAX_LEVELS } from '../../../src/protocols/json/raw-json.ts';
import { scanMembers } from '../../../src/protocols/json/splice.ts';
import { protocols } from '../../../src/protocols/registry.ts';
import { bodyMaker } from './bodies.ts';

const BODIES = Number(process.env['READER_BODIES'] ?? 4000);
const MOST_VALUES = 300;
const SEED = 43;

/** What is refused, and why, by the parser itself. */
function verdictOf(text: string): string | undefined {
  const { tooDeep, values, duplicates } = scanMembers(Buffer.from(text), MAX_LEVELS);
  if (tooDeep) return `the body is nested deeper than ${MAX_LEVELS} levels`;
  if (values > MOST_VALUES) return `the body holds more than ${MOST_VALUES} JSON values (limits.max_values)`;
  try {
    if (!isObject(JSON.parse(text))) return 'the body must be a JSON object';
  } catch (error) {
    const { message } = error as Error;
    const hint = text.trim() === '' ? 'it is empty' : message;
    return `the body is not valid JSON: ${hint.slice(0, 200)}`;
  }
  const [twice] = duplicates;
  return twice === undefined ? undefined : `the field ${JSON.stringify(twice)} is given twice`;
}

const OF_THE_READER = /^the (?:body|field "(?:[^"\\]|\\.)*" is given twice)/;

/** undefined: the reader took it, whatever the protocol says of it. */
function refusalOf(name: keyof typeof protocols, bytes: Buffer): string | undefined {
  try {
    readRequest(ownArrival(protocols[name]), bytes, MOST_VALUES);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (OF_THE_READER.test(error.message)) return error.message;
  }
  return undefined;
}

/** Whether a node tells of its value what the parsed one is. */
function tells(node: JsonNode, value: JsonValue | undefined): boolean {
  if (node.isNull !== (value === null) || node.isObject !== isObject(value)) return false;
  if (Array.isArray(value)) {
    const items = node.items();
    const isWhole = items.length === value.length && node.isEmpty === (value.length === 0);
    return node.isList && isWhole && items.every((item, at) => tells(item, value[at]));
  }
  if (node.isList || node.text !== (typeof value === 'string' ? value : undefined)) return false;
  if (isObject(value)) {
    const found = Object.entries(value).filter(([name]) => isAscii(name));
    return found.every(([name, member]) => {
      const inner = node.get(name);
      return inner !== undefined && tells(inner, member);
    });
  }
  const begins = ['data:application/pdf', 'x', ''].every(
    (text) => typeof value !== 'string' || node.startsWith(text) === value.startsWith(text),
  );
  return begins && Object.is(node.value, value);
}

const isAscii = (text: string): boolean => !/[^ -~]/.test(text);

describe(`${BODIES} random, cut, doubled, deep and hostile bodies`, () => {
  it.each(['chat', 'messages', 'responses'] as const)('of %s', { timeout: 600_000 }, (name) => {
    const make = bodyMaker(name, SEED);
    let taken = 0;
    for (let at = 0; at < BODIES / 3; at++) {
      const bytes = Buffer.from(make());
      const text = bytes.toString();
      const refusal = refusalOf(name, bytes);
      const verdict = verdictOf(text);
      if (refusal !== verdict) expect([text, refusal]).toEqual([text, verdict]);
      if (verdict !== undefined) continue;
      taken++;
      const body = bodyIn(bytes);
      const value = JSON.parse(text) as JsonValue;
      if (!isDeepStrictEqual(body.value, value)) expect(body.value).toStrictEqual(value);
      if (!tells(body.root, value)) expect(text).toBe('told as it is parsed');
    }
    // Neither all of them nor none.
    expect(taken).toBeGreaterThan(BODIES / 30);
    expect(taken).toBeLessThan(BODIES / 3);
  });
});

describe('the value of a large body', () => {
  const text = `{"10":1,"model":"m","2":[1e999,-0,12345678901234567890],"__proto__":{"x":1},"text":"${'\\ud83d'.repeat(2000)}","a":{"b":"\\u00e9"}}`;
  const parsed = JSON.parse(text) as Record<string, unknown>;

  it('is that of JSON.parse, in its order', () => {
    const { value } = bodyIn(Buffer.from(text));
    expect(Object.keys(value)).toEqual(Object.keys(parsed));
    expect(JSON.stringify(value)).toBe(JSON.stringify(parsed));
    expect(value.model).toBe('m');
    expect({ ...value }).toEqual({ ...parsed });
  });

  it('parses a member when it is read, once', () => {
    const { value } = bodyIn(Buffer.from(text));
    const isParsed = (name: string) => 'value' in (Object.getOwnPropertyDescriptor(value, name) ?? {});
    expect(isParsed('a')).toBe(false);
    const first = value.a;
    expect(value.a).toBe(first);
    expect([isParsed('a'), isParsed('2')]).toEqual([true, false]);
  });

  it('can be changed like another object', () => {
    const { value } = bodyIn(Buffer.from(text));
    value.a = 7;
    delete value.model;
    expect([value.a, 'model' in value]).toEqual([7, false]);
  });
});

describe('a body that was released', () => {
  it('is not read any more, whoever has a part of it', () => {
    const body = bodyIn(Buffer.from('{"a":{"b":"secret"}}'));
    const node = body.member('a');
    body.release();
    body.release();
    bodyIn(Buffer.from('{"c":{"b":"of another"}}'));
    expect(() => node?.textOf('b')).toThrow('the body was released');
    expect(() => body.list('a')).toThrow('the body was released');
  });

  it('gives its memory to one body alone', () => {
    const first = bodyIn(Buffer.from('{"a":"1"}'));
    first.release();
    first.release();
    const bodies = [1, 2, 3].map((at) => bodyIn(Buffer.from(`{"a":"${'x'.repeat(at)}","b":[${at}]}`)));
    expect(bodies.map((body) => body.member('a')?.text)).toEqual(['x', 'xx', 'xxx']);
  });
});

describe('what stands in a body, wherever it is', () => {
  const body = bodyIn(
    Buffer.from(
      '{"type":"a","x":[{"\\u0074ype":"b"},{"type":"th\\u0069s"},{"type":7}],"y":{"names":["type"]}}',
    ),
  );
  it.each([
    ['types', [...body.types], ['a', 'b', 'this']],
    [
      'names',
      ['x', 'names', 'type', 'a', 'zzz'].filter((name) => body.hasName(name)),
      ['x', 'names', 'type'],
    ],
  ])('%s', (_, found, expected) => {
    expect(found).toEqual(expected);
  });
});

describe('names that nobody but an attacker writes', () => {
  it('are not kept in memory when their body is gone', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heap = (): number => {
      collect();
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    for (let at = 0; at < 60; at++) {
      const body = bodyIn(Buffer.from(`{"${at}${'k'.repeat(1_000_000)}":${at},"model":"m"}`));
      expect(body.value.model).toBe('m');
      body.release();
    }
    expect(heap() - before).toBeLessThan(30_000_000);
  });

  it('are not decoded each time that another name is looked for', () => {
    const bytes = Buffer.from(`{"${'\\u0061'.repeat(200_000)}":1,"m\\u006Fd\\u0065l":"m"}`);
    const body = bodyIn(bytes);
    const timeOf = (times: number, work: () => unknown): number => {
      const from = performance.now();
      for (let left = times; left > 0; left--) work();
      return performance.now() - from;
    };
    const parsed = timeOf(20, () => JSON.parse(bytes.toString()));
    expect(timeOf(200, () => body.member('model'))).toBeLessThan(parsed);
    expect([body.member('model')?.text, body.member('mode'), body.member('models')]).toEqual([
      'm',
      undefined,
      undefined,
    ]);
  });
});

describe('bounds', () => {
  const read = (text: string, maxDepth = 3, maxValues = 4) =>
    readJson(Buffer.from(text), { maxDepth, maxValues });
  it.each([
    ['{"a":[[1]]}', true],
    ['{"a":[[{}]]}', false],
    ['{"a":[1,2]}', true],
    ['{"a":[1,2,3]}', false],
  ])('%s: %s', (text, isRead) => {
    expect(read(text) !== undefined).toBe(isRead);
  });
});

describe('long strings', () => {
  const LONG = 'An image, or é plain prose. '.repeat(90);
  const isRead = (text: string): boolean => readJson(Buffer.from(text)) !== undefined;
  const isJson = (text: string): boolean => {
    try {
      return isObject(JSON.parse(text));
    } catch {
      return false;
    }
  };

  it.each(['"', '\\', '\\"', '\\\\', '\\n', '\\u00e9', '\\x', '\u0001', '\n', '\x7f', 'é'])(
    'with %j at any place',
    (mark) => {
      for (let at = 1000; at < LONG.length; at += 61) {
        const text = `{"a":"${LONG.slice(0, at)}${mark}${LONG.slice(at)}","b":["${LONG}",{"c":"${LONG}\\""}]}`;
        expect(isRead(text), text.slice(0, at + 30)).toBe(isJson(text));
        if (isJson(text)) expect(bodyIn(Buffer.from(text)).value).toEqual(JSON.parse(text));
      }
    },
  );

  it('that do not end', () => {
    expect([`{"a":"${LONG}`, `{"a":"${LONG}\\`, `{"a":"${LONG}\\"}`].map(isRead)).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('take time that grows with their length', { timeout: 60_000 }, () => {
    const escaped = (times: number): Buffer =>
      Buffer.from(`{"a":"${`${'x'.repeat(1500)}\\n`.repeat(times)}","b":"${'y'.repeat(1500 * times)}"}`);
    const timeOf = (bytes: Buffer): number => {
      const times = [1, 2, 3, 4, 5].map(() => {
        const at = process.cpuUsage();
        expect(readJson(bytes)).toBeDefined();
        const { user, system } = process.cpuUsage(at);
        return user + system;
      });
      return Math.min(...times);
    };
    timeOf(escaped(100));
    const [short, long] = [timeOf(escaped(500)), timeOf(escaped(10_000))];
    expect(long / short).toBeLessThan(200);
  });
});

it('reads bytes at any place of their memory', () => {
  const text = `{"model":"m","long":"${'x'.repeat(100)}\\n${'y'.repeat(77)}","end":"${'z'.repeat(63)}é"}`;
  for (let before = 0; before < 8; before++) {
    const memory = Buffer.alloc(before + Buffer.byteLength(text) + 3, '"');
    const bytes = memory.subarray(before, before + memory.write(text, before));
    expect(bodyIn(bytes).value).toEqual(JSON.parse(text));
    const broken = Buffer.from(bytes);
    broken[broken.lastIndexOf('z')] = 0x1f;
    expect(readJson(broken)).toBeUndefined();
  }
});
