// The official SDKs in a tool loop in front of recorded providers (test/fixtures/tapes): each client gets the calls and the answer that
// were recorded, whatever protocol the provider spoke. `gateway record` made the tapes with test/tapes/agent.mjs.
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import type { ResponseInput } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';

const tapeAt = (name: string): string => fileURLToPath(new URL(`../fixtures/tapes/${name}`, import.meta.url));

let gateway: TestGateway;

beforeAll(async () => {
  const providers = {
    chat: { tape: tapeAt('steps-chat') },
    messages: { tape: tapeAt('steps-messages') },
  };
  gateway = await startGateway({ config: { providers } });
});
afterAll(() => gateway.stop());

const PROMPT = 'Please run it';
const SYSTEM = 'Work in steps.';
const parameters = {
  type: 'object' as const,
  properties: { command: { type: 'string' } },
  required: ['command'],
};
const tool = { name: 'run', description: 'Runs a command.' };
/** As the recorded program wrote it, at another time. */
const resultOf = (command: string): string => `ran ${command} at ${new Date().toISOString()}`;
const commandIn = (text: string): string => (JSON.parse(text) as { command: string }).command;

interface Loop {
  commands: string[];
  text: string | null | undefined;
}

async function chatLoop(model: string): Promise<Loop> {
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const messages: ChatCompletionMessageParam[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: PROMPT },
  ];
  const tools = [{ type: 'function' as const, function: { ...tool, parameters } }];
  const commands: string[] = [];
  for (;;) {
    const { choices } = await openai.chat.completions
      .stream({ model, messages, tools })
      .finalChatCompletion();
    const message = choices[0]?.message;
    const calls = message?.tool_calls ?? [];
    if (message === undefined || calls.length === 0) return { commands, text: message?.content };
    messages.push(message);
    for (const call of calls) {
      if (call.type !== 'function') continue;
      const command = commandIn(call.function.arguments);
      commands.push(command);
      messages.push({ role: 'tool', tool_call_id: call.id, content: resultOf(command) });
    }
  }
}

async function messagesLoop(model: string): Promise<Loop> {
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: PROMPT }];
  const tools = [{ ...tool, input_schema: parameters }];
  const commands: string[] = [];
  for (;;) {
    const asked = { model, max_tokens: 500, system: SYSTEM, messages, tools };
    const { content } = await anthropic.messages.stream(asked).finalMessage();
    const calls = content.filter((block) => block.type === 'tool_use');
    if (calls.length === 0) return { commands, text: content.find((block) => block.type === 'text')?.text };
    messages.push({ role: 'assistant', content });
    const results = calls.map(({ id, input }) => {
      const { command } = input as { command: string };
      commands.push(command);
      return { type: 'tool_result' as const, tool_use_id: id, content: resultOf(command) };
    });
    messages.push({ role: 'user', content: results });
  }
}

async function responsesLoop(model: string): Promise<Loop> {
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const input: ResponseInput = [{ role: 'user', content: PROMPT }];
  const tools = [{ type: 'function' as const, ...tool, parameters, strict: false }];
  const commands: string[] = [];
  for (;;) {
    const answer = await openai.responses.create({ model, instructions: SYSTEM, input, tools });
    const calls = answer.output.filter((item) => item.type === 'function_call');
    if (calls.length === 0) return { commands, text: answer.output_text };
    for (const call of calls) {
      const command = commandIn(call.arguments);
      commands.push(command);
      input.push(call, { type: 'function_call_output', call_id: call.call_id, output: resultOf(command) });
    }
  }
}

const LOOPS = { chat: chatLoop, messages: messagesLoop, responses: responsesLoop };
const CASES = Object.keys(LOOPS).flatMap((client) => ['chat', 'messages'].map((tape) => ({ client, tape })));

it.each(CASES)(
  'a $client client gets the recorded tool loop of a $tape provider',
  async ({ client, tape }) => {
    const { commands, text } = await LOOPS[client as keyof typeof LOOPS](`${tape}/echo`);
    expect(commands).toEqual(['command']);
    expect(text).toMatch(/^ran command at \d{4}-/);
  },
);
