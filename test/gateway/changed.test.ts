// What a translation changed in form is in the log, by the client's own name of the field, so that it can be understood.
import { expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from './wire.ts';

const MESSAGES = [
  { role: 'user', content: 'a' },
  { role: 'assistant', content: 'b' },
];

it.each([
  [
    'chat',
    { reasoning_effort: 'minimal' },
    [
      'max_completion_tokens: none was given: sent as 128000',
      'reasoning_effort: minimal was sent as low',
      'messages: the conversation ended with the assistant: a user turn "Continue." was added',
    ],
  ],
  [
    'messages',
    { stop_sequences: ['1', '2', '3', '4', '5'] },
    [
      'messages[]: this model answers only after a user message',
      'stop_sequences: the gateway itself stops at some of them',
    ],
  ],
] as const)('of a %s client', async (protocol, members, changed) => {
  const scripted = await scriptedProvider();
  const other = protocol === 'chat' ? 'messages' : 'chat';
  const to = await gateway({ config: { providers: { p: provider(scripted.url, other, ['claude-x']) } } });
  scripted.play({ body: wholeOf(other, 'hello') });
  const body = { messages: MESSAGES, ...members };
  expect(await ask(to, { protocol, model: 'p/claude-x', body })).toMatchObject({ content: 'hello' });
  const answered = (): string | undefined =>
    to
      .log()
      .split('\n')
      .find((line) => line.includes('"answered"'));
  await expect.poll(answered).toBeDefined();
  expect(JSON.parse(answered() ?? '')).toMatchObject({ changed });
});
