// Lists of a request, in every order that is legal: entries that alternate, stand in groups, belong to nothing, or share their ids;
// and what the protocols share, which are turns, tools and their schemas.
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';

export type Make = (items: number) => JsonObject;

export function times(items: number, make: (at: number) => JsonValue): JsonValue[] {
  return Array.from({ length: items }, (_, at) => make(at));
}

/** A call, what it is answered with, and what may stand in between, as items of a protocol. */
export interface Kinds {
  call: (id: string) => JsonValue;
  result: (id: string) => JsonValue;
  other: JsonValue;
}

/** Of calls and their results. */
function orders(items: number, { call, result, other }: Kinds): Record<string, JsonValue[]> {
  const half = Math.ceil(items / 2);
  const calls = (id: (at: number) => string, count = half) => times(count, (at) => call(id(at)));
  const results = (id: (at: number) => string, count = half) => times(count, (at) => result(id(at)));
  const own = (at: number): string => `c${at}`;
  const same = (): string => 'c';
  const few = (at: number): string => `c${at % 10}`;
  const inTurn = (id: (at: number) => string) => times(half, (at) => [call(id(at)), result(id(at))]).flat();
  const among = (list: JsonValue[]) => list.flatMap((item) => [item, other]).slice(0, items);
  return {
    alternating: inTurn(own),
    'alternating, of one id': inTurn(same),
    'alternating, of ten ids': inTurn(few),
    'alternating, with others between': among(inTurn(own)),
    'in groups': [...calls(own), ...results(own)],
    'in groups, the results in reverse': [...calls(own), ...results((at) => own(half - 1 - at))],
    'in groups, of one id': [...calls(same), ...results(same)],
    'in groups, of ten ids': [...calls(few), ...results(few)],
    'in groups, with others between': [...calls(own), ...among(results(own))],
    'in groups of ten': times(items / 20, (group) => [
      ...calls((at) => own(group * 10 + at), 10),
      ...results((at) => own(group * 10 + at), 10),
    ]).flat(),
    'results before their calls': [...results(own), ...calls(own)],
    'results alone': results(own, items),
    'results alone, of one id': results(same, items),
    'results alone, with others between': among(results(own, items)),
    'calls alone': calls(own, items),
    'calls alone, of one id': calls(same, items),
    'calls alone, with others between': among(calls(own, items)),
    'results of one call': [call('c'), ...results(same, items)],
    'ids that look like those made unique': calls((at) => (at % 2 === 0 ? 'c' : `c_${(at + 1) / 2}`), items),
  };
}

/** The orders as makers, under names that begin with `what`. */
export function eachOrder(
  what: string,
  kinds: Kinds,
  wrap: (list: JsonValue[]) => JsonObject,
): [string, Make][] {
  return Object.keys(orders(0, kinds)).map((order) => [
    `${what} ${order}`,
    (items) => wrap(orders(items, kinds)[order] ?? []),
  ]);
}

/** One list of equal or numbered entries. */
export const list = (make: (at: number) => JsonValue, wrap: (list: JsonValue[]) => JsonObject): Make => {
  return (items) => wrap(times(items, make));
};

export const object = (items: number, entry: (at: number) => [string, JsonValue]): JsonObject =>
  Object.fromEntries(Array.from({ length: items }, (_, at) => entry(at)));

// -- what all protocols share: tools and their schemas --

/** Schemas with a long list at each place that has one. */
export const SCHEMAS: Record<string, (items: number) => JsonObject> = {
  'properties, all required': (items) => ({
    type: 'object',
    properties: object(items, (at) => [`p${at}`, { type: 'string' }]),
    required: times(items, (at) => `p${at}`),
    additionalProperties: false,
  }),
  'properties with a format': (items) => ({
    type: 'object',
    properties: object(items, (at) => [`p${at}`, { type: 'string', format: 'date', minLength: 1 }]),
  }),
  'values of an enum': (items) => ({
    type: 'object',
    properties: { a: { enum: times(items, (at) => `v${at}`) } },
  }),
  alternatives: (items) => ({
    type: 'object',
    properties: { a: { anyOf: times(items, (at) => ({ const: at })) } },
  }),
  definitions: (items) => ({
    type: 'object',
    $defs: object(items, (at) => [`d${at}`, { type: 'string' }]),
    properties: object(items, (at) => [`p${at}`, { $ref: `#/$defs/d${at}` }]),
  }),
};

const NAMES: Record<string, (at: number) => string> = {
  'names of their own': (at) => `tool_${at}`,
  'one name': () => 'tool',
  'names that no provider takes': (at) => `tool ${at}.x`,
  'long names': (at) => `${'long_'.repeat(20)}${at}`,
};

/** `tool`: of a protocol; `wrap`: the request with tools. */
export function eachTool(
  tool: (name: string, schema: JsonObject) => JsonObject & { function?: JsonObject },
): [string, Make][] {
  const plain: JsonObject = { type: 'object', properties: {} };
  return [
    ...Object.entries(NAMES).map(([what, name]): [string, Make] => [
      `tools of ${what}`,
      list(
        (at) => tool(name(at), plain),
        (tools) => ({ tools }),
      ),
    ]),
    ...Object.entries(SCHEMAS).map(([what, schema]): [string, Make] => [
      `a tool's ${what}`,
      (items) => ({ tools: [tool('f', schema(items))] }),
    ]),
    [
      "a tool's members that nobody knows",
      (items) => {
        const made = tool('f', plain);
        const unknown = object(items, (at) => [`u${at}`, 1]);
        return {
          tools: [
            { ...made, ...(made.function && { function: { ...made.function, ...unknown } }), ...unknown },
          ],
        };
      },
    ],
  ];
}

export const unknown: Make = (items) => object(items, (at) => [`unknown_${at}`, 1]);
export const metadata: Make = (items) => ({ metadata: object(items, (at) => [`m${at}`, 'v']) });

// -- turns of chat and messages --

export const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';
export const chatUser = (content: JsonValue): JsonObject => ({ role: 'user', content });
export const inMessages = (messages: JsonValue[]): JsonObject => ({ messages });
