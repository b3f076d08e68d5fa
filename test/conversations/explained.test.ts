// What else belongs to explained cache misses: advice in the log, nothing where it is off, and clients that ask their vendor.
import { expect, it, onTestFinished } from 'vitest';
import { readRequestRows } from '../gateway/rows.ts';
import { wholeOf } from '../gateway/wire.ts';
import { ask } from '../helpers/ask.ts';
import { manualClock, type ManualClock } from '../helpers/clock.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { startPrefixCache } from '../helpers/prefix-cache.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { begin, bodyOf, goOn, type State } from './scripts.ts';

interface Cached {
  to: TestGateway;
  clock: ManualClock;
}

async function cached(config: object = {}): Promise<Cached> {
  const clock = manualClock();
  const upstream = await startPrefixCache(clock);
  onTestFinished(() => upstream.close());
  const providers = { p: provider(upstream.url, 'messages', ['auto'], { prompt_cache: 'off' }) };
  return {
    to: await gateway({ config: { providers, tiers: { enterprise: 1000 }, ...config }, clock }),
    clock,
  };
}

const send = (to: TestGateway, state: State): Promise<unknown> =>
  ask(to, { protocol: 'messages', model: 'auto', body: bodyOf('messages', state), headers: state.headers });

/** A conversation whose system text has the time in it. */
async function converse({ to, clock }: Cached, turns: number): Promise<void> {
  const state = begin('messages', 'secret-words');
  for (let turn = 0; turn < turns; turn++) {
    state.system[0] = `It is ${turn} o'clock. ${'Rules. '.repeat(800)}`;
    await send(to, state);
    goOn(state);
    // Rows are written.
    clock.advance(5000);
  }
}

it('the third miss of a conversation for one cause is a line of the log that says what to do, once', async () => {
  const started = await cached();
  const { to } = started;
  await converse(started, 6);
  await readRequestRows(to, 6);
  const lines = to
    .log()
    .split('\n')
    .filter((line) => line.includes('missed its prompt cache'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'warn',
    cause: 'system',
    detail: 'system block 1 changed',
    account: 'test',
    conversation: expect.stringMatching(/^[0-9A-Za-z]{8}$/) as string,
  });
  expect(lines[0]).toContain('keep dates and other changing lines out of it');
  expect(to.log()).not.toContain('secret-words');
});

it('explain_misses: off records none', async () => {
  const started = await cached({ explain_misses: 'off' });
  const { to } = started;
  await converse(started, 5);
  for (const row of await readRequestRows(to, 5))
    expect(row).toMatchObject({ cacheMiss: null, cacheMissTokens: null });
  expect(to.log()).not.toContain('missed its prompt cache');
});

it('what a client asks its vendor of a miss passes where ids are shared, and so does the answer', async () => {
  const upstream = await scriptedProvider();
  const both = ['messages', 'responses'];
  const to = await gateway({
    config: {
      providers: {
        p: provider(`${upstream.url}/v1`, 'messages', ['m'], { protocol: both }),
      },
    },
  });
  const reason = { type: 'tools_changed', cache_missed_input_tokens: 41_230 };
  upstream.play({ body: { ...wholeOf('messages', 'hello'), diagnostics: { cache_miss_reason: reason } } });
  const asked = { diagnostics: { previous_message_id: 'msg_1' } };
  const { json, text } = await ask(to, { protocol: 'messages', model: 'm', body: asked });
  expect(json, text).toMatchObject({ type: 'message' });
  expect((await upstream.next()).json).toMatchObject(asked);
  expect(json).toMatchObject({ diagnostics: { cache_miss_reason: reason } });

  const said = { prompt_cache_diagnostics: { type: 'cache_miss', cache_missed_tokens: 41_230 } };
  upstream.play({ body: { ...wholeOf('responses', 'hello'), ...said } });
  const options = { prompt_cache_options: { comparison_response_id: 'resp_1' } };
  const answer = await ask(to, { protocol: 'responses', model: 'm', body: { store: false, ...options } });
  expect((await upstream.next()).json).toMatchObject(options);
  expect(answer.json).toMatchObject(said);
});
