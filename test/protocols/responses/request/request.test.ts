// Requests of responses clients as chat and messages providers get them, and requests of those clients on this wire.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repairHistory } from '../../../../src/canonical/history.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { ProtocolName } from '../../../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../../../src/canonical/traits.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { protocols } from '../../../../src/protocols/registry.ts';
import { toolDirectory } from '../../../../src/protocols/responses/request/tools.ts';
import { bodyOf } from '../../../../src/protocols/json/body.ts';

const { client } = protocols.responses;

function translate(from: ProtocolName, to: ProtocolName, members: JsonObject, over: Partial<Traits> = {}) {
  const traits = { ...DEFAULT_TRAITS, ...over };
  const request = protocols[from].client.decodeRequest({ model: 'm', ...members });
  const { provider } = protocols[to];
  const repaired = repairHistory(request, { rules: provider.historyRules, traits });
  const encoded = provider.encodeRequest(repaired.request, 'target', traits);
  const dropped = [...repaired.warnings, ...encoded.warnings]
    .filter(({ effect }) => effect === 'dropped')
    .map(({ field }) => (typeof field === 'string' ? protocols[from].client.wirePath(field) : field.path));
  return { ...encoded, dropped: [...new Set(dropped)].sort() };
}

function refusal(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error.options.param;
    throw error;
  }
  return undefined;
}

const toChat = (members: JsonObject, over: Partial<Traits> = {}) =>
  translate('responses', 'chat', members, over);
const toMessages = (members: JsonObject, over: Partial<Traits> = {}) =>
  translate('responses', 'messages', members, over);
const user = (text: string): JsonObject => ({ role: 'user', content: [{ type: 'input_text', text }] });
const SPAWN = { type: 'function', name: 'spawn', parameters: null, strict: null };
const AGENTS = { type: 'namespace', name: 'agents', description: 'd', tools: [SPAWN] };

describe('the envelope', () => {
  it.each<[string, JsonObject]>([
    ['model', { input: 'hi' }],
    ['input', {}],
    ['input', { input: 3 }],
    ['input', { input: [] }],
    ['input[0]', { input: ['hi'] }],
    ['input[0].role', { input: [{ role: 'tool', content: 'x' }] }],
    ['input[0].content', { input: [{ role: 'user' }] }],
    ['temperature', { input: 'hi', temperature: 3 }],
    ['max_output_tokens', { input: 'hi', max_output_tokens: 0 }],
    ['tools', { input: 'hi', tools: {} }],
    ['stream', { input: 'hi', stream: 'yes' }],
  ])('refuses by the name of the field: %s', (field, body) => {
    const value = field === 'model' ? body : { model: 'm', ...body };
    expect(refusal(() => client.endpoints[0].readEnvelope(bodyOf(value), {}))).toBe(field);
  });

  it('finds what the request needs in parts, results and lists of tools', () => {
    const { needs } = client.endpoints[0].readEnvelope(
      bodyOf({
        model: 'm',
        reasoning: { effort: 'low' },
        text: { format: { type: 'json_object' } },
        input: [
          { role: 'user', content: [{ type: 'input_file', file_data: 'JVBERi' }] },
          { type: 'additional_tools', role: 'developer', tools: [AGENTS, { type: 'web_search' }] },
          { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: 'x' }] },
        ],
      }),
      {},
    );
    expect(needs).toEqual({
      image: true,
      document: true,
      audio: false,
      tools: true,
      thinking: true,
      structuredOutput: true,
      serverTools: true,
    });
  });

  it('is distinguished from bodies of other protocols', () => {
    const tools = [{ type: 'function', name: 'f' }];
    expect(client.recognizes({ model: 'm', input: 'hi', tools })).toBe(true);
    expect(protocols.messages.client.recognizes({ model: 'm', input: 'hi', tools })).toBe(false);
    expect(client.recognizes({ model: 'm', messages: [] })).toBe(false);
  });
});

describe('hints', () => {
  it('know how the conversation begins, and its cache key', () => {
    const names = (body: JsonObject) => client.hints.names(body);
    const beginning = (body: JsonObject) => client.hints.beginning(bodyOf(body));
    const first = [user('hi')];
    const later = [...first, { role: 'assistant', content: 'yes' }, user('more')];
    expect(beginning({ input: first })).toBe(beginning({ input: later }));
    expect(beginning({ input: 'a' })).not.toBe(beginning({ input: 'b' }));
    expect(names({ input: 'a', prompt_cache_key: 'k' })).toEqual({ cacheKey: 'k' });
    expect(names({ input: 'a', prompt_cache_key: '' })).toEqual({});
  });

  it('know an open tool turn, behind texts of the system too', () => {
    const output = { type: 'custom_tool_call_output', call_id: 'c', output: 'x' };
    expect(
      client.hints.hasOpenToolTurn(bodyOf({ input: [output, { role: 'developer', content: 'x' }] })),
    ).toBe(true);
    expect(client.hints.hasOpenToolTurn(bodyOf({ input: [output, user('x')] }))).toBe(false);
    expect(client.hints.hasOpenToolTurn(bodyOf({ input: 'x' }))).toBe(false);
  });

  it('count the text of items and of instructions', () => {
    const text = 'word '.repeat(400);
    expect(client.hints.estimate({ input: [user(text)] })).toBeGreaterThan(400);
    expect(client.hints.estimate({ input: 'x', instructions: text })).toBeGreaterThan(400);
    expect(client.hints.estimate({ input: text })).toBeGreaterThan(400);
  });
});

describe('the input', () => {
  it('makes one turn of reasoning, texts and calls, and a new one after their results', () => {
    const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
    const result = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'r' });
    const { messages } = client.decodeRequest({
      model: 'm',
      input: [
        user('a'),
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 't' }], content: null },
        { role: 'assistant', content: 'b', phase: 'commentary' },
        call('1'),
        call('2'),
        result('1'),
        result('2'),
        call('3'),
        result('3'),
      ],
    });
    expect(messages.map(({ role, parts }) => [role, ...parts.map(({ type }) => type)])).toEqual([
      ['user', 'text'],
      ['assistant', 'reasoning', 'text', 'tool_call', 'tool_call'],
      ['user', 'tool_result', 'tool_result'],
      ['assistant', 'tool_call'],
      ['user', 'tool_result'],
    ]);
  });

  it('gives signed thinking back to the provider that signed it, and a foreign blob to nobody else', () => {
    // Opened before, by the gateway.
    const own = JSON.stringify({ text: 'deep', signature: 'sig' });
    const turn = (encrypted_content: string) => [
      user('a'),
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'short' }],
        encrypted_content,
      },
      { role: 'assistant', content: 'b' },
      user('c'),
    ];
    const [, assistant] = toMessages({ input: turn(own) }).body.messages as JsonObject[];
    expect(assistant?.content).toEqual([
      { type: 'thinking', thinking: 'deep', signature: 'sig' },
      { type: 'text', text: 'b' },
    ]);
    expect(toMessages({ input: turn('gw1.of-another-account') }).dropped).toEqual(['input[]']);
    for (const { body, dropped } of [
      toMessages({ input: turn('OPAQUE==') }),
      toChat({ input: turn('OPAQUE==') }, { replayReasoning: 'always' }),
    ]) {
      expect(JSON.stringify(body)).not.toMatch(/OPAQUE|short/);
      expect(dropped).toEqual(['input[]']);
    }
    expect(translate('responses', 'responses', { input: turn('OPAQUE==') }).body.input).toContainEqual({
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'short' }],
      encrypted_content: 'OPAQUE==',
    });
  });

  it.each<[string, JsonObject]>([
    ['input[0].type', { type: 'compaction', encrypted_content: 'x' }],
    ['input', { type: 'item_reference', id: 'msg_1' }],
    ['input[0].content[0]', { role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }],
    ['input[0].content[0].type', { role: 'user', content: [{ type: 'x' }] }],
    ['input[0].call_id', { type: 'function_call', name: 'f', arguments: '' }],
    ['tools[0]', { tools: ['f'] }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['background', { background: true }],
    ['prompt', { prompt: { id: 'p' } }],
    ['conversation', { conversation: 'c' }],
  ])('is refused where it can mean nothing elsewhere: %s', (field, given) => {
    const members = field.startsWith('input') ? { input: [given, user('x')] } : { input: 'hi', ...given };
    expect(refusal(() => toChat(members))).toBe(field);
    expect(refusal(() => toMessages(members))).toBe(field);
  });

  it.each<[name: string, paths: string[], members: JsonObject]>([
    [
      'a call of a web search',
      ['input[]'],
      { input: [{ type: 'web_search_call', id: 'ws', status: 'completed' }, user('x')] },
    ],
    ['a reference to an item', ['input[]'], { input: [{ type: 'item_reference', id: 'rs_1' }, user('x')] }],
    ['an unknown item', ['input[]'], { input: [{ type: 'never_heard_of' }, user('x')] }],
    ['automatic truncation', ['truncation'], { input: 'x', truncation: 'auto' }],
    ['a bound on tool calls', ['max_tool_calls'], { input: 'x', max_tool_calls: 2 }],
    ['the context of reasoning', ['reasoning.context'], { input: 'x', reasoning: { context: 'all_turns' } }],
    [
      'a web search without access to the web',
      ['tools[]'],
      { input: 'x', tools: [{ type: 'web_search', external_web_access: false }] },
    ],
    [
      'nothing for defaults',
      [],
      {
        input: 'x',
        store: true,
        text: {},
        truncation: 'disabled',
        include: ['reasoning.encrypted_content'],
        metadata: {},
        client_metadata: { a: 'b' },
        prompt_cache_key: 'k',
        stream_options: { include_obfuscation: false },
        reasoning: { summary: 'auto' },
        background: false,
      },
    ],
  ])('names what is left out: %s', (_, paths, members) => {
    expect(toChat(members).dropped).toEqual(paths);
    expect(toMessages(members).dropped).toEqual(paths);
  });
});

describe('tools', () => {
  const shell = { type: 'local_shell' };
  const call = {
    type: 'local_shell_call',
    id: 'lsh',
    call_id: 'c',
    action: { type: 'exec', command: ['ls'] },
  };
  const output = { type: 'local_shell_call_output', id: 'lsh', output: 'x' };

  it('call a namespace member by one name, and a null is the schema of no arguments', () => {
    const { body } = toChat({ input: 'x', tools: [AGENTS] });
    const schema = { type: 'object', properties: {} };
    expect(body.tools).toEqual([
      { type: 'function', function: { name: 'agents__spawn', parameters: schema } },
    ]);
    const { body: other } = toMessages({ input: 'x', tools: [AGENTS] });
    expect(other.tools).toEqual([{ name: 'agents__spawn', input_schema: schema }]);
  });

  it('stand as functions where they have no schema of their own, calls and results too', () => {
    const { body } = toChat({ input: [user('a'), call, output], tools: [shell] });
    expect(body.messages).toMatchObject([
      { role: 'user' },
      { tool_calls: [{ id: 'c', function: { name: 'local_shell', arguments: '{"command":["ls"]}' } }] },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ]);
    const { body: unlisted } = toChat({ input: [user('a'), call, output] });
    expect(JSON.stringify(unlisted.messages)).toMatch(/local_shell_call.*local_shell_call_output/);
    expect(JSON.stringify(unlisted.messages)).not.toContain('tool_calls');
  });

  it('that were found join the list', () => {
    const found = { type: 'tool_search_output', call_id: 's', tools: [AGENTS] };
    const asked = { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'q' } };
    const { body } = toMessages({
      input: [user('a'), asked, found],
      tools: [{ type: 'tool_search', execution: 'client' }],
    });
    expect(body.tools).toMatchObject([{ name: 'tool_search' }, { name: 'agents__spawn' }]);
    expect(JSON.stringify(body.messages)).toContain('can be called now: agents__spawn');
  });

  it('are held to the allowed ones', () => {
    const f = { type: 'function', name: 'f', parameters: {} };
    const allowed = {
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'spawn', namespace: 'agents' }],
    };
    const members = { input: 'x', tools: [f, AGENTS, { type: 'web_search' }], tool_choice: allowed };
    const { body } = toMessages(members, { serverTools: true });
    expect(body.tools).toMatchObject([{ name: 'agents__spawn' }]);
    expect(body.tool_choice).toEqual({ type: 'any' });
    expect(toChat(members, { webSearchOptions: true }).body).toMatchObject({
      tools: [{ function: { name: 'agents__spawn' } }],
      tool_choice: 'required',
    });
  });

  it('that a provider runs cannot be forced', () => {
    const members = { input: 'x', tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } };
    expect(refusal(() => toChat(members))).toBe('tool_choice');
    expect(refusal(() => toMessages(members))).toBe('tool_choice');
  });

  it('search the web where the provider does', () => {
    const search = {
      type: 'web_search',
      search_context_size: 'low',
      user_location: { type: 'approximate', city: 'Bern', country: null },
    };
    const { body } = toMessages({ input: 'x', tools: [search] }, { serverTools: true });
    expect(body.tools).toMatchObject([{ name: 'web_search', user_location: { city: 'Bern' } }]);
    expect(toChat({ input: 'x', tools: [search] }, { webSearchOptions: true })).toMatchObject({
      body: { web_search_options: { search_context_size: 'low' } },
      dropped: [],
    });
  });

  it('have names that fit, differ, and lead back to the tool, for any names', () => {
    const name = fc.oneof(
      fc.constantFrom('a', 'a__b', 'b', '__b', 'x'.repeat(66), 'mail.send', 'shell'),
      fc.string({ minLength: 1, maxLength: 70 }),
    );
    const tool = fc.record({ name, namespace: fc.option(name, { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(tool, { maxLength: 12 }), (given) => {
        const listed = new Map(given.map((one) => [JSON.stringify([one.namespace, one.name]), one]));
        const tools = [...listed.values()].map(({ name, namespace }): JsonObject =>
          namespace === undefined
            ? { type: 'function', name }
            : { type: 'namespace', name: namespace, tools: [{ type: 'function', name }] },
        );
        const directory = toolDirectory({ tools: [...tools, { type: 'shell' }] });
        const names = [...listed.values()].map((one) => directory.nameOf(one.name, one.namespace));
        for (const canonical of names) expect(canonical).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(new Set(names).size).toBe(names.length);
        [...listed.values()].forEach((one, at) => {
          expect(directory.find(names[at] ?? '')).toMatchObject({ kind: 'function', ...dropUndefined(one) });
        });
      }),
    );
  });
});

function dropUndefined({ name, namespace }: { name: string; namespace?: string | undefined }): object {
  return namespace === undefined ? { name } : { name, namespace };
}

describe('towards a responses provider', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };

  it('a chat request is stateless, loosely typed, and asks for encrypted reasoning', () => {
    const { body, dropped, restore } = translate(
      'chat',
      'responses',
      {
        messages: [
          { role: 'system', content: 's' },
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] },
          { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'p', input: 'i' } }] },
          { role: 'tool', tool_call_id: 'c', content: 'r' },
        ],
        tools: [
          { type: 'function', function: { name: 'f', parameters: schema } },
          {
            type: 'custom',
            custom: { name: 'p', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'd' } } },
          },
        ],
        max_completion_tokens: 5,
        reasoning_effort: 'low',
        verbosity: 'low',
        stop: ['END'],
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
        stream: true,
      },
      { minOutput: 16 },
    );
    expect(dropped).toEqual([]);
    expect(restore.stop).toEqual(['END']);
    expect(body).toEqual({
      model: 'target',
      instructions: 's',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_image', image_url: 'https://a.example/b.png' }],
        },
        { type: 'custom_tool_call', call_id: 'c', name: 'p', input: 'i' },
        { type: 'custom_tool_call_output', call_id: 'c', output: 'r' },
      ],
      tools: [
        { type: 'function', name: 'f', parameters: schema, strict: false },
        { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'd' } },
      ],
      text: { format: { type: 'json_schema', name: 'n', schema }, verbosity: 'low' },
      max_output_tokens: 16,
      reasoning: { effort: 'low', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      stream: true,
    });
  });

  it('members that the server refuses are left out, and named as the client calls them', () => {
    const members = {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
      max_tokens: 5,
      top_p: 0.5,
      reasoning_effort: 'low',
    };
    const rejectFields = [
      'max_output_tokens',
      'reasoning',
      'include',
      'store',
      'input',
      'seed',
      'input[].type',
    ];
    const { body, dropped } = translate('chat', 'responses', members, { rejectFields });
    expect(body).toEqual({
      model: 'target',
      input: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
      top_p: 0.5,
    });
    expect(dropped).toEqual(['max_completion_tokens', 'reasoning_effort']);
  });

  it('a messages request keeps images in results, errors as text, and the tools of its own as functions', () => {
    const png = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
    const { body, dropped } = translate('messages', 'responses', {
      max_tokens: 100,
      system: 's',
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'c', name: 'bash', input: { command: 'ls' } }],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c',
              is_error: true,
              content: [
                { type: 'text', text: 'no' },
                { type: 'image', source: png },
              ],
            },
            { type: 'text', text: 'b' },
          ],
        },
      ],
      tools: [{ type: 'bash_20250124', name: 'bash' }],
      tool_choice: { type: 'tool', name: 'bash' },
      thinking: { type: 'enabled', budget_tokens: 10_000 },
    });
    expect(dropped).toEqual([]);
    expect(body).toMatchObject({
      input: [
        { role: 'user', content: 'a' },
        { type: 'function_call', call_id: 'c', name: 'bash', arguments: '{"command":"ls"}' },
        {
          type: 'function_call_output',
          output: [
            { type: 'input_text', text: 'Error: no' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
          ],
        },
        { role: 'user', content: 'b' },
      ],
      tools: [{ type: 'function', name: 'bash', strict: false }],
      tool_choice: { type: 'function', name: 'bash' },
      reasoning: { effort: 'medium', summary: 'auto' },
    });
  });
});

describe('requests of a real program', () => {
  const lines = readFileSync(new URL('../../../fixtures/corpora/codex.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n');

  it.each(lines.map((line, at): [number, string] => [at + 1, line]))('line %i', (_, line) => {
    const { body: given } = JSON.parse(line) as { body: JsonObject };
    const { needs } = client.endpoints[0].readEnvelope(bodyOf(given), {});
    expect(needs.tools).toBe(true);
    const request = client.decodeRequest(given);
    const again = protocols.responses.provider.encodeRequest(request, request.model, DEFAULT_TRAITS);
    const { asked: _asked, native: _native, ...meant } = request;
    const { asked: _again, native: _gone, ...kept } = client.decodeRequest(again.body);
    // True is the default.
    if (meant.parallelToolCalls === true) delete meant.parallelToolCalls;
    expect(kept).toEqual(meant);
    for (const to of ['chat', 'messages'] as const) {
      const { body, dropped } = translate('responses', to, given);
      expect(
        dropped.filter((path) => !['tools[]', 'reasoning.context', 'text.verbosity'].includes(path)),
      ).toEqual(line.includes('OPAQUE==') ? ['input[]'] : []);
      const names = (body.tools as { name?: string; function?: { name: string } }[]).map(
        (tool) => tool.name ?? tool.function?.name,
      );
      expect(names).toEqual([...new Set(names)]);
      expect(JSON.stringify(body)).not.toContain('OPAQUE');
    }
  });
});
