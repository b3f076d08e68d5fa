// What tests of the page in a browser have in common: the browser, the way to a view, a gateway with some history.
import { UNNAMED } from '../store/support.ts';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { createKey } from '../../src/accounts/access.ts';
import { systemClock } from '../../src/clock.ts';
import { createIds, createRequestIds } from '../../src/ids.ts';
import { findBrowser, startBrowser } from '../helpers/browser.ts';

export const chrome = findBrowser();
/** Milliseconds; the machine may be busy with other tests. */
export const PATIENCE = 30_000;

export const HEADINGS: Readonly<Record<string, string>> = {
  now: 'Now',
  usage: 'Usage',
  requests: 'Requests',
  conversations: 'Conversations',
  limits: 'Limits',
  keys: 'Keys and accounts',
  'sign-ins': 'Sign-ins',
  models: 'Models',
  try: 'Try it',
  compare: 'Compare',
  audit: 'Audit',
  connect: 'Connect',
};

type ContextOptions = Parameters<Browser['newContext']>[0];

/** One browser for all tests of a file. `rules`: as those of `startBrowser`. */
export function browserOfFile(rules = ''): {
  openContext: (options?: ContextOptions) => Promise<BrowserContext>;
  /** The same; it is closed when the test is over. */
  newContext: (options?: ContextOptions) => Promise<BrowserContext>;
} {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser(chrome ?? '', rules);
  }, 120_000);
  // Pages first: where one still asks while its browser ends, the reset of the pipe between them is an error that no test expects.
  afterAll(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await browser.close();
  });

  async function openContext(options: ContextOptions = {}): Promise<BrowserContext> {
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    context.setDefaultTimeout(PATIENCE);
    return context;
  }

  async function newContext(options?: ContextOptions): Promise<BrowserContext> {
    const context = await openContext(options);
    onTestFinished(() => context.close());
    return context;
  }

  return { openContext, newContext };
}

/** `place`: what stands behind `#/`. */
export async function go(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`);
  await arrive(page, place);
}

/** The view is there, and so is its data. */
export async function arrive(page: Page, place: string): Promise<void> {
  const [view = ''] = place.split('?');
  const one = view.startsWith('requests/') ? /^Request / : /^Conversation /;
  const name = view.includes('/') ? one : (HEADINGS[view] ?? '');
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  await page.locator('.loading, [aria-busy="true"]').first().waitFor({ state: 'detached' });
}

const HOUR_MS = 3_600_000;
const MODELS = [
  { provider: 'anthropic', model: 'claude-sonnet-5', pace: 900, price: 9 },
  { provider: 'openai', model: 'gpt-5-mini', pace: 420, price: 2 },
  { provider: 'workstation', model: 'qwen3', pace: 180, price: null },
];
const ACCOUNTS = ['ada', 'build server', '<b>Grace</b>'];

/** Text that would run if the page took it for markup. */
export const MARKUP = '<img src=x onerror="document.title=`owned`">';

/** Two days of requests of three accounts, always the same. */
export async function addHistory(store: Store): Promise<void> {
  const deps = { store, clock: systemClock, ids: createIds() };
  const now = Date.now();
  const keys = [];
  for (const account of ACCOUNTS) {
    const { key } = await createKey(deps, {
      account,
      tier: 'enterprise',
      label: `laptop of ${account}`,
      models: null,
      expiresAt: null,
      permissions: ['chat', 'messages'],
    });
    keys.push(key);
  }
  const rows: UsageRow[] = [];
  for (let hour = 0; hour < 48; hour += 1) {
    const wave = 1 + Math.round(3 * (1 + Math.sin(hour / 4)));
    for (let turn = 0; turn < wave; turn += 1) {
      const [key, of] = [keys[(hour + turn) % 3], MODELS[turn % 3]];
      if (key === undefined || of === undefined) continue;
      const at = now - hour * HOUR_MS - turn * 60_000 - 1000;
      await store.admit(key, 1000, at);
      rows.push(rowOf({ at, key, of, seed: hour * 7 + turn, ids: deps.ids }));
    }
  }
  await store.recordUsage(rows);
}

interface Parts {
  at: number;
  key: { id: string; accountId: number };
  of: (typeof MODELS)[number];
  seed: number;
  ids: ReturnType<typeof createIds>;
}

function rowOf({ at, key, of: { provider, model, pace, price }, seed, ids }: Parts): UsageRow {
  const failed = seed % 23 === 0;
  const input = 900 + ((seed * 379) % 4000);
  const output = failed ? null : 120 + ((seed * 211) % 900);
  const firstByteMs = failed ? null : pace * (0.6 + ((seed * 13) % 10) / 10);
  return {
    at,
    accountId: key.accountId,
    keyId: key.id,
    endpoint: 'messages',
    modelAsked: seed % 11 === 0 ? MARKUP : 'auto',
    provider,
    model,
    status: failed ? 502 : 200,
    streamed: true,
    input: failed ? null : input,
    cacheRead: failed ? null : input * 3,
    cacheWrite: failed ? null : Math.round(input / 3),
    output,
    reasoning: null,
    costUsd: price === null || output === null ? null : (output * price) / 1e6 + (input * price) / 5e6,
    firstByteMs,
    durationMs: (firstByteMs ?? 3000) + (output ?? 0) * 11,
    error: failed ? 'provider_error' : null,
    requestId: createRequestIds(ids, () => at - 5000)(),
    attempts: seed % 9 === 0 ? 2 : 1,
    detail: seed % 9 === 0 ? DETAIL : null,
    ...UNNAMED,
    settled: false,
  };
}

const DETAIL = JSON.stringify({
  attempts: [
    {
      target: 'openai/gpt-5.2',
      protocol: 'chat',
      status: 529,
      error: 'overloaded',
      message: 'The engine is overloaded. <i>Try</i> again later.',
      ms: 740.2,
    },
    { target: 'anthropic/claude-sonnet-5', protocol: 'messages', ms: 3210.4 },
  ],
  passed_over: [{ target: 'workstation/tiny', why: 'its window of 8,192 tokens is too small' }],
  dropped: ['logit_bias', 'parallel_tool_calls'],
  changed: ['reasoning_effort'],
});
