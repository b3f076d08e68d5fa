import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { execute } from '../../src/cli/program.ts';
import { leaseKey } from '../../src/cli/tools/keys.ts';
import { createIds } from '../../src/ids.ts';
import { openStore } from '../../src/store/open.ts';
import { createShell, NOW } from './harness.ts';

interface Created {
  id: string;
  key: string;
}

const KEY = /sk-gw-[0-9A-Za-z]{40,}/g;

describe('keys create', () => {
  it('prints the key once, with how to use it', async () => {
    const { code, stdout, stderr } = await createShell().run('keys create --account alice --name laptop');
    expect(code).toBe(0);
    expect(stdout.match(KEY)).toHaveLength(1);
    expect(stdout).toContain('alice, tier free: 10 requests an hour');
    expect(stdout).toContain('http://127.0.0.1:8787/v1');
    expect(stdout).toMatch(/http:\/\/127\.0\.0\.1:8787 /);
    expect(stderr).not.toMatch(KEY);
  });

  it('prints a base URL once for all endpoints behind it', async () => {
    const { stdout } = await createShell().run('keys create --account alice');
    expect(stdout.match(/127\.0\.0\.1:8787\/v1/g)).toHaveLength(1);
    expect(stdout).toMatch(/:8787\/v1 +chat completions and responses \(OPENAI_BASE_URL, OPENAI_API_KEY\)/);
    const narrow = await createShell().run('keys create --account alice --permissions responses');
    expect(narrow.stdout).toMatch(/:8787\/v1 +responses \(OPENAI_BASE_URL/);
  });

  it.each([60, 100, 160])('wraps at words at %i columns, the key alone on its line', async (columns) => {
    const { stdout } = await createShell().run(
      [
        'keys',
        'create',
        '--account',
        'x',
        '--models',
        Array.from({ length: 20 }, (_, at) => `m${at}`).join(','),
      ],
      { columns, env: { NO_COLOR: '1' } },
    );
    const lines = stdout.split('\n');
    expect(lines.some((line) => /^sk-gw-\w{40,}$/.test(line))).toBe(true);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(columns);
  });

  it('wraps what it says on stderr at words, too', async () => {
    const shell = createShell();
    await shell.run('keys create --account alice');
    const { stderr } = await shell.run('keys create --account Alice --models nonsense,absent', {
      columns: 60,
    });
    expect(stderr).toMatch(/^warning: the new account Alice [^]*\nwritten to/m);
    for (const line of stderr.split('\n'))
      if (!/^ *\/\S+$/.test(line)) expect(line.length, line).toBeLessThanOrEqual(60);
  });

  it('says on stderr which database it wrote', async () => {
    const shell = createShell();
    const { stderr } = await shell.run('keys create --account alice --json');
    expect(stderr).toBe(`written to ${join(shell.directory, 'gateway.db')}\n`);
  });

  it('keeps the plaintext out of every file', async () => {
    const shell = createShell();
    const { key } = (await shell.json('keys create --account alice')) as Created;
    const files = readdirSync(shell.directory);
    expect(files).toContain('gateway.db');
    for (const file of files) {
      expect(readFileSync(join(shell.directory, file)).includes(key.slice(-20)), file).toBe(false);
    }
  });

  it('has the exact JSON shape', async () => {
    const shell = createShell();
    expect(await shell.json('keys create --account alice')).toEqual({
      id: expect.stringMatching(/^key_[0-9A-Za-z]+$/) as string,
      key: expect.stringMatching(/^sk-gw-[0-9A-Za-z]{40,}$/) as string,
      account: 'alice',
      tier: 'free',
      name: null,
      permissions: ['chat', 'messages', 'responses', 'embeddings'],
      models: null,
      created_at: '2026-11-21T14:25:30.000Z',
      expires_at: null,
    });
    const words =
      'keys create --account bob --tier pro --name ci --permissions messages --models auto,sim/echo --expires 30d';
    expect(await shell.json(words)).toMatchObject({
      account: 'bob',
      tier: 'pro',
      name: 'ci',
      permissions: ['messages'],
      models: ['auto', 'sim/echo'],
      expires_at: '2026-12-21T14:25:30.000Z',
    });
  });

  it('leaves the tier of an existing account alone, and refuses another', async () => {
    const shell = createShell();
    await shell.run('keys create --account alice --tier pro');
    expect(await shell.json('keys create --account alice')).toMatchObject({ tier: 'pro' });
    expect(await shell.json('keys create --account alice --tier pro')).toMatchObject({ tier: 'pro' });
    const { code, stdout, stderr } = await shell.run('keys create --account alice --tier lite');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('gateway tiers assign alice lite');
    expect(await shell.json('keys list')).toHaveLength(3);
  });

  it('gives a new account the default tier of the file, and names what changes it', async () => {
    const shell = createShell();
    writeFileSync(join(shell.directory, 'gateway.yaml'), 'providers: { sim: }\ndefault_tier: unlimited\n');
    const { stdout } = await shell.run('keys create --account alice');
    expect(stdout).toContain('alice, tier unlimited: no limit');
    expect(await shell.json('keys create --account bob --tier lite')).toMatchObject({ tier: 'lite' });
    expect((await shell.run('keys create --account bob')).stdout).toContain('gateway tiers assign bob TIER');
  });

  it('names the nearest tier to an unknown one, and creates nothing', async () => {
    const shell = createShell();
    const { code, stderr } = await shell.run('keys create --account alice --tier enterprize');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'gateway: unknown tier "enterprize"; did you mean enterprise?\n',
    });
    expect(await shell.json('accounts list')).toEqual([]);
  });

  it.each([
    ['Alice', 'alice'],
    ['\u0430lice', 'alice'],
    ['al1ce', 'alice'],
    ['ａｌｉｃｅ', 'alice'],
  ])('warns that %s differs from %s only by case or look', async (name, other) => {
    const shell = createShell();
    await shell.run(['keys', 'create', '--account', other]);
    const { code, stderr } = await shell.run(['keys', 'create', '--account', name]);
    expect(code).toBe(0);
    expect(stderr).toContain(`warning: the new account ${name} differs from ${other} only by case or look\n`);
    const again = await shell.run(['keys', 'create', '--account', name]);
    expect(again.stderr).not.toContain('warning');
    expect((await shell.run(['keys', 'create', '--account', 'bob'])).stderr).not.toContain('warning');
  });

  it('warns of a list of models that admits nothing', async () => {
    const shell = createShell();
    const text = `providers:
  sim:
  one: { protocol: chat, base_url: 'http://h', models: [a, { id: b, upstream: c }] }
routes: { auto: [one/a], fast: [one/b] }
`;
    writeFileSync(join(shell.directory, 'gateway.yaml'), text);
    const warningsOf = async (models: string): Promise<string[]> => {
      const { code, stderr } = await shell.run(['keys', 'create', '--account', 'x', '--models', models]);
      expect(code).toBe(0);
      return stderr.split('\n').filter((line) => line.startsWith('warning'));
    };
    for (const good of ['auto', 'fast', 'a', 'one/b', 'sim/echo', 'echo'])
      expect(await warningsOf(good)).toEqual([]);
    expect(await warningsOf('fats,auto')).toEqual([
      'warning: --models fats admits no target; did you mean fast?',
    ]);
    expect(await warningsOf('one/c')).toHaveLength(1);
    expect(await warningsOf('zzzzzz')).toEqual([
      'warning: --models zzzzzz admits no target; see: gateway models',
    ]);
    // Whatever an open provider has is not known without asking it.
    writeFileSync(
      join(shell.directory, 'gateway.yaml'),
      `${text}\n`.replace(', models: [a, { id: b, upstream: c }]', ''),
    );
    expect(await warningsOf('any,one/any')).toEqual([]);
    expect(await warningsOf('sim/ehco')).toHaveLength(1);
  });

  it('takes any text without control characters as a name', async () => {
    const shell = createShell();
    for (const name of ['日本 🚀', "o'brien; drop table", 'x'.repeat(128), '🚀'.repeat(128), '--dashes']) {
      const line = ['keys', 'create', `--account=${name}`, '--json'];
      const { stdout } = await shell.run(line);
      expect(JSON.parse(stdout)).toMatchObject({ account: name });
    }
  });
});

describe('keys list', () => {
  it('has the exact JSON shape, without the plaintext', async () => {
    const shell = createShell();
    const { id, key } = (await shell.json('keys create --account alice --name laptop')) as Created;
    expect(await shell.json('keys list')).toEqual([
      {
        id,
        prefix: expect.stringMatching(/^sk-gw-/) as string,
        account: 'alice',
        tier: 'free',
        name: 'laptop',
        permissions: ['chat', 'messages', 'responses', 'embeddings'],
        models: null,
        created_at: '2026-11-21T14:25:30.000Z',
        last_used_at: null,
        origin: null,
        expires_at: null,
        revoked_at: null,
      },
    ]);
    expect((await shell.run('keys list')).stdout).not.toContain(key.slice(6, 30));
  });

  it('shows an account alone, and the nearest to an unknown one', async () => {
    const shell = createShell();
    await shell.run('keys create --account alice');
    await shell.run('keys create --account bob');
    expect(await shell.json('keys list --account bob')).toMatchObject([{ account: 'bob' }]);
    expect(await shell.run('keys list --account alcie')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'gateway: unknown account "alcie"; did you mean alice?\n',
    });
  });

  it('shows which keys work', async () => {
    const shell = createShell();
    const { id } = (await shell.json('keys create --account a --name one')) as Created;
    await shell.run('keys create --account a --name two --expires 1h');
    await shell.run('keys create --account a --name three');
    await shell.run(`keys revoke ${id}`);
    shell.clock.now = NOW + 2 * 3_600_000;
    const { stdout, stderr } = await shell.run('keys list --all');
    expect(stdout).toMatch(/one .*revoked\n/);
    expect(stdout).toMatch(/two .*expired\n/);
    expect(stdout).toMatch(/three .*active\n/);
    expect(stderr).toBe('');
  });

  it('does not fill with ended keys of gateway run', async () => {
    const shell = createShell();
    await shell.run('keys create --account local --name own');
    const store = await openStore(join(shell.directory, 'gateway.db'));
    const context = { clock: shell.context.clock, ids: createIds(), stderr: { write: () => true } };
    for (let n = 0; n < 3; n += 1) await (await leaseKey(store, context, 'run claude')).end();
    const running = await leaseKey(store, context, 'run codex');
    await store.close();
    const listed = await shell.run('keys list');
    expect(listed.stdout).toMatch(/own[^]*run codex/);
    expect(listed.stdout).not.toContain('claude');
    expect(listed.stderr).toBe('');
    expect((await shell.run('keys list --all')).stdout.match(/key_run_\w{12} .*run claude/g)).toHaveLength(3);
    expect(running.plaintext).toMatch(/^sk-gw-/);
  });

  it('shows valid keys only, and says how many others there are', async () => {
    const shell = createShell();
    const { id } = (await shell.json('keys create --account a --name one')) as Created;
    await shell.run('keys create --account a --name two --expires 1h');
    await shell.run(`keys revoke ${id}`);
    const { stdout, stderr } = await shell.run('keys list');
    expect(stdout).toMatch(/two/);
    expect(stdout).not.toMatch(/one/);
    expect(stderr).toBe('1 revoked or expired key is not shown; --all shows all keys\n');
    shell.clock.now = NOW + 2 * 3_600_000;
    expect(await shell.run('keys list')).toMatchObject({
      stdout: 'No valid keys. Create one: gateway keys create --account NAME\n',
      stderr: '2 revoked or expired keys are not shown; --all shows all keys\n',
    });
    expect(await shell.json('keys list')).toHaveLength(2);
  });

  it('says how to make the first', async () => {
    const shell = createShell();
    expect((await shell.run('keys list')).stdout).toContain('gateway keys create');
    expect(await shell.json('keys list')).toEqual([]);
  });

  it.each([undefined, 80, 40, 20])('never cuts an id at %s columns', async (columns) => {
    const shell = createShell();
    const { id } = (await shell.json(['keys', 'create', '--account', 'x'.repeat(100)])) as Created;
    const options = columns === undefined ? {} : { columns };
    expect((await shell.run('keys list', options)).stdout).toContain(id);
  });
});

describe('keys revoke', () => {
  it('is no error a second time, and keeps the first time', async () => {
    const shell = createShell();
    const { id } = (await shell.json('keys create --account alice')) as Created;
    const revoked = { id, revoked_at: '2026-11-21T14:25:30.000Z' };
    expect(await shell.json(`keys revoke ${id}`)).toEqual(revoked);
    shell.clock.now += 60_000;
    expect(await shell.json(`keys revoke ${id}`)).toEqual(revoked);
    expect(await shell.run(`keys revoke ${id}`)).toMatchObject({
      code: 0,
      stdout: `${id} of account alice is revoked since 2026-11-21 14:25 UTC\n`,
    });
  });

  it('names the command that lists the ids for an unknown one', async () => {
    expect(await createShell().run('keys revoke key_nope')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'gateway: unknown key ID "key_nope"; IDs are in: gateway keys list\n',
    });
  });

  it('takes the beginning of the key that the list shows, where it is the only one', async () => {
    const shell = createShell();
    const { id, key } = (await shell.json('keys create --account alice')) as Created;
    const prefix = key.slice(0, 12);
    expect(await shell.json(`keys revoke ${prefix}`)).toMatchObject({ id });
    expect(await shell.json('keys list')).toMatchObject([
      { prefix, revoked_at: expect.any(String) as string },
    ]);
    expect((await shell.run(`keys revoke ${prefix.slice(0, 9)}`)).code).toBe(1);
  });

  it('names the ids of several keys that begin alike, and revokes none', async () => {
    const shell = createShell();
    // The same secrets again but for their ends, which nobody sees in the list.
    const ids = { ...shell.context.ids, random: (length: number) => randomAlike(length) };
    let made = 0;
    const randomAlike = (length: number): string =>
      'a'.repeat(length - 3) + String((made += 1)).padStart(3, '0');
    for (const account of ['a', 'b'])
      await execute(['keys', 'create', '--account', account], { ...shell.context, ids });
    const { code, stderr } = await shell.run('keys revoke sk-gw-aaaaaa');
    expect(code).toBe(1);
    expect(stderr).toMatch(/several keys begin with sk-gw-aaaaaa: key_\w+, key_\w+;/);
    expect(await shell.json('keys list')).toMatchObject([{ revoked_at: null }, { revoked_at: null }]);
  });

  it('does not repeat a key that was given in place of its id', async () => {
    const shell = createShell();
    const { key } = (await shell.json('keys create --account alice')) as Created;
    const { code, stderr } = await shell.run(`keys revoke ${key}`);
    expect(code).toBe(1);
    expect(stderr).not.toContain(key);
  });
});

describe('accounts and tiers', () => {
  it('have the exact JSON shapes', async () => {
    const shell = createShell();
    await shell.run('keys create --account alice');
    expect(await shell.json('accounts list')).toEqual([
      { account: 'alice', tier: 'free', keys: 1, created_at: '2026-11-21T14:25:30.000Z' },
    ]);
    expect(await shell.json('tiers list')).toEqual([
      { tier: 'free', requests_per_hour: 10, limits: [{ kind: 'requests', per: 'hour', limit: 10 }] },
      { tier: 'lite', requests_per_hour: 30, limits: [{ kind: 'requests', per: 'hour', limit: 30 }] },
      { tier: 'pro', requests_per_hour: 60, limits: [{ kind: 'requests', per: 'hour', limit: 60 }] },
      { tier: 'enterprise', requests_per_hour: 300, limits: [{ kind: 'requests', per: 'hour', limit: 300 }] },
      { tier: 'unlimited', requests_per_hour: null, limits: [] },
    ]);
    expect(await shell.json('tiers assign alice pro')).toEqual({ account: 'alice', tier: 'pro' });
    expect(await shell.json('accounts list')).toMatchObject([{ tier: 'pro' }]);
  });

  it('take further tiers from the file', async () => {
    const shell = createShell();
    const file = join(shell.directory, 'team.yaml');
    writeFileSync(file, 'providers: { sim: }\ntiers: { free: 3, team: 1000 }\n');
    expect(await shell.json(`tiers list --config ${file}`)).toEqual([
      { tier: 'free', requests_per_hour: 3, limits: [{ kind: 'requests', per: 'hour', limit: 3 }] },
      { tier: 'lite', requests_per_hour: 30, limits: [{ kind: 'requests', per: 'hour', limit: 30 }] },
      { tier: 'pro', requests_per_hour: 60, limits: [{ kind: 'requests', per: 'hour', limit: 60 }] },
      { tier: 'enterprise', requests_per_hour: 300, limits: [{ kind: 'requests', per: 'hour', limit: 300 }] },
      { tier: 'unlimited', requests_per_hour: null, limits: [] },
      { tier: 'team', requests_per_hour: 1000, limits: [{ kind: 'requests', per: 'hour', limit: 1000 }] },
    ]);
  });

  it('say of the tier without a limit that it has none', async () => {
    const shell = createShell();
    await shell.run('keys create --account alice');
    expect((await shell.run('tiers assign alice unlimited')).stdout).toBe(
      'account alice now has tier unlimited: no limit\n',
    );
    expect((await shell.run('tiers list')).stdout).toMatch(/^unlimited +no limit$/m);
  });

  test.each([
    ['tiers assign alcie pro', 'unknown account "alcie"; did you mean alice?'],
    ['tiers assign alice pr', 'unknown tier "pr"; did you mean pro?'],
    ['tiers assign alice gold', 'unknown tier "gold"; known tiers: free, lite, pro, enterprise, unlimited'],
  ])('%s: the nearest known', async (line, message) => {
    const shell = createShell();
    await shell.run('keys create --account alice');
    expect(await shell.run(line)).toEqual({ code: 1, stdout: '', stderr: `gateway: ${message}\n` });
  });
});

test('an invalid configuration is a line a fault, exit 1, and no stack', async () => {
  const shell = createShell();
  const file = join(shell.directory, 'bad.yaml');
  writeFileSync(file, 'providers: { sim: }\nlisten: { port: many }\nnonsense: true\n');
  const { code, stdout, stderr } = await shell.run(['keys', 'list', '--config', file]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toHaveLength(2);
  expect(stderr).toContain('bad.yaml:2');
  expect(stderr).toContain('bad.yaml:3');
  expect(stderr).not.toContain('    at ');
});

test('a file that is no database is named and left untouched', async () => {
  const shell = createShell();
  const file = join(shell.directory, 'notes.txt');
  const text = 'not a database, but a text that is longer than a header of one hundred bytes '.repeat(4);
  writeFileSync(file, text);
  const { code, stderr } = await shell.run(['keys', 'list', '--database', file]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^reads database [^\n]*\ngateway: [^\n]*notes\.txt[^\n]*\n$/);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('--debug shows the stack', async () => {
  const { stderr } = await createShell().run('keys revoke key_nope --debug');
  expect(stderr).toContain('    at ');
});
