// Anthropic pauses a turn whose own tools take long; a chat client knows no such thing, so the gateway sends the turn back
// until it is over and gives one answer.
import { describe, expect, it } from 'vitest';
import { MAX_PAUSES } from '../../../src/gateway/outbound/continue-turn.ts';
import { ask, isWhole, send, type Question, type Seen } from '../../helpers/ask.ts';
import { gateway, provider } from '../../helpers/gateway.ts';
import {
  CUT,
  scriptedProvider,
  type Asked,
  type Script,
  type Step,
} from '../../helpers/scripted-provider.ts';

const frame = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'Rome' } };
const FOUND = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };

interface Leg {
  text: string;
  stop: string;
  container?: object;
  input: number;
  output: number;
}

const FIRST: Leg = { text: 'Let me ', stop: 'pause_turn', container: { id: 'box_1' }, input: 10, output: 3 };
const SECOND: Leg = { text: 'look: ', stop: 'pause_turn', input: 20, output: 4 };
const LAST: Leg = { text: 'sunny.', stop: 'end_turn', input: 30, output: 5 };

const contentOf = ({ text }: Leg): object[] => [
  { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
  { type: 'text', text },
  SEARCH,
  FOUND,
];

/** What a client of this protocol would send back. */
const sentBack = (...legs: Leg[]): object[] => legs.flatMap(contentOf);

function whole(leg: Leg): Script {
  const { stop, container, input, output } = leg;
  return {
    body: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_sequence: null,
      content: contentOf(leg),
      stop_reason: stop,
      container: container ?? null,
      usage: { input_tokens: input, output_tokens: output },
    },
  };
}

function startOf({ input }: Leg): string {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
  return frame('message_start', {
    message: { ...message, usage: { input_tokens: input, output_tokens: 1 } },
  });
}

function blocksOf({ text }: Leg): string {
  const delta = (index: number, of: object): string => frame('content_block_delta', { index, delta: of });
  return [
    frame('content_block_start', {
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    }),
    delta(0, { type: 'thinking_delta', thinking: 'Hm.' }),
    delta(0, { type: 'signature_delta', signature: 'c2ln' }),
    frame('content_block_stop', { index: 0 }),
    frame('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
    delta(1, { type: 'text_delta', text }),
    frame('content_block_stop', { index: 1 }),
    frame('content_block_start', { index: 2, content_block: { ...SEARCH, input: {} } }),
    delta(2, { type: 'input_json_delta', partial_json: JSON.stringify(SEARCH.input) }),
    frame('content_block_stop', { index: 2 }),
    frame('content_block_start', { index: 3, content_block: FOUND }),
    frame('content_block_stop', { index: 3 }),
  ].join('');
}

function endOf({ stop, container, output }: Leg): string {
  const delta = { stop_reason: stop, stop_sequence: null, container: container ?? null };
  return frame('message_delta', { delta, usage: { output_tokens: output } }) + frame('message_stop');
}

const streamOf = (leg: Leg): string => startOf(leg) + blocksOf(leg) + endOf(leg);
const streamed = (...steps: Step[]): Script => ({ headers: { 'content-type': 'text/event-stream' }, steps });

const scriptOf = (leg: Leg, stream: boolean): Script => (stream ? streamed(streamOf(leg)) : whole(leg));

const QUESTION: Question = { protocol: 'chat', body: { web_search_options: {} } };

interface Run {
  seen: Seen;
  requests: Asked[];
  log: () => string;
}

async function run(scripts: readonly Script[], question: Question, more: object = {}): Promise<Run> {
  const scripted = await scriptedProvider();
  scripted.play(...scripts);
  const config = { ...provider(`${scripted.url}/v1`, 'messages', ['m']), flags: { server_tools: true } };
  const to = await gateway({ config: { providers: { p: config }, ...more } });
  const seen = await ask(to, { model: 'p/m', ...QUESTION, ...question });
  return { seen, requests: scripted.requests, log: () => to.log() };
}

function finishOf({ json, frames }: Seen): unknown {
  const values =
    json === undefined ? frames.slice(0, -1).map(({ data }) => JSON.parse(data) as object) : [json];
  return values
    .map((value) => (value as { choices?: { finish_reason?: string }[] }).choices?.[0]?.finish_reason)
    .find((finish) => typeof finish === 'string');
}

describe.each([false, true])('a paused turn (streamed: %s)', (stream) => {
  const question = { stream };

  it('goes on until it is over, as one answer', async () => {
    const legs = [FIRST, SECOND, LAST];
    const { seen, requests, log } = await run(
      legs.map((leg) => scriptOf(leg, stream)),
      question,
    );
    expect(seen).toMatchObject({ status: 200, content: 'Let me \n\nlook: \n\nsunny.', error: undefined });
    expect(finishOf(seen)).toBe('stop');
    expect(requests).toHaveLength(3);
    const [first, second, third] = requests.map(({ json }) => json);
    const asked = first?.messages as object[];
    expect(second).toEqual({
      ...first,
      container: 'box_1',
      messages: [...asked, { role: 'assistant', content: stream ? sentBack(FIRST) : contentOf(FIRST) }],
    });
    const both = stream ? sentBack(FIRST, SECOND) : [FIRST, SECOND].flatMap(contentOf);
    expect(third).toEqual({
      ...first,
      container: 'box_1',
      messages: [...asked, { role: 'assistant', content: both }],
    });
    expect(requests.map(({ headers }) => headers['anthropic-version'])).toEqual(Array(3).fill('2023-06-01'));
    // Each call was paid for.
    await expect.poll(log).toMatch(/"input":60,"output":12\b/);
    expect(log()).not.toContain('could not be continued');
  });

  it('ends where it was paused, when the provider takes it back no more', async () => {
    const refused: Script = {
      status: 529,
      body: { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
    };
    const { seen, requests, log } = await run([scriptOf(FIRST, stream), refused], question);
    expect(seen).toMatchObject({ status: 200, content: 'Let me ', error: undefined });
    expect(finishOf(seen)).toBe('stop');
    expect(requests).toHaveLength(2);
    await expect.poll(log).toMatch(/"input":10,"output":3\b/);
    expect(log()).toContain('a paused turn could not be continued');
  });

  it('that never ends is not paid for without end', async () => {
    const scripts = Array.from({ length: MAX_PAUSES + 5 }, () => scriptOf(FIRST, stream));
    const { seen, requests } = await run(scripts, question);
    expect(seen.content).toBe(
      Array(MAX_PAUSES + 1)
        .fill('Let me ')
        .join('\n\n'),
    );
    expect(finishOf(seen)).toBe('stop');
    expect(requests).toHaveLength(MAX_PAUSES + 1);
  });

  it('is sent back, and answered, number by number as it was written', async () => {
    const place = '{"id":12345678901234567890,"at":1.0}';
    const exact = ({ body, steps, headers }: Script): Script => {
      const step = steps?.[0];
      const write = (text: string): string =>
        text
          .replace('{"query":"Rome"}', place)
          .replace('{\\"query\\":\\"Rome\\"}', JSON.stringify(place).slice(1, -1));
      return typeof step === 'string'
        ? { headers, steps: [write(step)] }
        : { headers: { 'content-type': 'application/json' }, body: write(JSON.stringify(body)) };
    };
    const call = { type: 'tool_use', id: 'toolu_1', name: 'go', input: { query: 'Rome' } };
    const last = stream
      ? streamed(
          startOf(LAST) +
            frame('content_block_start', { index: 0, content_block: { ...call, input: {} } }) +
            frame('content_block_delta', {
              index: 0,
              delta: { type: 'input_json_delta', partial_json: '{"query":"Rome"}' },
            }) +
            frame('content_block_stop', { index: 0 }) +
            endOf({ ...LAST, stop: 'tool_use' }),
        )
      : { body: { ...(whole(LAST).body as object), content: [call], stop_reason: 'tool_use' } };
    const { seen, requests } = await run([exact(scriptOf(FIRST, stream)), exact(last)], {
      stream,
      body: {
        ...QUESTION.body,
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'go', arguments: place } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: 'ok' },
        ],
      },
    });
    const back = requests[1]?.bytes.toString() ?? '';
    expect(back.split(`"input":${place}`)).toHaveLength(3);
    expect(seen.text).toContain(JSON.stringify(place).slice(1, -1));
  });

  it('is left to a client of the same protocol', async () => {
    const body = { tools: [{ type: 'web_search_20250305', name: 'web_search' }] };
    const { seen, requests } = await run([scriptOf(FIRST, stream)], { protocol: 'messages', stream, body });
    expect(seen.text).toContain('"stop_reason":"pause_turn"');
    expect(requests).toHaveLength(1);
  });
});

describe('the stream of a turn that goes on', () => {
  it('is sent back with the very blocks that came', async () => {
    const blocks: object[] = [
      { type: 'text', text: '' },
      { type: 'text', text: 'Let me ', citations: [{ type: 'page', at: 1 }] },
      { type: 'text', text: ' ' },
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'x' },
      { ...SEARCH, input: {} },
      { ...SEARCH, input: { query: 'Rome' } },
      { type: 'new_block', state: [1] },
      { type: 'compaction', content: 'So far.' },
      { type: 'tool_use', id: 'toolu_1', name: 'go', input: { a: 1 }, caller: { type: 'box' }, vendor: 1 },
    ];
    const delta = (index: number, of: object): string => frame('content_block_delta', { index, delta: of });
    const changes = [
      frame('content_block_start', { index: 1, content_block: { type: 'text', text: '', citations: [] } }),
      delta(1, { type: 'text_delta', text: 'Let ' }),
      delta(1, { type: 'citations_delta', citation: { type: 'page', at: 1 } }),
      delta(1, { type: 'text_delta', text: 'me ' }),
    ];
    const pieces = blocks.map((content_block, index) => {
      if (index === 1) return changes.join('');
      if (index === 4) {
        return (
          frame('content_block_start', {
            index,
            content_block: { type: 'thinking', thinking: '', signature: '' },
          }) +
          delta(index, { type: 'thinking_delta', thinking: 'H' }) +
          delta(index, { type: 'thinking_delta', thinking: 'm.' }) +
          delta(index, { type: 'signature_delta', signature: 'c2ln' })
        );
      }
      if (index === 7) {
        return (
          frame('content_block_start', { index, content_block: { ...SEARCH, input: {} } }) +
          delta(index, { type: 'input_json_delta', partial_json: '{"query":' }) +
          delta(index, { type: 'input_json_delta', partial_json: '"Rome"}' })
        );
      }
      if (index === 9) {
        return (
          frame('content_block_start', { index, content_block: { type: 'compaction', content: null } }) +
          delta(index, { type: 'compaction_delta', content: 'So far.' })
        );
      }
      return frame('content_block_start', { index, content_block });
    });
    const stops = (index: number): string => frame('content_block_stop', { index });
    const first = startOf(FIRST) + pieces.map((piece, index) => piece + stops(index)).join('') + endOf(FIRST);
    const { requests } = await run([streamed(first), streamed(streamOf(LAST))], { stream: true });
    expect(requests).toHaveLength(2);
    expect((requests[1]?.json.messages as object[]).at(-1)).toEqual({ role: 'assistant', content: blocks });
  });

  it('may stand in one frame, pause and all, at any of its calls', async () => {
    const inOne = (leg: Leg): string => {
      const { stop, container, input, output } = leg;
      const message = {
        id: `msg_${input}`,
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: contentOf(leg),
      };
      const rest = { stop_reason: stop, container, usage: { input_tokens: input, output_tokens: output } };
      return frame('message_start', { message: { ...message, ...rest } }) + frame('message_stop');
    };
    const legs = [FIRST, SECOND, LAST];
    const { seen, requests, log } = await run(
      legs.map((leg) => streamed(inOne(leg))),
      { stream: true },
    );
    expect(seen).toMatchObject({ content: 'Let me \n\nlook: \n\nsunny.', error: undefined });
    expect([finishOf(seen), isWhole(seen)]).toEqual(['stop', true]);
    const back = requests.map(({ json }) => (json.messages as { content: unknown }[]).at(-1)?.content);
    expect(back.slice(1)).toEqual([contentOf(FIRST), sentBack(FIRST, SECOND)]);
    expect(requests[1]?.json.container).toBe('box_1');
    await expect.poll(log).toMatch(/"input":60,"output":12\b/);
  });

  it('is broken by another message in any of its calls', async () => {
    const spliced = startOf(LAST) + blocksOf(LAST) + startOf(LAST).replace('msg_1', 'msg_9') + endOf(LAST);
    const { seen } = await run([streamed(streamOf(FIRST)), streamed(spliced)], { stream: true });
    expect(seen.error).toBeDefined();
    expect(isWhole(seen)).toBe(false);
  });

  it('may have another id in each call', async () => {
    const last = streamOf(LAST).replace('msg_1', 'msg_2');
    const { seen } = await run([streamed(streamOf(FIRST)), streamed(last)], { stream: true });
    expect(seen).toMatchObject({ content: 'Let me \n\nsunny.', error: undefined });
    expect(isWhole(seen)).toBe(true);
  });

  it('that breaks is an error, and the usage so far is recorded', async () => {
    const half = startOf(LAST) + blocksOf(LAST).slice(0, 500);
    const { seen, log } = await run([streamed(streamOf(FIRST)), streamed(half, CUT)], { stream: true });
    expect(seen.content).toContain('Let me ');
    expect(seen.error).toBeDefined();
    expect(isWhole(seen)).toBe(false);
    await expect.poll(log).toMatch(/"input":10,"output":3\b/);
  });

  it('may come byte by byte, and end without its last frame', async () => {
    const bytes = [...Buffer.from(streamOf(FIRST).replace(frame('message_stop'), ''))];
    const pieces = bytes.map((byte) => Buffer.from([byte]));
    const { seen } = await run([streamed(...pieces), streamed(streamOf(LAST))], { stream: true });
    expect(seen).toMatchObject({ content: 'Let me \n\nsunny.', error: undefined });
    expect(isWhole(seen)).toBe(true);
  });

  it('may have ended before anyone read on', async () => {
    // All in one write: the end comes while the stream is held for its commit.
    const first = streamOf(FIRST).replace(frame('message_stop'), '');
    for (let times = 0; times < 8; times++) {
      const { seen } = await run([streamed(first), streamed(streamOf(LAST))], { stream: true });
      expect(seen).toMatchObject({ content: 'Let me \n\nsunny.', error: undefined });
    }
  });

  it('may begin with a pause alone', async () => {
    const { seen } = await run([streamed(startOf(FIRST) + endOf(FIRST)), streamed(streamOf(LAST))], {
      stream: true,
    });
    expect(seen).toMatchObject({ content: 'sunny.', error: undefined });
  });

  it('ends where it was paused, when the next answer is no stream', async () => {
    const { seen, log } = await run([streamed(streamOf(FIRST)), whole(LAST)], { stream: true });
    expect(seen).toMatchObject({ content: 'Let me ', error: undefined });
    expect([finishOf(seen), isWhole(seen)]).toEqual(['stop', true]);
    expect(log()).toContain('a paused turn could not be continued');
  });

  it('ends where it was paused, when it is longer than the limit of a whole answer', async () => {
    const long = { ...FIRST, text: 'x'.repeat(1000) };
    const first = streamOf(FIRST).replace(
      frame('content_block_delta', { index: 1, delta: { type: 'text_delta', text: FIRST.text } }),
      frame('content_block_delta', { index: 1, delta: { type: 'text_delta', text: long.text } }).repeat(70),
    );
    const { seen, requests } = await run(
      [streamed(first), streamed(streamOf(LAST))],
      { stream: true },
      { limits: { max_reply: 65_536 } },
    );
    expect(seen).toMatchObject({ content: 'x'.repeat(70_000), error: undefined });
    expect([finishOf(seen), isWhole(seen)]).toEqual(['stop', true]);
    expect(requests).toHaveLength(1);
  });

  it('may hold blocks that are deeper than can be written', async () => {
    const deep = JSON.stringify(FOUND).replace('[]', '['.repeat(50_000) + ']'.repeat(50_000));
    const at = (text: string): string => text.replace(JSON.stringify(FOUND), deep);
    const { seen } = await run([streamed(at(streamOf(FIRST))), streamed(at(streamOf(LAST)))], {
      stream: true,
    });
    expect(seen.content).toContain('Let me ');
    expect(isWhole(seen)).toBe(seen.error === undefined);
    const { seen: next } = await run([streamed(streamOf(FIRST)), streamed(at(streamOf(LAST)))], {
      stream: true,
    });
    expect(next.content).toContain('Let me ');
    expect(isWhole(next)).toBe(next.error === undefined);
  });

  it('is given up when the client leaves', async () => {
    const scripted = await scriptedProvider();
    const never = new Promise(() => undefined);
    scripted.play(streamed(streamOf(FIRST)), streamed(startOf(LAST), never));
    const config = { ...provider(`${scripted.url}/v1`, 'messages', ['m']), flags: { server_tools: true } };
    const to = await gateway({ config: { providers: { p: config } } });
    const leaving = new AbortController();
    const response = await send(to, { model: 'p/m', ...QUESTION, stream: true, signal: leaving.signal });
    await response.body?.getReader().read();
    await scripted.next();
    const second = await scripted.next();
    leaving.abort();
    expect(await second.left).toBe(true);
  });

  it('is put together for a client that wants a whole answer', async () => {
    const { seen } = await run([streamed(streamOf(FIRST)), streamed(streamOf(LAST))], { stream: false });
    expect(seen.json).toMatchObject({ choices: [{ message: { content: 'Let me \n\nsunny.' } }] });
  });
});
