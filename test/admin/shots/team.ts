// What a team does while pictures are taken: streams under way at providers that answer, refusals, sign-ins that wait, changes by several
// owners.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createIds, createRequestIds } from '../../../src/ids.ts';
import type { Store } from '../../../src/store/store.ts';
import { provider, type TestGateway } from '../../helpers/gateway.ts';
import { askForCode } from '../../sign-in/support.ts';

const WORDS =
  'The limit holds for each account. A request that would exceed it is refused before a provider is asked. '.split(
    ' ',
  );

/** Answers each request with words, as fast as a model does; every eighth one of `gpt-5.2` is too much for it. */
export async function startWriter(): Promise<string> {
  let count = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as { model: string; stream?: boolean };
      count += 1;
      if (asked.model === 'gpt-5.2' && count % 8 === 0) {
        response.writeHead(529, { 'content-type': 'application/json' });
        return response.end('{"error":{"message":"The engine is overloaded. Try again later."}}');
      }
      return void answer(asked, count).catch(() => response.destroy());
    });
    async function answer({ model, stream }: { model: string; stream?: boolean }, at: number): Promise<void> {
      const words = 60 + ((at * 37) % 140);
      const usage = { prompt_tokens: 900 + ((at * 379) % 4000), completion_tokens: words * 3 };
      const base = { id: `chatcmpl-${at}`, created: 1_790_000_000, model };
      if (stream !== true) {
        const message = { role: 'assistant', content: WORDS.slice(at % 2, 18).join(' ') };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify({
            ...{ ...base, object: 'chat.completion', usage },
            choices: [{ index: 0, message, finish_reason: 'stop' }],
          }),
        );
        return;
      }
      await sleep(300 + ((at * 211) % 900));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { ...base, object: 'chat.completion.chunk' };
      for (let word = 0; word < words && !response.destroyed; word += 1) {
        const delta = { role: 'assistant', content: `${WORDS[word % WORDS.length]} ` };
        const choices = [{ index: 0, delta, finish_reason: null }];
        response.write(`data: ${JSON.stringify({ ...chunk, choices })}\n\n`);
        await sleep(60 + ((at * 13) % 60));
      }
      const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }];
      response.write(`data: ${JSON.stringify({ ...chunk, choices, usage })}\n\n`);
      response.end('data: [DONE]\n\n');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const priced = (id: string, input: number) => ({ id, price: { input, output: input * 5 } });

/** Of the configuration: what `url` answers for, a provider that is down, and one whose key is not set. */
export const teamConfig = (url: string): Record<string, unknown> => ({
  sign_in: 'on',
  providers: {
    sim: {},
    anthropic: provider(url, 'chat', [priced('claude-sonnet-5', 3), priced('claude-haiku-4-5', 1)]),
    openai: provider(url, 'chat', [priced('gpt-5-mini', 0.25), priced('gpt-5.2', 1.75)]),
    hosting: provider(url, 'chat', [
      priced('accounts/our-company/models/support-assistant-v3-fine-tuned-2026-10-30', 0.9),
    ]),
    workstation: provider('http://127.0.0.1:9/v1', 'chat', ['qwen3-coder-30b-a3b-instruct-q4_k_m']),
    mistral: {},
  },
  routes: {
    auto: ['openai/gpt-5-mini', 'anthropic/claude-haiku-4-5'],
    fast: ['anthropic/claude-haiku-4-5'],
    local: ['workstation/qwen3-coder-30b-a3b-instruct-q4_k_m', 'openai/gpt-5-mini'],
    'support-assistant': [
      'hosting/accounts/our-company/models/support-assistant-v3-fine-tuned-2026-10-30',
      'anthropic/claude-sonnet-5',
    ],
    'gpt-5.2': ['openai/gpt-5.2', 'anthropic/claude-sonnet-5'],
    'a-route-with-a-name-that-says-everything-about-what-it-is-for': ['sim/echo'],
  },
});

const ASKS = [
  ['build server', 'auto'],
  ['research', 'claude-sonnet-5'],
  ['customer-support-assistant-production-eu-central-1', 'support-assistant'],
  ['nightly evaluation of the summaries (team search)', 'fast'],
  ['ci', 'gpt-5.2'],
  ['Zoë', 'local'],
  ['o’brien, kate', 'claude-sonnet-5'],
  // Above its limit.
  ['grace', 'claude-sonnet-5'],
] as const;

/** Each account asks again and again until the test is over. */
export async function keepAsking(gateway: TestGateway): Promise<void> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  for (const [at, [account, model]] of ASKS.entries()) {
    const key = await gateway.newKey({ account, tier: 'pro' });
    const ask = (turn: number): Promise<unknown> =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ model, stream: true },
          messages: [
            { role: 'user', content: `Question ${at} of day ${turn}. ${'Say something. '.repeat(40)}` },
          ],
        }),
        signal: stop.signal,
      })
        .then((response) => response.text())
        .catch(() => undefined);
    void (async () => {
      for (let turn = 0; !stop.signal.aborted; turn += 1) {
        await ask(turn);
        await sleep(model === 'local' ? 8000 : account === 'grace' ? 20_000 : 400 + at * 150);
      }
    })();
  }
}

/** Refusals of the last hours, changes of the last days, and clients that wait to sign in. */
export async function addEvents(gateway: TestGateway): Promise<void> {
  const { store } = gateway;
  await addRefusals(store);
  const add = async (ago: number, actor: string, action: string, detail: object, status: number) => {
    const at = Date.now() - ago * 60_000;
    const entry = { at, actor, address: actor.startsWith('cli') ? 'local' : '10.20.0.7', action };
    await store.endAudit(await store.beginAudit({ ...entry, detail: JSON.stringify(detail) }), status);
  };
  const long = 'customer-support-assistant-production-eu-central-1';
  for (let turn = 40; turn > 0; turn -= 1)
    await add(
      600 + turn * 170,
      'adm_provisioning',
      'changeAccount',
      { account: `student ${turn}`, tier: 'pro', before: { tier: 'free' } },
      200,
    );
  await add(
    420,
    'adm_grace',
    'createKey',
    {
      account: long,
      name: 'pipeline that builds the weekly report for finance',
      id: 'key_0007',
      prefix: 'sk-gw-7Hd3',
    },
    201,
  );
  await add(300, 'cli ada', 'revokeKey', { id: 'key_0009', account: 'ci' }, 200);
  await add(55, 'adm_grace', 'removeAccount', { account: 'linus' }, 404);
  await add(12, 'adm_grace', 'changeAccount', { account: 'Zoë', tier: 'pro', before: { tier: 'free' } }, 200);
  for (let turn = 0; turn < 3; turn += 1) await askForCode(gateway);
}

async function addRefusals(store: Store): Promise<void> {
  const keys = await store.listKeys();
  const ids = createIds();
  const refusals = [
    ['linus', 'rate_limited', 429, 'account "linus" has used its 60 requests of this hour', 31],
    ['Nils Åkesson', 'rate_limited', 429, 'account "Nils Åkesson" has used its $60.00 of this month', 118],
    ['ci', 'forbidden_model', 403, 'this key may not use the model "gpt-5.2"', 1],
    [
      'nightly evaluation of the summaries (team search)',
      'forbidden_permission',
      403,
      'this key may not use the endpoint "messages"',
      4,
    ],
  ] as const;
  await store.recordRefusals(
    refusals.flatMap(([account, error, status, message, times], index) => {
      const key = keys.find((one) => one.account === account && one.revokedAt === null);
      if (key === undefined) return [];
      const at = Date.now() - (index + 1) * 420_000;
      return [
        {
          ...{ at, status, error, message, times, accountId: key.accountId, keyId: key.id },
          requestId: createRequestIds(ids, () => at)(),
          endpoint: 'chat',
          modelAsked: index === 1 ? 'claude-sonnet-5' : 'gpt-5.2',
          ...{ conversation: null, label: index === 0 ? 'checkout' : null, client: 'openai-python' },
        },
      ];
    }),
  );
}
