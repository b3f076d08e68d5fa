// `gateway requests`: the list at several widths, the filters, one request, and new requests as they end.
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { RequestDetail } from '../../src/accounts/request-json.ts';
import { createIds, createRequestIds } from '../../src/ids.ts';
import { displayWidth } from '../../src/display-width.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { usageRow } from '../store/support.ts';
import { createShell, NOW, type Shell } from './harness.ts';

beforeEach(() => {
  vi.stubEnv('TZ', 'America/New_York');
  return () => vi.unstubAllEnvs();
});

async function record(shell: Shell, rows: (accountId: number) => UsageRow[]): Promise<void> {
  const store: Store = await openStore(join(shell.directory, 'gateway.db'));
  try {
    const account = await store.findAccount('alice');
    await store.recordUsage(rows(account?.id ?? 0));
  } finally {
    await store.close();
  }
}

const detail = (value: RequestDetail): string => JSON.stringify(value);
const MINUTE = 60_000;
/** An id of a request that arrived at this time, with a known end. */
function idAt(at: number, end: string): string {
  const id = createRequestIds(createIds(), () => at)();
  return id.slice(0, id.length - end.length) + end;
}
const IDS = [3, 2, 1, 0].map((minutes, at) => idAt(NOW - minutes * MINUTE, String(at)));
const [PLAIN = '', FAILED = '', LEFT_OUT = '', GONE = ''] = IDS;

const FAILURE: RequestDetail = {
  attempts: [
    { target: 'a/m', protocol: 'chat', status: 500, error: 'failed', message: 'broke\u001b[31m', ms: 12.3 },
    { target: 'b/m', protocol: 'messages', error: 'failed: refused', ms: 2 },
  ],
  passed_over: [{ target: 'c/m', why: 'it takes no images' }],
  message: 'no target could answer (a/m: broke; b/m: refused)',
};

async function prepared(): Promise<Shell> {
  const shell = createShell();
  await shell.run('keys create --account alice');
  await shell.run('keys create --account bob');
  await record(shell, (accountId) => {
    const base = { accountId, attempts: 1, firstByteMs: 310, durationMs: 1240, streamed: true };
    return [
      usageRow({
        ...base,
        at: NOW - 3 * MINUTE,
        requestId: PLAIN,
        input: 2000,
        cacheRead: 8000,
        cacheWrite: null,
      }),
      usageRow({
        ...base,
        at: NOW - 2 * MINUTE,
        requestId: FAILED,
        attempts: 2,
        status: 502,
        error: 'upstream',
        provider: 'b',
        model: 'm',
        input: null,
        output: null,
        costUsd: null,
        firstByteMs: null,
        streamed: false,
        detail: detail(FAILURE),
        conversation: 'conv_0A1zzzzz00000000abc',
        ...{ agent: 'a1', agentType: 'Explore', class: 'subagent', label: 'pr-123', client: 'claude-code' },
      }),
      usageRow({
        ...base,
        at: NOW - MINUTE,
        requestId: LEFT_OUT,
        provider: 'openai',
        model: 'gpt-5.2',
        modelAsked: 'gpt-5.2',
        detail: detail({ dropped: ['seed', 'user'], changed: ['max_tokens: sent as 4096'] }),
      }),
      usageRow({ ...base, at: NOW - 24 * 60 * MINUTE, requestId: null, attempts: null }),
      usageRow({ ...base, at: NOW, requestId: GONE, status: 499, error: 'client_closed', accountId: 99 }),
    ];
  });
  return shell;
}

/** As printed, with the random characters of ids replaced. */
function drawn(text: string): string {
  const times = new Map(IDS.map((id, at) => [id.slice(4, 14), `id${at}`.padEnd(10, '.')]));
  let shown = stripVTControlCharacters(text);
  for (const [prefix, name] of times) shown = shown.replaceAll(prefix, name);
  return shown;
}

describe('the list', () => {
  it.each([60, 100, 160])('fits %i columns, newest last, times local', async (columns) => {
    const shell = await prepared();
    const { stdout, code } = await shell.run('requests', { columns });
    expect(code).toBe(0);
    expect(drawn(stdout)).toMatchSnapshot();
    for (const line of stdout.split('\n')) {
      expect(displayWidth(stripVTControlCharacters(line))).toBeLessThanOrEqual(columns);
    }
  });

  it('says what failed in words, not as the kind of an error, and JSON keeps the kind', async () => {
    const shell = await prepared();
    const { stdout } = await shell.run('requests');
    expect(stdout).toContain('the provider failed; 2 attempts; not c/m; no target could answer (a/m: broke');
    expect(stdout).toContain('the client left');
    expect(stdout).not.toMatch(/upstream|client_closed/);
    const rows = (await shell.json('requests')) as { error: string | null }[];
    expect(rows.map(({ error }) => error)).toEqual(expect.arrayContaining(['upstream', 'client_closed']));
  });

  it('has no colour with NO_COLOR', async () => {
    const shell = await prepared();
    const { stdout } = await shell.run('requests', { columns: 100, env: { NO_COLOR: '1' } });
    expect(stdout).toBe(stripVTControlCharacters(stdout));
  });

  it('has whole ids and days in a pipe', async () => {
    const shell = await prepared();
    const { stdout } = await shell.run('requests');
    for (const id of IDS) expect(stdout).toContain(id);
    expect(stdout).toContain('2026-11-21 14:25:30');
    expect(stdout).toMatch(/^TIME \(UTC\)/);
  });

  it('shows as many as asked for, the newest', async () => {
    const shell = await prepared();
    expect(await idsOf(shell, 'requests --limit 2')).toEqual([LEFT_OUT, GONE]);
  });

  it.each([
    ['--errors', () => [FAILED, GONE]],
    ['--account alice --since 5m', () => [PLAIN, FAILED, LEFT_OUT]],
    ['--account bob', () => []],
    ['--model openai/gpt-5.2', () => [LEFT_OUT]],
    ['--model auto --since 2m30s', () => [FAILED, GONE]],
    ['--since 90s --errors', () => [GONE]],
    ['--provider b', () => [FAILED]],
    ['--status 502', () => [FAILED]],
    ['--status 4xx', () => [GONE]],
    ['--error client_closed', () => [GONE]],
    ['--label pr-123 --endpoint chat', () => [FAILED]],
    ['--endpoint messages', () => []],
    ['--key key_one --status 2xx --since 5m', () => [PLAIN, LEFT_OUT]],
    ['--key key_one --error upstream --provider openai', () => []],
  ] as const)('filters: %s', async (flags, ids) => {
    expect(await idsOf(await prepared(), `requests ${flags}`)).toEqual(ids());
  });

  it('names the nearest account for an unknown one, and refuses a wrong number', async () => {
    const shell = await prepared();
    expect(await shell.run('requests --account alic')).toMatchObject({
      code: 1,
      stderr: /did you mean alice/,
    });
    for (const limit of ['0', 'x', '1e3'])
      expect((await shell.run(`requests --limit ${limit}`)).code).toBe(2);
  });

  it('finds refused requests by the same filters', async () => {
    const shell = await prepared();
    const store = await openStore(join(shell.directory, 'gateway.db'));
    const { id: accountId = 0 } = (await store.findAccount('alice')) ?? {};
    await store.recordRefusals([
      {
        ...{ at: NOW, requestId: 'req_refused', accountId, keyId: 'key_two', endpoint: 'responses' },
        ...{ modelAsked: 'gpt', conversation: null, label: 'night', client: null, times: 3 },
        ...{ status: 429, error: 'rate_limited', message: 'used up' },
      },
    ]);
    await store.close();
    for (const flags of [
      '--status 429',
      '--error rate_limited',
      '--key key_two',
      '--endpoint responses',
      '--label night',
    ])
      expect([flags, await idsOf(shell, `requests ${flags}`)]).toEqual([flags, ['req_refused']]);
    expect(await idsOf(shell, 'requests --status 429 --provider b')).toEqual([]);
  });

  it.each([
    ['--status 42', 2, 'Give a status such as 429, or 4xx for its class.'],
    ['--status 6xx', 2, 'Give a status such as 429'],
    ['--provider simm', 1, 'unknown provider "simm"; did you mean sim?'],
    ['--endpoint mesages', 1, 'unknown endpoint "mesages"; did you mean messages?'],
    ['--error upstraem', 1, 'unknown kind of error "upstraem"; did you mean upstream?'],
    ['--error 429', 1, 'known: invalid_request'],
    ['--key key_nothing', 1, 'unknown key "key_nothing"; see: gateway keys list'],
  ])('says what is wrong with a filter: %s', async (flags, code, words) => {
    const found = await (await prepared()).run(`requests ${flags}`);
    expect(found).toMatchObject({ code, stdout: '' });
    expect(found.stderr).toContain(words);
  });

  it('is empty without requests or a database', async () => {
    const shell = createShell();
    expect(await shell.run('requests')).toMatchObject({ code: 0, stdout: 'No requests.\n' });
    expect(await shell.json('requests')).toEqual([]);
  });

  it('says what it cannot know of refused requests while no gateway runs', async () => {
    const { stderr } = await (await prepared()).run('requests --errors');
    expect(stderr).toMatch(/without a valid key .* are not stored, and no gateway runs/);
  });
});

async function idsOf(shell: Shell, line: string): Promise<unknown[]> {
  return ((await shell.json(line)) as { id: string | null }[]).map(({ id }) => id);
}

describe('one request', () => {
  it.each([60, 100])(
    'shows attempts, what was passed over, and the message, in %i columns',
    async (columns) => {
      const shell = await prepared();
      const { stdout, code } = await shell.run(['requests', FAILED.slice(4, 14)], { columns });
      expect(code).toBe(0);
      expect(drawn(stdout).replace(/^req_.*$/m, 'ID')).toMatchSnapshot();
      for (const line of stdout.split('\n')) {
        expect(displayWidth(stripVTControlCharacters(line))).toBeLessThanOrEqual(columns);
      }
    },
  );

  it('shows the tokens of each kind, and what was left out', async () => {
    const shell = await prepared();
    expect((await shell.run(['requests', PLAIN])).stdout).toMatch(
      /tokens +10,000 in \(8,000 read from the cache, 80%\), 20 out \(7 of them reasoning\)\n/,
    );
    expect((await shell.run(['requests', LEFT_OUT])).stdout).toMatch(
      /left out +seed, user\nchanged +max_tokens: sent as 4096\n/,
    );
  });

  it('says why the cache was missed, and what that cost, in the list, of one, and as JSON', async () => {
    const shell = await prepared();
    const id = idAt(NOW + 1, 'x');
    await record(shell, (accountId) => [
      usageRow({
        accountId,
        at: NOW + 1,
        requestId: id,
        input: 90_000,
        cacheRead: 10_000,
        cacheWrite: 0,
        cacheMiss: 'tools',
        cacheMissDetail: 'tool 5 added',
        cacheMissTokens: 41_230,
        cacheMissCostUsd: 0.15,
      }),
    ]);
    const list = await shell.run('requests');
    expect(list.stdout).toContain('miss: tools changed, 41,230 tokens, $0.15');
    expect(list.stdout).toContain('10%');
    const one = await shell.run(['requests', id]);
    expect(one.stdout).toMatch(/cache +miss: tools changed \(tool 5 added\), 41,230 tokens, \$0\.1500\n/);
    const [json] = (await shell.json('requests --limit 1')) as { cache: unknown }[];
    expect(json?.cache).toEqual({
      share: 0.1,
      miss: { cause: 'tools', detail: 'tool 5 added', tokens: 41_230, cost_usd: 0.15 },
    });
  });

  it('is one JSON document', async () => {
    const shell = await prepared();
    expect(await shell.json(['requests', FAILED])).toEqual({
      id: FAILED,
      at: new Date(NOW - 2 * MINUTE).toISOString(),
      refused: false,
      account: 'alice',
      key: 'key_one',
      endpoint: 'chat',
      model_asked: 'auto',
      provider: 'b',
      model: 'm',
      status: 502,
      error: 'upstream',
      stream: false,
      input_tokens: null,
      cache_read_tokens: 10,
      cache_write_tokens: 5,
      output_tokens: null,
      reasoning_tokens: 7,
      cost_usd: null,
      first_byte_ms: null,
      duration_ms: 1240,
      attempts: 2,
      conversation: 'conv_0A1zzzzz00000000abc',
      ...{ agent: 'a1', parent_agent: null, agent_type: 'Explore', class: 'subagent' },
      ...{ prompt: null, label: 'pr-123', client: 'claude-code' },
      cache: { share: null, miss: null },
      detail: FAILURE,
    });
  });

  it.each(['req_nonsense!', 'zzzzzzz', 'req_'])('unknown: %s', async (id) => {
    const { code, stdout, stderr } = await (await prepared()).run(['requests', id]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^gateway: no request's id begins with .*x-request-id.*see: gateway requests\n$/);
  });

  it('names the requests that begin alike', async () => {
    const { code, stderr } = await (await prepared()).run(['requests', PLAIN.slice(0, 7)]);
    expect(code).toBe(1);
    expect(stderr).toContain(PLAIN);
    expect(stderr).toContain('give more of the id');
  });

  it('bears a detail of another version, or none that can be read', async () => {
    const shell = await prepared();
    const details = ['{"attempts":[{"target":1}],"lost":"x","more":{}}', '[]', 'nonsense', '7', 'null'];
    for (const [at, text] of details.entries()) {
      const requestId = idAt(NOW, `x${at}`);
      await record(shell, () => [usageRow({ at: NOW, requestId, detail: text })]);
      const { code, stdout } = await shell.run(['requests', requestId]);
      expect({ code, stdout }).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('200 answered') as string,
      });
    }
  });
});

describe('--follow without a running gateway', () => {
  it('reads new requests from the database, each once, until a signal', async () => {
    const shell = await prepared();
    const waiting: (() => void)[] = [];
    shell.context.clock.after = (_ms, task) => {
      waiting.push(task);
      return () => undefined;
    };
    let printed = '';
    const stdout = { write: (text: string) => (printed += text) };
    const { execute } = await import('../../src/cli/program.ts');
    const ended = execute(['requests', '--follow', '--json', '--limit', '1', '--errors'], {
      ...shell.context,
      stdout,
    });
    const lines = (): unknown[] =>
      printed.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { id: string }).id]));
    await expect.poll(() => waiting.length).toBe(1);
    expect(lines()).toEqual([GONE, FAILED].slice(0, lines().length));
    const later = idAt(NOW + 900, 'new');
    await record(shell, () => [
      usageRow({ at: NOW + 900, requestId: later, error: 'upstream', status: 502 }),
      usageRow({ at: NOW + 900, requestId: idAt(NOW, 'fine') }),
    ]);
    shell.clock.now += 1000;
    waiting.shift()?.();
    await expect.poll(() => waiting.length).toBe(1);
    expect(lines()).toEqual([GONE, later]);
    shell.signal('SIGINT');
    expect(await ended).toBe(0);
  });
});
