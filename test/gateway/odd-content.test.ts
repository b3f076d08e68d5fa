// What a provider says in a place or a form that the client's protocol lacks: it crosses, is named as lost, or is an error.
import { expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, type Seen } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider, type Script } from '../helpers/scripted-provider.ts';
import { chunks, completion, events, message } from '../translation/answers.ts';
import type { JsonObject } from '../../src/canonical/json.ts';

interface Run {
  seen: Seen;
  /** Of the log's last line. */
  lost: unknown;
}

async function run(speaks: ProtocolName, script: Script, body: object = {}): Promise<Run> {
  const upstream = await scriptedProvider();
  upstream.play(script);
  const to = await gateway({
    config: { providers: { p: provider(`${upstream.url}/v1`, speaks, ['m']) } },
  });
  const client = speaks === 'chat' ? 'messages' : 'chat';
  const seen = await ask(to, { protocol: client, model: 'p/m', stream: script.steps !== undefined, body });
  const last = (): Record<string, unknown> =>
    JSON.parse(to.log().trim().split('\n').at(-1) ?? '{}') as Record<string, unknown>;
  await expect.poll(() => last().ms).toBeDefined();
  return { seen, lost: last().lost };
}

const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,eA==' } };
const PAGE = { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } };
const SIGNED = { google: { thought_signature: 'sig' } };
const CALL = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };

/** A chat provider's message, the text that a messages client reads, and what the log says of the rest. */
const SAID: [name: string, said: JsonObject, content: string, lost: string[] | undefined][] = [
  [
    'a picture in the content',
    { content: [{ type: 'text', text: 'See' }, IMAGE] },
    'See',
    ['a block of type image_url'],
  ],
  ['pictures beside the content', { content: 'See', images: [IMAGE] }, 'See', ['a block of type images']],
  [
    'speech',
    { content: 'Hear', audio: { id: 'x', data: 'eA==', transcript: 'Hi' } },
    'Hear',
    ['a block of type audio'],
  ],
  ['a chunk that nobody knows', { content: [{ shape: 'odd' }, 'See'] }, 'See', ['a block of type unknown']],
  ['content that is one chunk', { content: { type: 'text', text: 'See' } }, 'See', undefined],
  ['sources of no text', { content: '', annotations: [PAGE] }, '', ['a block of type annotations']],
  [
    'the signature of a call',
    { tool_calls: [{ ...CALL, extra_content: SIGNED }] },
    '',
    ['the extra content of a call'],
  ],
  [
    'the signature of a text',
    { content: 'See', extra_content: SIGNED },
    'See',
    ['a block of type extra_content'],
  ],
];

it.each(SAID)('chat: %s, whole and streamed', async (_name, said, content, lost) => {
  const finish = 'tool_calls' in said ? 'tool_calls' : 'stop';
  for (const script of [{ body: completion(said, finish) }, { steps: [chunks(said, finish)] }]) {
    const told = await run('chat', script);
    expect(told.seen).toMatchObject({ status: 200, content });
    expect(told.lost).toEqual(lost);
  }
});

it('chat: a refusal among the chunks is a refusal', async () => {
  const said = { content: [{ type: 'refusal', refusal: 'No.' }] };
  for (const script of [{ body: completion(said, 'stop') }, { steps: [chunks(said, 'stop')] }]) {
    const { seen } = await run('chat', script);
    expect(seen.content).toBe('No.');
    expect(seen.text).toContain('"stop_reason":"refusal"');
  }
});

const delta = (index: number, value: JsonObject): string =>
  `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index, delta: value })}\n\n`;

/** The stream of this block, with further deltas before its stop. */
function streamed(block: JsonObject, stop: string, ...deltas: JsonObject[]): Script {
  const text = events([block], stop);
  const end = text.indexOf('event: content_block_stop');
  return { steps: [text.slice(0, end) + deltas.map((value) => delta(0, value)).join('') + text.slice(end)] };
}

it('messages: arguments that come as an object', async () => {
  const piece = { type: 'input_json_delta', partial_json: { path: 'a' } };
  const { seen } = await run(
    'messages',
    streamed({ type: 'tool_use', id: 'a', name: 'f', input: {} }, 'tool_use', piece),
  );
  expect(seen.text).toContain(JSON.stringify({ arguments: '{"path":"a"}' }));
});

it('messages: an unknown delta is named in the log', async () => {
  const piece = { type: 'shine_delta', shine: 1 };
  const { seen, lost } = await run('messages', streamed({ type: 'text', text: 'See' }, 'end_turn', piece));
  expect(seen.content).toBe('See');
  expect(lost).toEqual(['a delta of type shine_delta']);
});

it('messages: of several calls the legacy form holds the first, the others are named in the log', async () => {
  const calls = ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'f', input: { id } }));
  for (const script of [{ body: message(calls, 'tool_use') }, { steps: [events(calls, 'tool_use')] }]) {
    const functions = [{ name: 'f', parameters: { type: 'object', properties: {} } }];
    const { seen, lost } = await run('messages', script, { functions });
    expect(seen.text).toContain(JSON.stringify({ id: 'a' }).replaceAll('"', '\\"'));
    expect(seen.text).not.toContain('"tool_calls":[');
    expect(lost).toEqual(['the calls after the first']);
  }
});

/** Nothing was written before it, so it is the status of the answer, and another target could still be asked. */
const BROKEN: [name: string, speaks: ProtocolName, script: Script][] = [
  ['a call without a name', 'messages', { body: message([{ type: 'tool_use', id: 'a' }], 'tool_use') }],
  ['a call without a name, streamed', 'messages', streamed({ type: 'tool_use', id: 'a' }, 'tool_use')],
  [
    'a delta of no block',
    'messages',
    { steps: [delta(3, { type: 'text_delta', text: 'See' }) + events([], 'end_turn')] },
  ],
  ['an error in no form', 'chat', { steps: ['data: {"detail":"no such model here"}\n\n'] }],
  ['a frame that is no object', 'chat', { steps: ['data: [1]\n\n'] }],
];

it.each(BROKEN)('%s (%s) is a 502', async (_name, speaks, script) => {
  const { seen } = await run(speaks, script);
  expect(seen.status).toBe(502);
});
