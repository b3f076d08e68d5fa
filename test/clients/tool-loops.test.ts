// Programs that send the whole conversation in every turn, reasoning items without what its provider encrypted: LangChain with
// `useResponsesApi`, and the OpenAI Agents SDK, whose requests are written out here.
import type { AIMessageChunk } from '@langchain/core/messages';
import { HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import OpenAI from 'openai';
import type { Response, ResponseInput } from 'openai/resources/responses/responses';
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ReplyPart } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ALL, MODELS, lastAsked, scene, scriptOf, thought, type Scene } from './support.ts';

const at = scene();
const SIGNATURE = Buffer.from('signature 1').toString('base64');

const LOOK = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object', properties: { place: { type: 'string' } } } },
};

async function turn(model: string, stream: boolean, history: BaseMessage[]): Promise<AIMessageChunk> {
  const { url, key } = at.gateway;
  const chat = new ChatOpenAI({
    model,
    apiKey: key,
    maxRetries: 0,
    useResponsesApi: true,
    // Its own member is for models that it knows to think.
    modelKwargs: { reasoning: { effort: 'medium', summary: 'auto' } },
    configuration: { baseURL: `${url}/v1` },
  }).bindTools([LOOK]);
  if (!stream) return chat.invoke(history);
  let sum: AIMessageChunk | undefined;
  for await (const chunk of await chat.stream(history)) sum = sum?.concat(chunk) ?? chunk;
  if (sum === undefined) throw new Error('nothing came');
  return sum;
}

/** Only a provider of the protocol itself hands its encrypted content out unasked. */
function sealOf({ encrypted_content: content }: { encrypted_content?: string | null }): object {
  return content ? { encrypted_content: content } : {};
}

async function agentTurn(
  model: string,
  stream: boolean,
  input: ResponseInput,
  { gateway }: Scene = at,
): Promise<Response> {
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const params = {
    model,
    instructions: 'Be brief.',
    input,
    include: [],
    tools: [
      {
        type: 'function' as const,
        name: 'look',
        description: 'Looks at a place',
        parameters: LOOK.function.parameters,
        strict: true,
      },
    ],
    reasoning: { effort: 'medium' as const, summary: 'auto' as const },
  };
  return stream
    ? openai.responses.stream(params).finalResponse()
    : openai.responses.create({ ...params, stream: false });
}

const MODES = ALL.flatMap((speaks) => [false, true].map((stream) => ({ speaks, stream })));

const parts = (speaks: ProtocolName): ReplyPart[] => [
  thought(speaks, 'Where?'),
  { type: 'text', text: 'I look.' },
  { type: 'tool_call', id: 'call_1', name: 'look', arguments: '{"place":"hall"}' },
];
const LAST: ReplyPart[] = [{ type: 'text', text: 'Nobody.' }];

/** The model goes on thinking where its provider wants its thoughts back. */
function expectLoop(speaks: ProtocolName): void {
  const sent = lastAsked(at);
  if (speaks === 'messages') {
    expect(sent.thinking).toMatchObject({ type: 'enabled' });
    expect((sent.messages as JsonObject[])[1]?.content).toMatchObject([
      { type: 'thinking', thinking: 'Where?', signature: SIGNATURE },
      { text: 'I look.' },
      { type: 'tool_use', id: 'call_1' },
    ]);
  } else if (speaks === 'responses') {
    expect((sent.input as JsonObject[]).find(({ type }) => type === 'reasoning')).toMatchObject({
      encrypted_content: 'encrypted 1',
    });
  } else {
    expect(sent.messages).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ role: 'tool', tool_call_id: 'call_1' })]) as object,
    );
  }
}

describe('with the store off', () => {
  const off = scene({ responses: { store: 'off' } });

  it.each([false, true])(
    'a messages provider gets its thinking back all the same (stream: %s)',
    async (stream) => {
      off.upstream.play(
        scriptOf('messages', { parts: parts('messages') }, stream),
        scriptOf('messages', { parts: LAST }, stream),
      );
      const model = MODELS.messages;
      const question = { role: 'user' as const, content: 'Who is there?' };
      const first = await agentTurn(model, stream, [question], off);
      const output = { type: 'function_call_output' as const, call_id: 'call_1', output: 'empty' };
      await agentTurn(model, stream, [question, ...first.output, output] as ResponseInput, off);
      expect((lastAsked(off).messages as JsonObject[])[1]?.content).toMatchObject([
        { type: 'thinking', signature: SIGNATURE },
        { text: 'I look.' },
        { type: 'tool_use' },
      ]);
    },
  );
});

describe.each(MODES)('in front of a $speaks provider (stream: $stream)', ({ speaks, stream }) => {
  beforeEach(() => {
    at.upstream.play(
      scriptOf(speaks, { parts: parts(speaks) }, stream),
      scriptOf(speaks, { parts: LAST }, stream),
    );
  });

  it('a tool loop of LangChain', async () => {
    const history: BaseMessage[] = [new HumanMessage('Who is there?')];
    const first = await turn(MODELS[speaks], stream, history);
    expect(first.text).toBe('I look.');
    expect(first.tool_calls).toMatchObject([{ id: 'call_1', name: 'look', args: { place: 'hall' } }]);
    expect(first.usage_metadata).toMatchObject({ input_tokens: 18, output_tokens: 4 });
    history.push(first, new ToolMessage({ content: 'empty', tool_call_id: 'call_1' }));
    expect((await turn(MODELS[speaks], stream, history)).text).toBe('Nobody.');
    expectLoop(speaks);
  });

  it('a tool loop as the Agents SDK writes it', async () => {
    const question = { role: 'user' as const, content: 'Who is there?' };
    const first = await agentTurn(MODELS[speaks], stream, [question]);
    const items = first.output.map((item) => {
      // It writes items anew: the type of a message leads, reasoning has its text and its id.
      if (item.type === 'reasoning')
        return { id: item.id, type: item.type, summary: item.summary, ...sealOf(item) };
      if (item.type !== 'message') return item;
      const { id, role, content, status, type } = item;
      return { type, id, role, content, status };
    });
    const output = { type: 'function_call_output' as const, call_id: 'call_1', output: 'empty' };
    const input = [question, ...items, { ...output, status: 'completed' as const }];
    const second = await agentTurn(MODELS[speaks], stream, input as ResponseInput);
    expect(second.output_text).toBe('Nobody.');
    expectLoop(speaks);
  });
});
