// Counts that are none: half of one is not recorded as a whole one, and a fraction doesn't hold up what is written after it.
import { expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from './wire.ts';

const ODD: [speaks: ProtocolName, usage: object][] = [
  ['chat', { prompt_tokens: 10.5, completion_tokens: 4 }],
  ['chat', { prompt_tokens: 10, completion_tokens: 1e300 }],
  ['chat', { prompt_tokens: null, completion_tokens: 4 }],
  ['chat', { prompt_tokens: 10 }],
  ['messages', { input_tokens: 10.5, output_tokens: 4 }],
  ['messages', { input_tokens: 10 }],
];

it.each(ODD)('%s: %o is recorded as unknown, and the next answer is recorded too', async (speaks, usage) => {
  const upstream = await scriptedProvider();
  const to = await gateway({
    config: { providers: { p: provider(`${upstream.url}/v1`, speaks, ['m']) } },
  });
  upstream.play({ body: { ...wholeOf(speaks, 'hello there'), usage } }, { body: wholeOf(speaks, 'again') });
  const odd = await ask(to, { protocol: 'messages', model: 'p/m' });
  expect(odd.content).toBe('hello there');
  // What a messages client must be told is estimated, never zero.
  if (speaks === 'chat') expect(odd.json?.usage).toMatchObject({ input_tokens: 6, output_tokens: 3 });
  await ask(to, { protocol: 'messages', model: 'p/m' });
  await expect
    .poll(() => to.store.totals(undefined, 0))
    .toMatchObject({ requests: 2, unknown: 1, inputTokens: 5, outputTokens: 2 });
});
