// An overflow whose numbers the provider does not tell: the model's window is known, and what was sent is estimated.
import { expect, it } from 'vitest';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { ask } from '../../helpers/ask.ts';
import { gateway, provider } from '../../helpers/gateway.ts';
import { scriptedProvider } from '../../helpers/scripted-provider.ts';

async function refusal(client: ProtocolName, model: unknown, words: number): Promise<string | undefined> {
  const scripted = await scriptedProvider();
  scripted.play({ status: 500, body: { error: { message: 'Context size has been exceeded.' } } });
  const to = await gateway({
    config: { providers: { p: provider(`${scripted.url}/v1`, 'chat', [model]) } },
  });
  const messages = [{ role: 'user', content: 'word '.repeat(words) }];
  const { status, error } = await ask(to, { protocol: client, model: 'p/m', body: { messages } });
  expect(status).toBe(400);
  return error?.message;
}

const KNOWN = { id: 'm', context_window: 4096 };

it('a messages client reads the estimate and the window', async () => {
  const message = (await refusal('messages', KNOWN, 8000)) ?? '';
  const [, sent] = /^prompt is too long: (\d+) tokens > 4096 maximum$/.exec(message) ?? [];
  expect(Number(sent)).toBeGreaterThan(9000);
  expect(Number(sent)).toBeLessThan(11_000);
});

it('a chat client does', async () => {
  expect(await refusal('chat', KNOWN, 8000)).toMatch(
    /^This model's maximum context length is 4096 tokens\. However, your messages resulted in (9|10)\d\d\d tokens\.$/,
  );
});

it('what was refused is more than the window, whatever the estimate', async () => {
  expect(await refusal('messages', KNOWN, 1)).toBe('prompt is too long: 4097 tokens > 4096 maximum');
});

it('no number is made up where the window is not known', async () => {
  expect(await refusal('messages', 'm', 8000)).toBe('prompt is too long: Context size has been exceeded.');
  expect(await refusal('chat', 'm', 8000)).toBe('Context size has been exceeded.');
});
