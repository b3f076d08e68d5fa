// A server that keeps its stream open after the finish: the client must not wait for what will not come.
import { expect, it } from 'vitest';
import { manualClock } from '../helpers/clock.ts';
import { gateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';

it('ends a translated answer five seconds after its finish, with an estimate in place of usage', async () => {
  const clock = manualClock();
  const provider = await scriptedProvider();
  const chunk = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const never = new Promise(() => undefined);
  const steps = [chunk({ role: 'assistant', content: 'Hello' }, null), chunk({}, 'stop'), never];
  provider.play({ headers: { 'content-type': 'text/event-stream' }, steps });
  const { url, key } = await gateway({
    clock,
    config: { providers: { late: { protocol: 'chat', base_url: provider.url, models: ['m'] } } },
  });
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'late/m',
      max_tokens: 9,
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('content_block_delta')) text += (await reader?.read())?.value ?? '';
  let done = false;
  const rest = (async () => {
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) break;
      text += read.value;
    }
    done = true;
  })();
  // Far less than the provider's own idle time-out, five minutes; the finish may still be on its way at first.
  for (let second = 0; second < 60 && !done; second += 1) {
    clock.advance(1000);
    await new Promise(setImmediate);
  }
  await rest;
  expect(text).toContain('"stop_reason":"end_turn"');
  expect(text).toContain('event: message_stop');
});
