// A stream whose first frame holds the whole answer, as programmatic tool calling gives it: an answer like any other.
import { describe, expect, it } from 'vitest';
import { protocols } from '../../src/protocols/registry.ts';
import { makeFrame } from '../../src/protocols/sse/frame.ts';
import { ask, isWhole, type Question, type Seen } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider, type Script } from '../helpers/scripted-provider.ts';
import { eventsIn } from './pipeline.ts';
import { streamOf } from '../gateway/wire.ts';

const RESULT = { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_1', content: { stdout: 'ok' } };
const CALL = {
  type: 'tool_use',
  id: 'toolu_1',
  name: 'look',
  input: { id: 'customer' },
  caller: { type: 'x' },
};
const TEXT = { type: 'text', text: 'Let me look.' };

const frame = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

function start(content: object[], stop: string | null): string {
  return frame('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content,
      stop_reason: stop,
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 4 },
    },
  });
}

const WHOLE = start([RESULT, TEXT, CALL], 'tool_use') + frame('message_stop');

function playing(stream: string): Script {
  return { headers: { 'content-type': 'text/event-stream' }, steps: [stream] };
}

async function run(stream: string, question: Question): Promise<Seen> {
  const [first, second] = [await scriptedProvider(), await scriptedProvider()];
  first.play(playing(stream));
  second.playAlways(playing(streamOf('messages', 'second')));
  const to = await gateway({
    config: {
      providers: {
        first: provider(`${first.url}/v1`, 'messages', ['m']),
        second: provider(`${second.url}/v1`, 'messages', ['m']),
      },
    },
  });
  const seen = await ask(to, { model: 'm', ...question });
  await expect.poll(() => to.store.totals(undefined, 0)).toMatchObject({ requests: 1, unknown: 0 });
  return seen;
}

describe('an answer that stands in the first frame', () => {
  it('is relayed as it came', async () => {
    const seen = await run(WHOLE, { protocol: 'messages', stream: true });
    expect(seen).toMatchObject({ status: 200, text: WHOLE });
    expect(seen.headers.get('x-gateway-provider')).toBe('first');
  });

  it('is carried to a chat client, with its stop and usage', async () => {
    const body = { stream_options: { include_usage: true } };
    const seen = await run(WHOLE, { protocol: 'chat', stream: true, body });
    expect(seen).toMatchObject({ status: 200, content: TEXT.text, error: undefined });
    expect(isWhole(seen)).toBe(true);
    const json = JSON.stringify(seen.text);
    for (const part of ['look', 'customer', 'tool_calls', 'prompt_tokens']) expect(json).toContain(part);
    expect(seen.headers.get('x-gateway-provider')).toBe('first');
  });

  it('is put together for a client that wants it whole', async () => {
    const chat = await run(WHOLE, { protocol: 'chat' });
    expect(chat.json).toMatchObject({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: { content: TEXT.text, tool_calls: [{ id: 'toolu_1', function: { name: 'look' } }] },
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 4 },
    });
    const messages = await run(WHOLE, { protocol: 'messages' });
    expect(messages.json).toMatchObject({ content: [RESULT, TEXT, CALL], stop_reason: 'tool_use' });
  });

  it('may go on in further blocks', async () => {
    const more =
      start([TEXT], null) +
      frame('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }) +
      frame('content_block_delta', { index: 1, delta: { type: 'text_delta', text: ' There.' } }) +
      frame('content_block_stop', { index: 1 }) +
      frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }) +
      frame('message_stop');
    const seen = await run(more, { protocol: 'chat', stream: true });
    expect(seen).toMatchObject({ content: 'Let me look. There.', error: undefined });
    expect(eventsIn('messages', more).filter(({ type }) => type === 'text_start')).toHaveLength(2);
  });

  it('keeps the numbers of its calls as they were written', () => {
    const exact = '{"id":12345678901234567890,"at":1.0}';
    const stream = WHOLE.replace(JSON.stringify(CALL.input), exact);
    expect(eventsIn('messages', stream)).toContainEqual({ type: 'tool_delta', index: 2, text: exact });
  });

  it('ends by a stop alone', async () => {
    const seen = await run(start([], 'end_turn') + frame('message_stop'), { protocol: 'chat', stream: true });
    expect(seen).toMatchObject({ status: 200, content: '', error: undefined });
    expect(isWhole(seen)).toBe(true);
  });
});

describe('a first frame', () => {
  const sight = (content: object[], stop: string | null) => {
    const data = start(content, stop).split('data: ')[1] ?? '';
    const classifier = protocols.messages.relay.createClassifier({ usageAsked: true });
    return { seen: classifier.classify(makeFrame('message_start', data.trim())), usage: classifier.usage() };
  };

  it.each<[string, object[], string | null, string]>([
    ['nothing', [], null, 'quiet'],
    ['an empty text', [{ type: 'text', text: '' }], null, 'quiet'],
    ['an empty stop', [], '', 'quiet'],
    ['content', [TEXT], null, 'content'],
    ['a stop', [], 'end_turn', 'finish'],
  ])('that holds %s is %4$s', (_, content, stop, kind) => {
    expect(sight(content, stop).seen.kind).toBe(kind);
  });

  it('that ends an answer is seen to', () => {
    const usage = { input: 10, output: 4 };
    expect(sight([CALL], 'tool_use')).toEqual({ usage, seen: { kind: 'finish' } });
    expect(sight([CALL], 'strange')).toEqual({ usage, seen: { kind: 'finish' } });
    expect(sight([], 'strange').seen).toMatchObject({ kind: 'finish', silence: { reason: 'finish' } });
    expect(sight([TEXT], 'network_error').seen).toMatchObject({ failure: { reason: 'finish' } });
  });

  it('that holds an error word without content lets the next target answer', async () => {
    const seen = await run(start([], 'network_error'), { protocol: 'chat', stream: true });
    expect(seen).toMatchObject({ status: 200, content: 'second' });
  });
});
