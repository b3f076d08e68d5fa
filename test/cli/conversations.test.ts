// `gateway conversations`: what each cost, one as a tree of its agents, and the requests of one.
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { usageRow } from '../store/support.ts';
import { createShell, NOW, type Shell } from './harness.ts';

beforeEach(() => {
  vi.stubEnv('TZ', 'UTC');
  return () => vi.unstubAllEnvs();
});

const MINUTE = 60_000;
const TALK = 'conv_3kX9aB2qAAAAAAAA';
const OTHER = 'conv_3kX9zzzzBBBBBBBB';

const KNOWN = { input: 100, cacheRead: 300, cacheWrite: 0, output: 50, costUsd: 0.25, durationMs: 1000 };
const MAIN: Partial<UsageRow> = {
  ...KNOWN,
  conversation: TALK,
  client: 'claude-code',
  class: 'main',
  prompt: 'p-1',
};
const EXPLORE = { ...MAIN, agent: 'a1', agentType: 'Explore', class: 'subagent' };

async function prepared(): Promise<Shell> {
  const shell = createShell();
  await shell.run('keys create --account alice');
  await shell.run('keys create --account bob');
  const store = await openStore(join(shell.directory, 'gateway.db'));
  try {
    const alice = (await store.findAccount('alice'))?.id ?? 0;
    const bob = (await store.findAccount('bob'))?.id ?? 0;
    const rows: Partial<UsageRow>[] = [
      { ...MAIN, at: NOW - 50 * 60 * MINUTE, requestId: 'req_1', costUsd: null },
      { ...MAIN, at: NOW - 9 * MINUTE, requestId: 'req_2', label: 'pr-123' },
      {
        ...EXPLORE,
        at: NOW - 8 * MINUTE,
        requestId: 'req_3',
        model: 'small',
        detail: '{"tools":[{"name":"Grep","ms":1500}]}',
      },
      {
        ...EXPLORE,
        at: NOW - 7 * MINUTE,
        requestId: 'req_4',
        agent: 'a2',
        parentAgent: 'a1',
        agentType: null,
        detail: '{"tools":[{"name":"Grep","ms":500},{"name":"Bash","ms":742}]}',
      },
      { ...MAIN, at: NOW - 6 * MINUTE, requestId: 'req_5', class: 'compaction', prompt: 'p-2' },
      {
        ...MAIN,
        at: NOW - 5 * MINUTE,
        requestId: 'req_6',
        prompt: 'p-2',
        ...{
          cacheMiss: 'messages',
          cacheMissDetail: 'message 1 rewritten',
          cacheMissTokens: 41_230,
          cacheMissCostUsd: 0.15,
        },
      },
      {
        ...KNOWN,
        conversation: OTHER,
        accountId: bob,
        at: NOW - MINUTE,
        requestId: 'req_7',
        input: null,
        output: null,
        error: 'upstream',
        costUsd: null,
      },
      { ...KNOWN, at: NOW, requestId: 'req_8', conversation: null },
    ];
    await store.recordUsage(
      rows.map((row) => usageRow({ accountId: alice, provider: 'p', model: 'large', ...row })),
    );
  } finally {
    await store.close();
  }
  return shell;
}

const iso = (minutes: number, ms = 0): string => new Date(NOW - minutes * MINUTE - ms).toISOString();

describe('conversations', () => {
  it('are one JSON document, the latest first, with the sums of all their requests', async () => {
    const shell = await prepared();
    expect(await shell.json(['conversations'])).toEqual([
      {
        ...{ id: OTHER, account: 'bob', client: null, label: null, stopped: null },
        ...{ started_at: iso(1, 1000), last_at: iso(1), requests: 1, subagents: 0 },
        ...{ input_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 0, cost_usd: null },
        ...{ misses: 0, misses_cost_usd: null },
      },
      {
        ...{ id: TALK, account: 'alice', client: 'claude-code', label: 'pr-123', stopped: null },
        ...{ started_at: iso(3000, 1000), last_at: iso(5), requests: 6, subagents: 2 },
        ...{
          input_tokens: 2400,
          cache_read_tokens: 1800,
          cache_write_tokens: 0,
          output_tokens: 300,
          cost_usd: 1.25,
        },
        ...{ misses: 1, misses_cost_usd: 0.15 },
      },
    ]);
  });

  it.each([
    ['--account bob', [OTHER]],
    ['--label pr-123', [TALK]],
    ['--label pr-124', []],
    ['--since 2m', [OTHER]],
    ['--limit 1', [OTHER]],
  ])('with %s', async (options, ids) => {
    const rows = (await (await prepared()).json(['conversations', ...options.split(' ')])) as {
      id: string;
    }[];
    expect(rows.map(({ id }) => id)).toEqual(ids);
  });

  it('show what the agent says that it did, as numbers in JSON and where there is any for people', async () => {
    const shell = await prepared();
    const none = { commits: 0, pull_requests: 0, lines_added: 0, lines_removed: 0 };
    expect(await shell.json(['conversations', TALK])).toMatchObject(none);
    expect((await shell.run(`conversations ${TALK}`)).stdout).not.toContain('commit');
    const store = await openStore(join(shell.directory, 'gateway.db'));
    const { id = 0 } = (await store.findAccount('alice')) ?? {};
    const work = { commits: 1, pullRequests: 0, linesAdded: 1234, linesRemoved: 5 };
    await store.countWork(id, [{ ...work, conversation: TALK, series: '' }], NOW);
    await store.close();
    const shown = { commits: 1, pull_requests: 0, lines_added: 1234, lines_removed: 5 };
    expect(await shell.json(['conversations', TALK])).toMatchObject(shown);
    const { stdout } = await shell.run(`conversations ${TALK}`);
    expect(stdout).toMatch(/changes +1 commit, 1,234 lines added, 5 lines removed\n/);
  });

  it('are a table for people', async () => {
    expect(`\n${(await (await prepared()).run('conversations')).stdout}`).toMatchSnapshot();
  });

  it('without any, and of an unknown account', async () => {
    expect((await createShell().run('conversations')).stdout).toBe('No conversations.\n');
    expect(await (await prepared()).run('conversations --account alic')).toMatchObject({
      code: 1,
      stdout: '',
    });
  });
});

describe('one conversation', () => {
  it('is a JSON document: agents, kinds of work, models, tasks and misses', async () => {
    const found = await (await prepared()).json(['conversations', '3kX9aB2q']);
    const sums = (requests: number, cost: number): object => ({
      requests,
      input_tokens: 400 * requests,
      output_tokens: 50 * requests,
      cost_usd: cost,
    });
    expect(found).toMatchObject({
      id: TALK,
      agents: [
        { id: null, parent: null, type: null, ...sums(4, 0.75) },
        { id: 'a1', parent: null, type: 'Explore', ...sums(1, 0.25) },
        { id: 'a2', parent: 'a1', type: null, ...sums(1, 0.25) },
      ],
      classes: [
        { class: 'main', ...sums(3, 0.5) },
        { class: 'subagent', ...sums(2, 0.5) },
        { class: 'compaction', ...sums(1, 0.25) },
      ],
      models: [
        { provider: 'p', model: 'large', ...sums(5, 1) },
        { provider: 'p', model: 'small', ...sums(1, 0.25) },
      ],
      prompts: [
        { prompt: 'p-1', ...sums(4, 0.75) },
        { prompt: 'p-2', ...sums(2, 0.5) },
      ],
      turns: [
        { provider: 'p', model: 'large', requests: 2 },
        { provider: 'p', model: 'small', requests: 1 },
        { provider: 'p', model: 'large', requests: 3 },
      ],
      compactions: [iso(6)],
      cache_misses: [
        {
          request: 'req_6',
          at: iso(5),
          cause: 'messages',
          detail: 'message 1 rewritten',
          tokens: 41_230,
          cost_usd: 0.15,
        },
      ],
      tools: [
        { name: 'Grep', calls: 2, ms: 2000, slowest_ms: 1500 },
        { name: 'Bash', calls: 1, ms: 742, slowest_ms: 742 },
      ],
    });
  });

  it('is a tree for people', async () => {
    expect(`\n${(await (await prepared()).run(`conversations ${TALK}`)).stdout}`).toMatchSnapshot();
  });

  it.each([
    ['3kX9', /several conversations begin with "3kX9": .*; give more of the id/],
    ['nonsense!', /no conversation's id begins with "nonsense!"; see: gateway conversations/],
    ['zzz', /no conversation's id begins with "zzz"/],
  ])('is not found by %s', async (id, message) => {
    const { code, stdout, stderr } = await (await prepared()).run(['conversations', id]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('has its requests in the list of requests', async () => {
    const shell = await prepared();
    const rows = (await shell.json(['requests', '--conversation', '3kX9aB2q'])) as {
      id: string;
      agent: string;
    }[];
    expect(rows.map(({ id }) => id)).toEqual(['req_1', 'req_2', 'req_3', 'req_4', 'req_5', 'req_6']);
    expect(await shell.run('requests --conversation no!')).toMatchObject({ code: 1, stdout: '' });
  });
});

it('usage is split by label', async () => {
  const usage = (await (await prepared()).json(['usage', 'alice', '--by', 'label', '--since', '7d'])) as {
    by: object[];
  }[];
  expect(usage[0]?.by).toMatchObject([
    { label: null, totals: { requests: 6 } },
    { label: 'pr-123', totals: { requests: 1, input_tokens: 400, cost_usd: 0.25 } },
  ]);
});

describe('conversations continue', () => {
  it('lets a conversation go on, as JSON too, and says where others are listed', async () => {
    const shell = await prepared();
    const store = await openStore(join(shell.directory, 'gateway.db'));
    await store.noteStop({ conversation: TALK, accountId: 1, brake: 'repeated_call', at: NOW });
    await store.close();
    const stopped = async (): Promise<unknown> =>
      ((await shell.json(['conversations', TALK])) as { stopped: unknown }).stopped;
    expect(await stopped()).toBe('repeated_call');
    const { code, stdout } = await shell.run(`conversations continue ${TALK} --json`);
    expect([code, JSON.parse(stdout)]).toEqual([0, { id: TALK, stopped: null }]);
    expect(await stopped()).toBeNull();
    const unknown = await shell.run('conversations continue zzzz');
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('see: gateway conversations'),
    ]);
    const useless = await shell.run(`conversations continue ${TALK} --cost 2`);
    expect([useless.code, useless.stderr]).toEqual([1, expect.stringContaining('--cost has no effect')]);
  });
});
