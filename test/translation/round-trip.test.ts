// A request that crosses to another protocol and back says the same, but for what the warnings name: over the requests of
// real programs, the fixtures and made-up conversations.
import { readFileSync, readdirSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repairHistory } from '../../src/canonical/history.ts';
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';
import {
  PROTOCOL_NAMES,
  type CustomTool,
  type FunctionTool,
  type Part,
  type ProtocolName,
  type GenerationRequest,
  type NativeField,
  type ToolResultPart,
  type Warning,
} from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../src/canonical/traits.ts';
import { effortOf } from '../../src/protocols/shared/effort.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { argumentsToObject } from '../../src/protocols/shared/tools/tool-names.ts';
import { CORPUS } from '../fixtures/corpus.ts';
import { PATHS } from '../helpers/ask.ts';
import { bodyOf } from '../../src/protocols/json/body.ts';

/** A server that takes all that its protocol has. */
const GENEROUS: Traits = {
  ...DEFAULT_TRAITS,
  topK: true,
  replayReasoning: 'always',
  cacheMarks: 'cache_control',
  cacheKey: true,
  thinkingAdaptive: true,
  midSystem: true,
  serverTools: true,
  maxStop: 100,
  forcedTools: 'always',
};

interface Said {
  system: string;
  turns: {
    role: string;
    text: string;
    calls: object[];
    results: object[];
    media: JsonValue[];
  }[];
  [option: string]: unknown;
}

/** Text without what joining, tagging and placeholders do to it. */
function words(text: string): string {
  return text
    .replaceAll(/<\/?system(?:_message)?>/g, '')
    .replaceAll(/\[(?:image|document|audio) attached below\]/g, '')
    .replaceAll(/\s+/g, '');
}

function textOf(parts: readonly Part[]): string {
  return words(parts.map((part) => (part.type === 'text' ? part.text : '')).join(''));
}

function mediaOf(parts: readonly Part[]): JsonValue[] {
  return parts.flatMap((part): JsonValue[] => {
    if (part.type === 'image') return [part.source];
    if (part.type === 'tool_result') return typeof part.content === 'string' ? [] : mediaOf(part.content);
    if (part.type !== 'document') return [];
    const { source } = part;
    if (source.kind === 'parts') return mediaOf(source.parts);
    return source.kind === 'text' ? [] : [source];
  });
}

function resultOf({ callId, content, isError }: ToolResultPart): object {
  const text = typeof content === 'string' ? words(content) : textOf(content);
  // Chat has no mark of an error: the text says it.
  return { callId, text: isError === true && !/^error/i.test(text) ? `Error:${text}` : text };
}

/** What a conversation says, in the coarsest form that both protocols share. */
function said(request: GenerationRequest): Said {
  const turns: Said['turns'] = [];
  let system = '';
  for (const { role, parts } of request.messages) {
    if (role === 'system' && turns.length === 0) {
      system += textOf(parts);
      continue;
    }
    // System text in mid-conversation may stand in a user's turn.
    const side = role === 'assistant' ? 'assistant' : 'user';
    let turn = turns.at(-1);
    if (turn?.role !== side) {
      turn = { role: side, text: '', calls: [], results: [], media: [] };
      turns.push(turn);
    }
    turn.text += textOf(parts);
    turn.media.push(...mediaOf(parts));
    for (const part of parts) {
      if (part.type === 'tool_call') {
        const args =
          part.custom === true ? { input: part.arguments } : argumentsToObject(part.arguments).value;
        turn.calls.push({ id: part.id, name: part.name, args });
      } else if (part.type === 'tool_result') turn.results.push(resultOf(part));
    }
  }
  const { maxOutputTokens, temperature, topP, topK, stop, user, stream, toolChoice } = request;
  return {
    system,
    turns,
    maxOutputTokens,
    temperature,
    topP,
    topK,
    stop,
    stream,
    user,
    toolChoice: toolChoice?.type === 'auto' ? undefined : toolChoice,
    tools: request.tools?.flatMap((tool) => (tool.type === 'native' ? [] : [toolOf(tool)])),
    single: request.parallelToolCalls === false,
    effort: effortAsked(request),
    schema: request.responseFormat?.type === 'json_schema' ? request.responseFormat.schema : undefined,
  };
}

/** A function of one text may stand for a custom tool, whose grammar is then told in words. */
function toolOf(tool: FunctionTool | CustomTool): object {
  const { name, description } = tool;
  const parameters = tool.type === 'custom' ? FREE_TEXT : schemaOf(tool.parameters);
  return isDeepStrictEqual(parameters, FREE_TEXT) ? { name } : { name, description, parameters };
}

const FREE_TEXT = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };

/** A budget is the effort whose budget it reaches. */
function effortAsked({ reasoning }: GenerationRequest): string | undefined {
  if (reasoning?.mode === 'off') return 'none';
  const { effort, budgetTokens } = reasoning ?? {};
  return effort ?? (budgetTokens === undefined ? undefined : effortOf(budgetTokens));
}

/** No schema is the schema of no arguments. */
function schemaOf(parameters: JsonObject | undefined): JsonObject {
  const empty = parameters === undefined || Object.keys(parameters).length === 0;
  return empty ? { type: 'object', properties: {} } : { type: 'object', ...parameters };
}

/** Options that a warning explains. What a conversation says is never among them. */
const EXPLAINED: Record<string, readonly string[]> = {
  maxOutputTokens: ['maxOutputTokens'],
  temperature: ['temperature'],
  topP: ['topP'],
  topK: ['topK'],
  stop: ['stop'],
  user: ['user'],
  toolChoice: ['toolChoice'],
  effort: ['reasoning', 'reasoning.effort', 'reasoning.budgetTokens'],
  schema: ['responseFormat'],
};

function withoutExplained(value: Said, warnings: readonly Warning[]): Said {
  const named = new Set(warnings.map(({ field }) => (typeof field === 'string' ? field : field.path)));
  const left = Object.entries(value).filter(
    ([name]) => !(EXPLAINED[name] ?? []).some((field) => named.has(field)),
  );
  return Object.fromEntries(left) as Said;
}

interface Crossed {
  before: GenerationRequest;
  after: GenerationRequest;
  warnings: Warning[];
}

function cross(request: GenerationRequest, to: ProtocolName, traits: Traits): Crossed {
  const repaired = repairHistory(request, { rules: protocols[to].provider.historyRules, traits });
  const { body, warnings } = protocols[to].provider.encodeRequest(repaired.request, request.model, traits);
  const wire = JSON.parse(JSON.stringify(body)) as JsonObject;
  protocols[to].client.endpoints[0].readEnvelope(bodyOf(wire), {});
  return {
    before: repaired.request,
    after: protocols[to].client.decodeRequest(wire),
    warnings: [...repaired.warnings, ...warnings],
  };
}

function expectSame({ before, after, warnings }: Crossed): void {
  const asked = withoutExplained(said(before), warnings);
  const got = withoutExplained(said(after), warnings);
  // messages demands a limit, so that one may come in; nothing else may.
  for (const [name, value] of Object.entries(asked)) expect(got[name], name).toEqual(value);
}

function expectRoundTrip(request: GenerationRequest, to: ProtocolName, traits: Traits): Warning[] {
  const there = cross(request, to, traits);
  expectSame(there);
  const back = cross(there.after, request.protocol as ProtocolName, traits);
  expectSame(back);
  return there.warnings;
}

const REQUESTS = [
  ...CORPUS.filter(([, { path }]) => !path.includes('count_tokens')).map(
    ([name, { path, body }]): [string, ProtocolName, JsonObject] => [
      name,
      PROTOCOL_NAMES.find((protocol) => PATHS[protocol] === path) ?? 'messages',
      body as JsonObject,
    ],
  ),
  ...readdirSync(new URL('../fixtures/cases/', import.meta.url)).flatMap((name) =>
    PROTOCOL_NAMES.map((protocol): [string, ProtocolName, JsonObject] => {
      const file = new URL(`../fixtures/cases/${name}/${protocol}.request.json`, import.meta.url);
      return [`${name}, ${protocol}`, protocol, JSON.parse(readFileSync(file, 'utf8')) as JsonObject];
    }),
  ),
];

/** What an echoed item of an answer bears has no use in a new one. */
function ofItems(path: string, fate: NativeField['fate']): boolean {
  return path.startsWith('input[]') && fate === 'quiet';
}

describe.each(REQUESTS)('%s', (_name, protocol, body) => {
  const others = PROTOCOL_NAMES.filter((name) => name !== protocol);
  const targets = others.flatMap((to): [string, ProtocolName, Traits][] => [
    ['a generous server', to, GENEROUS],
    ['any server', to, DEFAULT_TRAITS],
  ]);

  it.each(targets)(
    'crosses to %s of %s and back with nothing lost but what is named',
    (_server, to, traits) => {
      const before = structuredClone(body);
      const warnings = expectRoundTrip(protocols[protocol].client.decodeRequest(body), to, traits);
      expect(body).toEqual(before);
      for (const { detail } of warnings) expect(detail).not.toBe('');
    },
  );

  it('is the same value decoded, encoded and decoded again', () => {
    const wire = protocols[protocol];
    const decoded = wire.client.decodeRequest(body);
    const { request } = repairHistory(decoded, { rules: wire.provider.historyRules, traits: GENEROUS });
    const { body: encoded, warnings } = wire.provider.encodeRequest(request, decoded.model, GENEROUS);
    const again = wire.client.decodeRequest(encoded);
    expectSame({ before: request, after: again, warnings });
    const { native } = again;
    // Attribution goes to nobody but its own provider, which gets it byte for byte.
    const stays = ({ path, fate }: NativeField): boolean => path !== 'system[]' && !ofItems(path, fate);
    expect(native.filter(stays)).toEqual(request.native.filter(stays));
  });
});

// -- made-up conversations --

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map((text) => `${text}.`);
const picture = fc.constantFrom<JsonObject>(
  { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
  { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
);
const userContent = fc.oneof(
  word,
  fc.array(
    fc.oneof(
      word.map((text): JsonObject => ({ type: 'text', text })),
      picture,
    ),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
);
const callArb = fc.record({
  id: fc.oneof(fc.constantFrom('call_0', 'call_1', 'functions.Read:0'), fc.stringMatching(/^[a-z.:]{1,50}$/)),
  name: fc.constantFrom('read', 'a.long/name', 'n'.repeat(80)),
  args: fc.dictionary(word, fc.oneof(word, fc.integer())),
  result: word,
});
const turn = fc.oneof(
  userContent.map((content): JsonObject[] => [{ role: 'user', content }]),
  word.map((content): JsonObject[] => [{ role: 'system', content }]),
  word.map((content): JsonObject[] => [{ role: 'assistant', content }]),
  fc
    .tuple(
      fc.option(word, { nil: null }),
      fc.uniqueArray(callArb, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
      fc.boolean(),
    )
    .map(([content, calls, whole]): JsonObject[] => [
      {
        role: 'assistant',
        content,
        tool_calls: calls.map(({ id, name, args }) => ({
          id,
          type: 'function',
          function: { name, arguments: JSON.stringify(args) },
        })),
      },
      ...calls
        .slice(whole ? 0 : 1)
        .map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
    ]),
);

/** Names and ids as the wire that they went to wrote them; which call has which result must stay. */
function renamed(value: Said): Said {
  const ids = new Map<unknown, number>();
  const number = (id: unknown): number => ids.get(id) ?? (ids.set(id, ids.size), ids.size - 1);
  const turns = value.turns.map((one) => ({
    ...one,
    calls: one.calls.map((made) => {
      const { id, args } = made as { id: string; args: object };
      return { id: number(id), args };
    }),
    results: one.results.map((given) => ({ ...given, callId: number((given as { callId: string }).callId) })),
  }));
  return { ...value, turns, tools: undefined };
}

describe('a made-up conversation', () => {
  it.each(['messages', 'responses'] as const)(
    'crosses from chat to %s and back with every text, call, result and picture',
    (to) => {
      fc.assert(
        fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), (turns) => {
          const messages = [...turns.flat(), { role: 'user', content: 'Go on.' }];
          const request = protocols.chat.client.decodeRequest({ model: 'm', max_tokens: 100, messages });
          const there = cross(request, to, GENEROUS);
          const [asked, got] = [renamed(said(there.before)).turns, renamed(said(there.after)).turns];
          // On messages a conversation that does not begin with the user gets a turn that says nothing.
          if (to === 'messages' && asked[0]?.role !== 'user')
            expect(got.shift()).toMatchObject({ role: 'user', text: '.' });
          expect(got).toEqual(asked);
          expect(said(there.after).system).toBe(said(there.before).system);
          const back = cross(there.after, 'chat', GENEROUS);
          expect(renamed(said(back.after)).turns).toEqual(renamed(said(back.before)).turns);
        }),
      );
    },
  );
});
