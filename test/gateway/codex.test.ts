// A session as Codex holds it, over providers of each protocol: a command, a tool of a namespace, a patch as free text. What it asks
// next repeats the answer before, so that each turn shows whether the one before came back as Codex knows it.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, framesOf, send } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from './wire.ts';

type Members = Record<string, unknown>;

const PATCH = '*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two "ü"\n*** End Patch\n';
/** With its namespace it is longer than other protocols' names may be. */
const LONG = 'lists_what_is_on_a_shelf_in_the_order_in_which_it_was_put_there';
const HASH = createHash('sha256').update(`mcp__stock\0${LONG}`).digest('hex').slice(0, 8);

const object = (...names: string[]): Members => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
});

const COMMAND = { type: 'function', name: 'exec_command', strict: false, parameters: object('cmd') };
const PATCHING = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch" /(.+)/' },
};
const SHELF = {
  type: 'namespace',
  name: 'mcp__stock',
  description: 'The stock.',
  tools: [
    { type: 'function', name: 'count_items', strict: false, parameters: object('shelf') },
    { type: 'function', name: LONG, strict: false, parameters: object() },
  ],
};
const SEARCH = { type: 'web_search', external_web_access: false };
const TOOLS = [COMMAND, PATCHING, SHELF, SEARCH];

/** The same as newer models get them: no list of tools, but an item. */
const ADDITIONAL = { type: 'additional_tools', id: 'at_1', role: 'developer', tools: TOOLS };

const said = (role: string, text: string): Members => ({
  type: 'message',
  id: `msg_${role}`,
  role,
  content: [{ type: 'input_text', text }],
});

/** A call as a provider makes it: with the name that it was given, and its input. */
interface Call {
  name: string;
  input: Members | string;
  namespace?: string;
}

interface Answer {
  thought?: string;
  calls?: Call[];
  text?: string;
}

const event = (type: string, members: Members = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

/** Free text is an argument of the function that stands for its tool. */
const argumentsOf = ({ input }: Call): string =>
  JSON.stringify(typeof input === 'string' ? { input } : input);

const STREAMS: Record<ProtocolName, (answer: Answer, turn: number) => string> = {
  chat({ thought, calls = [], text }, turn) {
    const chunk = (delta: Members, finish_reason: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    return [
      ...(thought === undefined ? [] : [chunk({ reasoning_content: thought })]),
      ...(text === undefined ? [] : [chunk({ content: text })]),
      ...calls.map((call, index) => {
        const { name } = call;
        return chunk({
          tool_calls: [
            {
              index,
              id: `call_${turn}${index}`,
              type: 'function',
              function: { name, arguments: argumentsOf(call) },
            },
          ],
        });
      }),
      chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
      'data: [DONE]\n\n',
    ].join('');
  },
  messages({ thought, calls = [], text }, turn) {
    const block = (index: number, content_block: Members, ...deltas: Members[]): string =>
      event('content_block_start', { index, content_block }) +
      deltas.map((delta) => event('content_block_delta', { index, delta })).join('') +
      event('content_block_stop', { index });
    const blocks: ((index: number) => string)[] = [];
    if (thought !== undefined) {
      const [thinking, signature] = [thought, `signed ${thought}`];
      blocks.push((index) =>
        block(
          index,
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking_delta', thinking },
          { type: 'signature_delta', signature },
        ),
      );
    }
    if (text !== undefined) {
      blocks.push((index) => block(index, { type: 'text', text: '' }, { type: 'text_delta', text }));
    }
    for (const [at, call] of calls.entries()) {
      const use = { type: 'tool_use', id: `call_${turn}${at}`, name: call.name, input: {} };
      const delta = { type: 'input_json_delta', partial_json: argumentsOf(call) };
      blocks.push((index) => block(index, use, delta));
    }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
    return [
      event('message_start', { message: { ...message, usage: { input_tokens: 5, output_tokens: 1 } } }),
      ...blocks.map((write, index) => write(index)),
      event('message_delta', {
        delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn' },
        usage: { output_tokens: 9 },
      }),
      event('message_stop'),
    ].join('');
  },
  responses({ thought, calls = [], text }, turn) {
    const output: Members[] = [];
    if (thought !== undefined) {
      const summary = [{ type: 'summary_text', text: thought }];
      output.push({ type: 'reasoning', id: `rs_${turn}`, summary, encrypted_content: `sealed ${thought}` });
    }
    if (text !== undefined) {
      const content = [{ type: 'output_text', text, annotations: [] }];
      output.push({ type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed', content });
    }
    for (const [at, { name, namespace, input }] of calls.entries()) {
      const call_id = `call_${turn}${at}`;
      output.push(
        typeof input === 'string'
          ? { type: 'custom_tool_call', id: `ctc_${call_id}`, call_id, name, input, status: 'completed' }
          : {
              type: 'function_call',
              id: `fc_${call_id}`,
              call_id,
              name,
              namespace,
              arguments: JSON.stringify(input),
              status: 'completed',
            },
      );
    }
    const response = { id: `resp_${turn}`, object: 'response', created_at: 1, model: 'm', output: [] };
    return [
      event('response.created', { response: { ...response, status: 'in_progress' } }),
      ...output.flatMap((item, output_index) => [
        event('response.output_item.added', { output_index, item }),
        event('response.output_item.done', { output_index, item }),
      ]),
      event('response.completed', { response: { ...response, status: 'completed', output } }),
    ].join('');
  },
};

/** The names by which a provider knows the tools of the first request. */
function namesIn({ tools = [] }: Members): string[] {
  return (tools as Members[]).map((tool) => ((tool.function ?? tool) as { name: string }).name);
}

/** One turn: the items that Codex takes from the answer. */
async function turn(to: TestGateway, input: Members[], more: Members): Promise<Members[]> {
  const thread = '01a2-thread';
  const response = await send(to, {
    protocol: 'responses',
    model: 'm',
    stream: true,
    headers: { 'session-id': thread, 'thread-id': thread, 'x-client-request-id': thread },
    body: {
      messages: undefined,
      input,
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: thread,
      client_metadata: { thread_id: thread },
      ...more,
    },
  });
  expect(response.status).toBe(200);
  expect([...response.headers.keys()].filter((name) => name.endsWith('openai-model'))).toEqual([]);
  expect(response.headers.get('x-codex-primary-window-minutes')).toBe('60');
  const events = framesOf(await response.text())
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Members);
  expect(events.at(-1)?.type).toBe('response.completed');
  return events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item as Members);
}

/** As Codex repeats an item. */
function repeated(item: Members): Members {
  return item.type === 'reasoning' ? { encrypted_content: null, ...item, content: null } : item;
}

const answered = (type: string, call: Members | undefined, output: unknown): Members => ({
  type,
  id: `out_${String(call?.call_id)}`,
  call_id: call?.call_id,
  output,
});

describe.each(['chat', 'messages', 'responses'] as const)(
  'a session of Codex on a provider of %s',
  (protocol) => {
    it.each([
      ['its tools in the list', { tools: TOOLS }, []],
      ['its tools in an item', {}, [ADDITIONAL]],
    ])('runs over three turns, %s', async (_, more, first) => {
      const upstream = await scriptedProvider();
      const server = await gateway({
        config: { providers: { up: provider(upstream.url, protocol, ['m']) } },
      });
      const headers = { 'openai-model': 'other', 'x-openai-model': 'other' };
      let asked = 0;
      async function play(answer: Answer, input: Members[]): Promise<{ items: Members[]; request: Members }> {
        upstream.play({ headers, steps: [STREAMS[protocol](answer, asked++)] });
        const items = await turn(server, input, more);
        return { items, request: upstream.requests.at(-1)?.json ?? {} };
      }
      const crosses = protocol !== 'responses';
      const named = (name: string): Pick<Call, 'name' | 'namespace'> =>
        crosses
          ? { name: name === LONG ? `${`mcp__stock__${LONG}`.slice(0, 55)}_${HASH}` : `mcp__stock__${name}` }
          : { name, namespace: 'mcp__stock' };

      const history = [...first, said('developer', 'You are helpful.'), said('user', 'Go.')];
      const one = await play(
        {
          thought: 'First look.',
          calls: [
            { name: 'exec_command', input: { cmd: 'ls' } },
            { ...named('count_items'), input: { shelf: 'A' } },
            { ...named(LONG), input: {} },
          ],
        },
        history,
      );
      if (crosses) {
        expect(namesIn(one.request)).toEqual([
          'exec_command',
          'apply_patch',
          named('count_items').name,
          named(LONG).name,
        ]);
      }
      const [thought, command, count, list] = one.items;
      expect(thought).toMatchObject({ type: 'reasoning', summary: [{ text: 'First look.' }] });
      expect(command).toMatchObject({
        type: 'function_call',
        name: 'exec_command',
        arguments: '{"cmd":"ls"}',
      });
      expect(command).not.toHaveProperty('namespace');
      expect(count).toMatchObject({ type: 'function_call', name: 'count_items', namespace: 'mcp__stock' });
      expect(list).toMatchObject({ type: 'function_call', name: LONG, namespace: 'mcp__stock' });

      history.push(
        ...one.items.map(repeated),
        answered('function_call_output', command, 'a.txt'),
        answered('function_call_output', count, [{ type: 'input_text', text: '42 of them' }]),
        answered('function_call_output', list, 'nothing'),
      );
      const two = await play({ calls: [{ name: 'apply_patch', input: PATCH }] }, history);
      for (const text of ['a.txt', '42 of them', 'nothing']) {
        expect(JSON.stringify(two.request)).toContain(text);
      }
      if (protocol === 'messages') {
        expect(JSON.stringify(two.request)).toContain('"signature":"signed First look."');
      }
      const [patch] = two.items;
      expect(patch).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: PATCH });

      history.push(...two.items, answered('custom_tool_call_output', patch, 'Success. M a.txt'));
      const three = await play({ text: 'Done.' }, history);
      expect(JSON.stringify(three.request)).toContain('Success. M a.txt');
      if (crosses) {
        const calls = JSON.stringify(three.request).match(/call_\d\d/g) ?? [];
        // Each call, and its result.
        expect(calls.sort()).toEqual(['call_00', 'call_01', 'call_02', 'call_10'].flatMap((id) => [id, id]));
      } else expect(three.request.input).toEqual(history);
      expect(three.items).toMatchObject([{ type: 'message', content: [{ text: 'Done.' }] }]);
    });
  },
);

it("a provider's state of the turn goes to Codex on a relay, and not across protocols", async () => {
  const headers = { 'x-codex-turn-state': 'state-1', 'openai-model': 'other' };
  for (const protocol of ['responses', 'chat'] as const) {
    const upstream = await scriptedProvider();
    const to = await gateway({
      config: { providers: { p: provider(`${upstream.url}/v1`, protocol, ['m']) } },
    });
    upstream.play({ headers, body: wholeOf(protocol, 'hello') });
    const seen = await ask(to, { protocol: 'responses', model: 'p/m' });
    expect(seen.status).toBe(200);
    expect(seen.headers.get('x-codex-turn-state')).toBe(protocol === 'responses' ? 'state-1' : null);
    expect(seen.headers.get('openai-model')).toBe(null);
  }
});
