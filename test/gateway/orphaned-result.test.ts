// A tool's result whose call the client has cut from its history: what is sent in its place is named, in every protocol's words.
import { expect, it } from 'vitest';
import { ask, type Question } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from './wire.ts';

const CASES: [Required<Pick<Question, 'protocol' | 'body'>>, provider: 'chat' | 'messages', named: string][] =
  [
    [
      {
        protocol: 'chat',
        body: {
          messages: [
            { role: 'tool', tool_call_id: 'gone', content: 'seen' },
            { role: 'user', content: 'And?' },
          ],
        },
      },
      'messages',
      'messages[].content',
    ],
    [
      {
        protocol: 'messages',
        body: {
          messages: [
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'gone', content: 'seen' }] },
          ],
        },
      },
      'chat',
      'messages[].content[].content',
    ],
    [
      {
        protocol: 'responses',
        body: { input: [{ type: 'function_call_output', call_id: 'gone', output: 'seen' }] },
      },
      'chat',
      'input[].output',
    ],
  ];

it.each(CASES)('of a client: %j, on a provider of %s', async (question, speaks, named) => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf(speaks, 'hello') });
  const providers = { p: provider(`${upstream.url}/v1`, speaks, ['m']) };
  const seen = await ask(await gateway({ config: { providers } }), { ...question, model: 'm' });
  expect([seen.status, seen.headers.get('x-gateway-dropped')]).toEqual([200, named]);
  expect(JSON.stringify(upstream.requests[0]?.json)).toContain('[orphan tool result] seen');
  const strict = await ask(await gateway({ config: { providers, strict: true } }), {
    ...question,
    model: 'm',
  });
  expect(strict.status).toBe(400);
  expect(strict.error?.message).toBe(
    `p/m does not support ${named}; with strict: true the gateway refuses the request instead of leaving it out`,
  );
});

it('a provider of the same protocol gets it as it is', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('messages', 'hello') });
  const providers = { p: provider(`${upstream.url}/v1`, 'messages', ['m']) };
  const { protocol, body } = CASES[1]?.[0] ?? {};
  const seen = await ask(await gateway({ config: { providers, strict: true } }), {
    protocol,
    body,
    model: 'm',
  });
  expect([seen.status, seen.headers.get('x-gateway-dropped')]).toEqual([200, null]);
  expect(upstream.requests[0]?.json).toMatchObject(body ?? {});
});
