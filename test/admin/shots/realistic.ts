// A gateway of a team with a month behind it, for pictures and for measurements of the page: 12 accounts, 160 keys, names of every
// length, 100,000 requests in conversations, limits, grants, brakes, and a provider that is down. Always the same but for the time.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Peers } from '../../../src/app/parts.ts';
import { HOUR_MS } from '../../../src/clock.ts';
import { createIds, createRequestIds } from '../../../src/ids.ts';
import { openStore } from '../../../src/store/open.ts';
import { NOTHING_SPENT } from '../../../src/store/holds/holds.ts';
import { nanosOf } from '../../../src/tier.ts';
import type { StoredRecord } from '../../../src/store/store.ts';
import type { UsageRow } from '../../../src/store/usage-columns.ts';
import { gateway, provider, type TestGateway } from '../../helpers/gateway.ts';
import { usageRow } from '../../store/support.ts';

const DAY_MS = 24 * HOUR_MS;

const PEOPLE: readonly (readonly [name: string, tier: string])[] = [
  ['ada', 'pro'],
  ['grace', 'pro'],
  ['linus', 'free'],
  ['Nils Åkesson', 'pro'],
  ['build server', 'machines'],
  ['nightly evaluation of the summaries (team search)', 'machines'],
  ['山田 太郎', 'pro'],
  ['customer-support-assistant-production-eu-central-1', 'enterprise'],
  ['ci', 'machines'],
  ['Zoë', 'free'],
  ['research', 'enterprise'],
  ['o’brien, kate', 'pro'],
];
const KEYS = 160;
/** The id of the first of further accounts. */
const FIRST_OTHER = 1000;

const MODELS = [
  {
    provider: 'anthropic',
    model: 'claude-sonnet-5',
    asked: 'claude-sonnet-5',
    pace: 900,
    price: 9,
    weight: 9,
  },
  { provider: 'anthropic', model: 'claude-haiku-4-5', asked: 'fast', pace: 380, price: 1, weight: 5 },
  { provider: 'openai', model: 'gpt-5-mini', asked: 'auto', pace: 420, price: 2, weight: 4 },
  { provider: 'openai', model: 'gpt-5.2', asked: 'gpt-5.2', pace: 1300, price: 11, weight: 2 },
  {
    provider: 'workstation',
    model: 'qwen3-coder-30b-a3b-instruct-q4_k_m',
    asked: 'local',
    pace: 180,
    price: null,
    weight: 2,
  },
  {
    provider: 'hosting',
    model: 'accounts/our-company/models/support-assistant-v3-fine-tuned-2026-10-30',
    asked: 'support-assistant',
    pace: 640,
    price: 4,
    weight: 1,
  },
] as const;
const CLIENTS = ['claude-code', 'codex', 'continue', 'openai-python', null] as const;
const LABELS = [
  'checkout',
  'search',
  'release-notes',
  'a label that somebody took much time to write down',
  null,
  null,
] as const;
const ERRORS = ['upstream', 'rate_limited', 'client_closed', 'unavailable'] as const;
const STATUS: Readonly<Record<(typeof ERRORS)[number], number>> = {
  upstream: 502,
  rate_limited: 429,
  client_closed: 499,
  unavailable: 503,
};
const MISSES = ['tools', 'system', 'pause'] as const;

const ids = createIds();

/** Numbers from 0 to 1, always the same. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const digits = (random: () => number, count: number): string =>
  Array.from({ length: count }, () => BASE62[Math.floor(random() * 62)]).join('');

const pick = <Item>(items: readonly Item[], at: number): Item => {
  const item = items[Math.floor(at * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};
const WEIGHTED = MODELS.flatMap((model) => Array.from({ length: model.weight }, () => model));

function keyOf(number: number, now: number): Extract<StoredRecord, { type: 'key' }> {
  const random = randoms(number);
  const [, ended] = [random(), random()];
  const createdAt = now - (number + 2) * 0.5 * DAY_MS;
  const names = [
    'laptop',
    'editor',
    'notebook server',
    null,
    'pipeline that builds the weekly report for finance',
  ];
  return {
    type: 'key',
    id: `key_${String(number).padStart(4, '0')}`,
    hash: createHash('sha256').update(`realistic ${number}`).digest('hex'),
    accountId: 1 + (number % PEOPLE.length),
    prefix: `sk-gw-${digits(random, 6)}`,
    label: names[number % names.length] ?? null,
    usageLabel: number % 7 === 0 ? 'checkout' : null,
    permissions: number % 3 === 0 ? ['chat'] : ['chat', 'messages'],
    models: number % 11 === 0 ? ['auto', 'fast', 'local', 'gpt-5.2', 'claude-sonnet-5'] : null,
    native: false,
    createdAt,
    lastUsedAt: number % 5 === 4 ? null : now - number * 4000,
    expiresAt: number % 6 === 5 ? now + (number - 80) * DAY_MS : null,
    revokedAt: ended < 0.4 ? createdAt + 0.2 * DAY_MS : null,
    origin: null,
  };
}

interface Talk {
  id: string;
  accountId: number;
  keyId: string;
  of: (typeof MODELS)[number];
  client: string | null;
  label: string | null;
  left: number;
  agent: number;
}

/** Rows of the last thirty days, more by day than by night, the newest last. Half of them are of the `others`, if there are some. */
function* usageRows(count: number, now: number, others: number): Generator<UsageRow> {
  const random = randoms(42);
  const talks: (Talk | undefined)[] = [];
  const valid = Array.from({ length: KEYS }, (_, number) => keyOf(number, now)).filter(
    ({ revokedAt }) => revokedAt === null,
  );
  const begin = (): Talk => {
    const key = pick(valid, random() ** 2);
    return {
      id: `conv_${digits(random, 22)}`,
      accountId: others > 0 && random() < 0.5 ? FIRST_OTHER + Math.floor(random() * others) : key.accountId,
      keyId: key.id,
      of: pick(WEIGHTED, random()),
      client: pick(CLIENTS, random()),
      label: pick(LABELS, random()),
      left: 2 + Math.floor(random() ** 3 * 60),
      agent: 0,
    };
  };
  for (let number = 0; number < count; number += 1) {
    // A wave a day, and slow growth.
    const share = Math.sqrt((number + 1) / count);
    const raw = now - 2000 - (1 - share) * 30 * DAY_MS;
    const wave = Math.sin(((raw - now) / DAY_MS) * 2 * Math.PI) * 2 * HOUR_MS;
    const at = Math.min(now - 1000, Math.round(raw + wave));
    const place = Math.floor(random() * 12);
    const talk = (talks[place] ??= begin());
    talk.left -= 1;
    if (talk.left <= 0) talks[place] = undefined;
    yield rowOf(talk, { at, number, random });
  }
}

function rowOf(
  talk: Talk,
  { at, number, random }: { at: number; number: number; random: () => number },
): UsageRow {
  const { of, id, accountId, keyId, client, label } = talk;
  const error = random() < 0.03 ? pick(ERRORS, random()) : null;
  const isKnown = error === null;
  const fresh = Math.round(300 + random() ** 3 * 20_000);
  const cached = talk.left % 9 === 0 ? 0 : Math.round(fresh * random() * 6);
  const output = Math.round(40 + random() ** 2 * 1800);
  const missed = isKnown && cached > 5000 && random() < 0.04;
  const firstByteMs = isKnown ? of.pace * (0.5 + random() ** 2 * 4) : null;
  if (random() < 0.1) talk.agent = (talk.agent + 1) % 4;
  return usageRow({
    at,
    accountId,
    keyId,
    endpoint: client === 'claude-code' ? 'messages' : 'chat',
    modelAsked: of.asked,
    provider: error === 'rate_limited' ? null : of.provider,
    model: error === 'rate_limited' ? null : of.model,
    status: error === null ? 200 : STATUS[error],
    input: isKnown ? fresh : null,
    cacheRead: isKnown ? cached : null,
    cacheWrite: isKnown ? Math.round(fresh / 8) : null,
    output: isKnown ? output : null,
    reasoning: null,
    costUsd: isKnown && of.price !== null ? ((fresh / 5 + output + cached / 50) * of.price) / 1e6 : null,
    firstByteMs,
    durationMs: (firstByteMs ?? 4000) + output * 9 + (isKnown && number % 20 === 0 ? 745 : 0),
    error,
    requestId: createRequestIds(ids, () => at - 5000)(),
    attempts: random() < 0.05 ? 2 : 1,
    detail: isKnown && number % 20 === 0 ? detailOf(of, (firstByteMs ?? 4000) + output * 9) : null,
    conversation: id,
    agent: talk.agent === 0 ? null : `agent-${talk.agent}`,
    agentType:
      talk.agent === 0 ? null : pick(['explore', 'review', 'a-subagent-with-a-long-name'], talk.agent / 4),
    class: talk.left % 13 === 0 ? 'title' : null,
    prompt: `prompt-${Math.floor(talk.left / 6)}`,
    label,
    client,
    cacheMiss: missed ? pick(MISSES, random()) : null,
    cacheMissDetail: null,
    cacheMissTokens: missed ? cached + 2000 : null,
    cacheMissCostUsd: missed && of.price !== null ? (cached * of.price) / 5e6 : null,
    settled: false,
  });
}

/** Another target failed before. */
const detailOf = ({ provider, model }: (typeof MODELS)[number], ms: number): string =>
  JSON.stringify({
    attempts: [
      {
        target: 'hosting/glm-5.2',
        protocol: 'chat',
        status: 529,
        error: 'overloaded',
        message: 'The engine is overloaded. Try again later.',
        ms: 740.2,
      },
      { target: `${provider}/${model}`, protocol: provider === 'anthropic' ? 'messages' : 'chat', ms },
    ],
    passed_over: [
      {
        target: 'workstation/qwen3-coder-30b-a3b-instruct-q4_k_m',
        why: 'its window of 8,192 tokens is too small',
      },
    ],
    dropped: ['logit_bias', 'parallel_tool_calls'],
    changed: ['reasoning_effort'],
    repaired: ['get_weather'],
  });

async function* recordsOf(requests: number, now: number, others: number): AsyncGenerator<StoredRecord[]> {
  yield PEOPLE.map(([name, tier], at) => ({
    type: 'account',
    id: at + 1,
    name,
    tier,
    createdAt: now - (90 - at) * DAY_MS,
  }));
  yield Array.from({ length: KEYS }, (_, number) => keyOf(number, now));
  yield [
    {
      type: 'grant',
      id: 'grant_one',
      accountId: 1,
      kind: 'cost',
      amount: nanosOf(5),
      until: now + DAY_MS,
      createdAt: now - HOUR_MS,
      revokedAt: null,
    },
    {
      type: 'grant',
      id: 'grant_two',
      accountId: 5,
      kind: 'requests',
      amount: 200,
      until: now + 2 * HOUR_MS,
      createdAt: now - HOUR_MS,
      revokedAt: null,
    },
  ];
  const rows = [...usageRows(requests, now, others)];
  yield spendingOf(rows);
  yield brakesOf(rows, now);
  yield admissionsOf(rows);
  for (let at = 0; at < rows.length; at += 1000)
    yield rows.slice(at, at + 1000).map((row) => ({ type: 'usage', ...row }));
}

/** Sums by account and hour (0) or day (1), as settlements of requests make them. */
function spendingOf(rows: readonly UsageRow[]): StoredRecord[] {
  const sums = new Map<string, Extract<StoredRecord, { type: 'spending' }>>();
  for (const { accountId, at, input, cacheRead, cacheWrite, output, costUsd } of rows) {
    for (const [kind, length] of [HOUR_MS, DAY_MS].entries()) {
      const start = at - (at % length);
      const key = `${accountId} ${kind} ${start}`;
      const sum = sums.get(key) ?? { type: 'spending', accountId, kind, start, ...NOTHING_SPENT };
      const fresh = (input ?? 0) + (cacheWrite ?? 0) + (output ?? 0);
      sum.fresh += fresh;
      sum.tokens += fresh + (cacheRead ?? 0);
      sum.cost += nanosOf(costUsd ?? 0);
      sums.set(key, sum);
    }
  }
  return [...sums.values()];
}

/** Two of the last conversations were stopped. */
function brakesOf(rows: readonly UsageRow[], now: number): StoredRecord[] {
  const last = [...new Map(rows.slice(-400).map((row) => [row.conversation, row]))].slice(-2);
  const stopped = ['conversation', 'repeated_call'];
  return last.flatMap(([id, { accountId }], at) =>
    id === null
      ? []
      : [
          {
            type: 'brake' as const,
            id,
            accountId,
            spent: nanosOf(3.2),
            base: 0,
            allowed: null,
            stopped: stopped[at] ?? null,
            stoppedAt: now - 120_000,
            run: null,
            runCalls: null,
            runForgiven: null,
            at: now - 120_000,
          },
        ],
  );
}

function admissionsOf(rows: readonly UsageRow[]): StoredRecord[] {
  const counts = new Map<string, Extract<StoredRecord, { type: 'hour' }>>();
  for (const { accountId, at } of rows) {
    const hour = at - (at % HOUR_MS);
    const count = counts.get(`${accountId} ${hour}`) ?? { type: 'hour', accountId, hour, requests: 0 };
    count.requests += 1;
    counts.set(`${accountId} ${hour}`, count);
  }
  return [...counts.values()];
}

/** Accounts without keys, for measurements of long lists. */
async function* moreAccounts(
  records: AsyncIterable<StoredRecord[]>,
  count: number,
  now: number,
): AsyncGenerator<StoredRecord[]> {
  let isFirst = true;
  for await (const batch of records) {
    yield batch;
    if (isFirst && count > 0)
      yield Array.from({ length: count }, (_, at) => ({
        type: 'account' as const,
        id: FIRST_OTHER + at,
        name: `student ${at + 1}`,
        tier: 'free',
        createdAt: now - at * 60_000,
      }));
    isFirst = false;
  }
}

/** Its stop and its files are of the test. */
export async function realisticGateway({
  requests = 100_000,
  accounts = 0,
  peers,
  config = {},
}: {
  requests?: number;
  accounts?: number;
  peers?: Peers;
  config?: Record<string, unknown>;
} = {}): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-realistic-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = join(folder, 'gateway.db');
  const store = await openStore(database);
  const now = Date.now();
  const audit = { actor: 'owner', address: 'local', action: 'import', detail: '{}' };
  const records = moreAccounts(recordsOf(requests, now, accounts), accounts, now);
  await store.importRecords(records, () => Promise.resolve({ at: now, ...audit }));
  await store.close();
  return gateway({
    ...(peers && { peers }),
    config: {
      admin: true,
      database,
      providers: {
        sim: {},
        anthropic: {},
        openai: {},
        workstation: provider('http://127.0.0.1:9/v1', 'chat', ['qwen3-coder-30b-a3b-instruct-q4_k_m']),
      },
      routes: {
        auto: ['sim/echo', 'sim/slow'],
        local: ['workstation/qwen3-coder-30b-a3b-instruct-q4_k_m', 'sim/echo'],
        'a-route-with-a-name-that-says-everything-about-what-it-is-for': ['sim/echo'],
      },
      tiers: {
        free: 60,
        pro: { requests: '600/hour', tokens: '40000000/day', cost: '60/month' },
        machines: { requests: '2000/hour', cost: '25/day' },
        enterprise: 100_000,
      },
      brakes: { conversation: 3, repeated_call: 5 },
      ...config,
    },
  });
}
