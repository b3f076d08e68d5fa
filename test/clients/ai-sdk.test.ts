// The AI SDK by its default: it speaks responses, and refers to reasoning and earlier messages by their ids in later turns.
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, streamText, tool, type ModelMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ReplyPart } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { MODELS, lastAsked, scene, scriptOf, thought } from './support.ts';

const at = scene();
// Chat providers seal no reasoning: the SDK warns of it at each turn.
globalThis.AI_SDK_LOG_WARNINGS = false;

const text = (words: string): ReplyPart => ({ type: 'text', text: words });
const call = (id: string, place: string): ReplyPart => ({
  type: 'tool_call',
  id,
  name: 'look',
  arguments: JSON.stringify({ place }),
});
const look = tool({
  inputSchema: z.object({ place: z.string() }),
  execute: ({ place }) => `${place} is empty`,
});

interface Session {
  model: string;
  stream: boolean;
  /** The SDK asks for encrypted reasoning, and refers to nothing. */
  stateless: boolean;
  history: ModelMessage[];
  /** What the SDK sent. */
  bodies: JsonObject[];
}

/** Goes on with the session until the model has answered without a call. */
async function say(session: Session, words: string): Promise<{ text: string; thoughts: string }> {
  const { model, stream, stateless, history, bodies } = session;
  history.push({ role: 'user', content: words });
  const { url, key } = at.gateway;
  const openai = createOpenAI({
    baseURL: `${url}/v1`,
    apiKey: key,
    fetch(to, init) {
      if (typeof init?.body === 'string') bodies.push(JSON.parse(init.body) as JsonObject);
      return fetch(to, init);
    },
  });
  const reasoning = { reasoningEffort: 'medium', reasoningSummary: 'auto', forceReasoning: true };
  const asked = {
    model: openai(model),
    messages: history,
    tools: { look },
    stopWhen: isStepCount(5),
    maxRetries: 0,
    providerOptions: { openai: { ...reasoning, ...(stateless && { store: false }) } },
  };
  const result = stream ? streamText(asked) : await generateText(asked);
  history.push(...(await result.responseMessages));
  const thoughts = (await result.steps).map(({ reasoningText = '' }) => reasoningText).join('');
  return { text: await result.text, thoughts };
}

async function threeTurns(speaks: ProtocolName, stream: boolean, stateless: boolean): Promise<Session> {
  const answers: ReplyPart[][] = [
    [thought(speaks, 'Where? ', 'a'), text('I look.'), call('call_1', 'the hall')],
    [thought(speaks, 'Here. ', 'b'), call('call_2', 'the attic')],
    [thought(speaks, 'Nowhere. ', 'c'), text('Nobody is there.')],
    [text('As I said.')],
    [text('Good bye.')],
  ];
  at.upstream.play(...answers.map((parts) => scriptOf(speaks, { parts }, stream)));
  const session: Session = { model: MODELS[speaks], stream, stateless, history: [], bodies: [] };
  expect(await say(session, 'Who is there?')).toEqual({
    text: 'Nobody is there.',
    thoughts: 'Where? Here. Nowhere. ',
  });
  expect((await say(session, 'Sure?')).text).toBe('As I said.');
  expect((await say(session, 'Bye.')).text).toBe('Good bye.');
  return session;
}

const references = (bodies: JsonObject[]): number =>
  bodies.flatMap(({ input }) => input as JsonObject[]).filter(({ type }) => type === 'item_reference').length;

const MODES = [false, true].flatMap((stream) => [false, true].map((stateless) => ({ stream, stateless })));

describe.each(MODES)('three turns with a tool and reasoning (%o)', ({ stream, stateless }) => {
  it('in front of a chat provider', async () => {
    const { bodies } = await threeTurns('chat', stream, stateless);
    if (!stateless) expect(references(bodies)).toBeGreaterThan(5);
    expect(lastAsked(at).messages).toMatchObject([
      { role: 'user', content: 'Who is there?' },
      { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'call_1' }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'the hall is empty' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_2' }] },
      { role: 'tool', tool_call_id: 'call_2', content: 'the attic is empty' },
      { role: 'assistant', content: 'Nobody is there.' },
      { role: 'user', content: 'Sure?' },
      { role: 'assistant', content: 'As I said.' },
      { role: 'user', content: 'Bye.' },
    ]);
  });

  it('in front of a messages provider: its thinking comes back as it signed it', async () => {
    const { bodies } = await threeTurns('messages', stream, stateless);
    if (!stateless) expect(references(bodies)).toBeGreaterThan(5);
    const signed = (thinking: string, name: string): JsonObject => ({
      type: 'thinking',
      thinking,
      signature: Buffer.from(`signature ${name}`).toString('base64'),
    });
    const loop = lastAsked(at, 2);
    expect(loop.thinking).toMatchObject({ type: 'enabled' });
    expect((loop.messages as JsonObject[]).map(({ content }) => content)).toMatchObject([
      [{ text: 'Who is there?' }],
      [signed('Where? ', 'a'), { text: 'I look.' }, { type: 'tool_use', id: 'call_1' }],
      [{ type: 'tool_result', tool_use_id: 'call_1' }],
      [signed('Here. ', 'b'), { type: 'tool_use', id: 'call_2' }],
      [{ type: 'tool_result', tool_use_id: 'call_2' }],
    ]);
    const last = lastAsked(at).messages as JsonObject[];
    expect(last[5]?.content).toMatchObject([signed('Nowhere. ', 'c'), { text: 'Nobody is there.' }]);
  });

  it('in front of a responses provider: everything goes there as the SDK wrote it', async () => {
    const { bodies } = await threeTurns('responses', stream, stateless);
    expect(lastAsked(at)).toEqual({ ...bodies.at(-1), model: 'm' });
  });
});
