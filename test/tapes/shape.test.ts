// What a reproduction shows of a body: nothing of the user's is left in it, and its form is the same.
import { describe, expect, it } from 'vitest';
import { Shaper } from '../../src/tapes/repro/shape.ts';
import { CORPUS } from '../fixtures/corpus.ts';

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Stands in every text, in names of arguments, and in every form in which users write. */
const PLANTED =
  ' zqword /home/zqann/zqfile.ts https://zq.example/zqpath zq@zq.example ZQ_KEY=zqvalue \\u007a\\u0071 чqслово 漢字zq';

/** Names of tools, types and roles are kept on purpose. */
const KEPT = new Set(['type', 'role', 'name', 'model', 'status']);

function planted(value: Json, key = ''): Json {
  if (typeof value === 'string') {
    if (KEPT.has(key)) return value;
    return /^\s*\{/.test(value) && isJson(value)
      ? JSON.stringify(planted(JSON.parse(value) as Json))
      : value + PLANTED;
  }
  if (Array.isArray(value)) return value.map((item) => planted(item, key));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]): [string, Json] => [
    name,
    planted(member, name),
  ]);
  return { ...Object.fromEntries(members), zqmember: { zqinner: ['zqlast', 4711_0815] } };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const shaped = (value: unknown): Json =>
  JSON.parse(new Shaper(new Set()).json(JSON.stringify(value))) as Json;

describe.each(CORPUS)('%s', (_, { body }) => {
  it('has nothing planted in its shape: no word, file, address, key or number', () => {
    const text = JSON.stringify(shaped(planted(body as Json)));
    expect(text).not.toMatch(/zq|4711|0815|слово|漢|\\\\u007a/i);
  });

  it('keeps its form: members, roles, types, names of tools, lengths of texts', () => {
    const given = body as Record<string, Json>;
    const shape = shaped(body) as Record<string, Json>;
    const listOf = (value: Record<string, Json>) =>
      (value['messages'] ?? value['input'] ?? []) as Record<string, Json>[];
    const outline = (value: Record<string, Json>) =>
      listOf(value).map(({ role, type, content }) => [
        role,
        type,
        Array.isArray(content) ? content.map((part) => (part as { type: string }).type) : typeof content,
      ]);
    expect(outline(shape)).toEqual(outline(given));
    const toolNames = (value: Record<string, Json>) =>
      ((value['tools'] ?? []) as { name?: string; function?: { name: string } }[]).map(
        (tool) => tool.name ?? tool.function?.name,
      );
    expect(toolNames(shape)).toEqual(toolNames(given));
    expect(Object.keys(shape).length).toBe(Object.keys(given).length);
    const lengths = (value: Json): number[] =>
      typeof value === 'string'
        ? [value.length]
        : typeof value === 'object' && value !== null
          ? Object.values(value).flatMap(lengths)
          : [];
    expect(lengths(listOf(shape))).toEqual(lengths(listOf(given)));
  });
});

describe('a shape', () => {
  const shaper = () => new Shaper(new Set(['gpt-5.2']));
  const of = (value: unknown) => JSON.parse(shaper().json(JSON.stringify(value))) as unknown;

  it('pairs calls with their results, and arguments with the schema', () => {
    expect(
      of({
        model: 'gpt-5.2',
        tools: [
          {
            type: 'function',
            function: {
              name: 'read_file',
              description: 'Reads it.',
              parameters: {
                type: 'object',
                properties: { path: { type: 'string' }, mode: { enum: ['raw', 'text'], default: 'raw' } },
                required: ['path'],
              },
            },
          },
        ],
        messages: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              {
                id: 'call_abcd1',
                type: 'function',
                function: { name: 'read_file', arguments: '{"path":"/etc/x","mode":"raw"}' },
              },
              {
                id: 'call_abcd2',
                type: 'function',
                function: { name: 'read_file', arguments: '{"path":"/etc/y"}' },
              },
            ],
          },
          { role: 'tool', tool_call_id: 'call_abcd2', content: 'Root: 17' },
        ],
      }),
    ).toEqual({
      model: 'gpt-5.2',
      tools: [
        {
          type: 'function',
          function: {
            name: 'read_file',
            description: 'Xxxxx xx.',
            parameters: {
              type: 'object',
              properties: { xxxx: { type: 'string' }, xxxb: { enum: ['xxx', 'xxxx'], default: 'xxx' } },
              required: ['xxxx'],
            },
          },
        },
      ],
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_00001',
              type: 'function',
              function: { name: 'read_file', arguments: '{"xxxx":"/xxx/x","xxxb":"xxx"}' },
            },
            {
              id: 'call_00002',
              type: 'function',
              function: { name: 'read_file', arguments: '{"xxxx":"/xxx/x"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_00002', content: 'Xxxx: 11' },
      ],
    });
  });

  it('keeps what an error says, without the names in it', () => {
    const body = {
      error: {
        type: 'invalid_request_error',
        message:
          'messages.3: `tool_use` ids were found without `tool_result`: toolu_01Annabel, file Kowalski.md',
      },
    };
    expect(of(body)).toEqual({
      error: {
        type: 'invalid_request_error',
        message:
          'messages.3: `tool_use` ids were found without `tool_result`: xxxxx_11Xxxxxxx, file Xxxxxxxx.xx',
      },
    });
  });

  it('keeps broken JSON broken, and what is JSON JSON', () => {
    expect(shaper().text('{"path":"a\\n\\"b","n":12,"ok":tru')).toBe('{"xxxx":"x\\n\\"x","x":11,"xx":xxx');
    expect(of({ role: 'user', content: '{"a":true,"b":null}' })).toEqual({
      role: 'user',
      content: '{"x":true,"b":null}',
    });
  });

  it('shows no image, and cuts a long text', () => {
    const url = `data:image/png;base64,${'iVBORw0KGgo'.repeat(10_000)}`;
    const text = JSON.stringify(of({ content: [{ type: 'image_url', image_url: { url } }] }));
    expect(text).toContain('data:image/png;base64,xXXXXx1XXxx');
    expect(text).toContain('and 109000 more characters');
  });

  it('takes as long as it has characters', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(() => shaper().json(deep)).not.toThrow();
    expect(shaper().text('\\'.repeat(20_000))).toHaveLength(20_000);
  });
});
