// Schemas of structured answers and strict tools: each protocol takes a part of JSON Schema, and nothing is lost without a word.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { crossTo } from './cross.ts';
import { translated } from './translated.ts';

const closed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});
const TEXT = { type: 'string' };
const OPEN = { type: 'object', properties: { a: TEXT } };

function strictness(schema: JsonObject): unknown {
  const { body } = translated('messages', { output_config: { format: { type: 'json_schema', schema } } });
  return (body.response_format as { json_schema: { strict: unknown } }).json_schema.strict;
}

describe("OpenAI's strict mode is asked for where the schema is of its subset", () => {
  it.each<[string, JsonObject]>([
    ['closed', closed({ a: TEXT })],
    ['closed within', closed({ a: closed({ b: { type: 'array', items: closed({ c: TEXT }) } }) })],
    ['alternatives within', closed({ a: { anyOf: [TEXT, closed({ b: TEXT })] } })],
    ['definitions', closed({ a: { $ref: '#/$defs/t' } }, { $defs: { t: closed({ b: TEXT }) } })],
  ])('%s: yes', (_what, schema) => {
    expect(strictness(schema)).toBe(true);
  });

  it.each<[string, JsonObject]>([
    ['open', OPEN],
    ['a member that may be absent', closed({ a: TEXT }, { required: [] })],
    ['open within a member', closed({ a: OPEN })],
    ['open within a list', closed({ a: { type: 'array', items: OPEN } })],
    ['open within an alternative', closed({ a: { anyOf: [TEXT, OPEN] } })],
    ['open within a definition', closed({ a: { $ref: '#/$defs/t' } }, { $defs: { t: OPEN } })],
    ['a root of alternatives', { anyOf: [closed({ a: TEXT })] }],
    ['a root that is no object', { type: 'array', items: TEXT }],
    ...['allOf', 'oneOf', 'prefixItems'].map((name): [string, JsonObject] => [
      name,
      closed({ a: { [name]: [TEXT] } }),
    ]),
    ['not', closed({ a: { not: TEXT } })],
    ['patternProperties', closed({}, { patternProperties: { '^x': TEXT } })],
    ['uniqueItems', closed({ a: { type: 'array', items: TEXT, uniqueItems: true } })],
  ])('%s: no', (_what, schema) => {
    expect(strictness(schema)).not.toBe(true);
  });
});

describe('a responses tool that does not say whether it is strict', () => {
  const sent = (to: 'chat' | 'messages' | 'responses', parameters: JsonObject, more: JsonObject = {}) => {
    const tools = [{ type: 'function', name: 'f', parameters, ...more }];
    const { body, warnings } = crossTo('responses', to, { tools, max_output_tokens: 50 });
    const [tool] = body.tools as JsonObject[];
    return { tool: { ...tool, ...(tool?.function as JsonObject | undefined) }, warnings };
  };

  it.each([{}, { strict: null }])('is strict on chat where its schema is closed: %j', (more) => {
    expect(sent('chat', closed({ a: TEXT }), more).tool).toHaveProperty('strict', true);
  });

  it('is not where members are optional, nor where it says so', () => {
    expect(sent('chat', OPEN).tool).not.toHaveProperty('strict');
    expect(sent('chat', closed({ a: TEXT }), { strict: false }).tool).toHaveProperty('strict', false);
  });

  it('is not on messages, which is reported', () => {
    const { tool, warnings } = sent('messages', closed({ a: TEXT }));
    expect(tool).not.toHaveProperty('strict');
    expect(warnings).toMatchObject([{ effect: 'changed', field: 'tools.strict' }]);
    expect(sent('messages', OPEN).warnings).toEqual([]);
  });

  it('says nothing of it to a responses provider either', () => {
    expect(sent('responses', closed({ a: TEXT })).tool).not.toHaveProperty('strict');
  });
});

const format = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema, ...more } },
});
const schemaOf = (body: JsonObject): JsonObject =>
  (body.output_config as { format: { schema: JsonObject } }).format.schema;

describe('towards messages', () => {
  it('the values of a dictionary are described in words', () => {
    const scores = { type: 'object', additionalProperties: { type: 'number' } };
    const { body } = translated('chat', format(closed({ scores })));
    expect(schemaOf(body).properties).toEqual({
      scores: {
        type: 'object',
        additionalProperties: false,
        description: '{additionalProperties: {"type":"number"}}',
      },
    });
  });

  it("a format's description is the schema's", () => {
    const { body } = translated('chat', format(closed({ a: TEXT }), { description: 'Metric units.' }));
    expect(schemaOf(body).description).toBe('Metric units.');
    const own = translated(
      'chat',
      format(closed({ a: TEXT }, { description: 'Own.' }), { description: 'Other.' }),
    );
    expect(schemaOf(own.body).description).toBe('Own.');
  });

  it('a format that gives way to a forced call is named', () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: OPEN } }];
    const asked = { ...format(closed({ a: TEXT })), tools, tool_choice: 'required' };
    const { body, reports } = translated('chat', asked, { structuredOutput: false });
    expect(body).not.toHaveProperty('output_config');
    expect(reports).toContain('dropped responseFormat');
  });

  it.each<[string, JsonObject]>([
    ['the root', closed({ default: { $ref: '#' } })],
    [
      'a definition',
      closed({ a: { $ref: '#/$defs/t' } }, { $defs: { t: closed({ b: { $ref: '#/$defs/t' } }) } }),
    ],
  ])('a schema that refers to itself (%s) is a forced tool', (_what, schema) => {
    const { body, reports } = translated('chat', format(schema));
    expect(body).not.toHaveProperty('output_config');
    expect(body.tool_choice).toMatchObject({ type: 'tool', name: 'n' });
    expect(reports).toContain('changed responseFormat');
  });

  it('one that is used twice does not refer to itself', () => {
    const ref = { $ref: '#/$defs/t' };
    const { body } = translated(
      'chat',
      format(closed({ a: ref, b: ref }, { $defs: { t: closed({ c: TEXT }) } })),
    );
    expect(body).toHaveProperty('output_config');
  });
});
