// `gateway export`, `import` and `backup`: all of a database in a file, and back.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Cancellation } from '../../src/cancellation.ts';
import { openStore } from '../../src/store/open.ts';
import { HOUR, usageRow } from '../store/support.ts';
import { createShell, type Shell } from './harness.ts';

async function filled(): Promise<Shell> {
  const shell = createShell();
  await shell.run('keys create --account alice --name laptop --models auto');
  await shell.run(['keys', 'create', '--account', 'Zoë & Co']);
  const store = await openStore(join(shell.directory, 'gateway.db'));
  await store.recordUsage(
    Array.from({ length: 1200 }, (_, n) => usageRow({ at: HOUR + n, detail: '{"a":1}' })),
  );
  await store.close();
  return shell;
}

const at = (shell: Shell, name: string): string => join(shell.directory, name);
const COUNTS = '2 accounts, 2 keys, 0 hourly counts, 1,200 requests';

describe('export and import', () => {
  it('move a database: accounts, keys and usage are the same, in a file that only its owner may read', async () => {
    const shell = await filled();
    expect(await shell.run('export all.jsonl')).toEqual({
      code: 0,
      stdout: `exported ${COUNTS} to ${at(shell, 'all.jsonl')}\n`,
      stderr: '',
    });
    expect(statSync(at(shell, 'all.jsonl')).mode & 0o777).toBe(0o600);
    const file = at(shell, 'all.jsonl');
    writeFileSync(file, `\ufeff${readFileSync(file, 'utf8')}`);
    const { code, stdout, stderr } = await shell.run('import all.jsonl --database new.db');
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `imported ${COUNTS}\n`,
      stderr: `written to ${at(shell, 'new.db')}\n`,
    });
    for (const line of ['keys list', 'accounts list', 'usage --by model --since 7d']) {
      expect(await shell.json(`${line} --database new.db`)).toEqual(await shell.json(line));
    }
  });

  it('write and read standard streams', async () => {
    const shell = await filled();
    const { stdout, stderr } = await shell.run('export');
    expect(stderr).toBe(`exported ${COUNTS}\n`);
    const lines = stdout.trimEnd().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ type: 'export', version: 1 });
    expect(JSON.parse(lines[1] ?? '')).toEqual({
      type: 'account',
      id: 1,
      name: 'alice',
      tier: 'free',
      created_at: shell.clock.now,
    });
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
      type: 'end',
      counts: {
        account: 2,
        removed_account: 0,
        key: 2,
        sign_in_token: 0,
        grant: 0,
        spending: 2,
        brake: 0,
        brake_prompt: 0,
        work: 0,
        hour: 0,
        usage: 1200,
      },
    });
    shell.context.stdin = () => Readable.from([stdout.slice(0, 1000), stdout.slice(1000)]);
    expect((await shell.run('import - --database new.db')).stdout).toBe(`imported ${COUNTS}\n`);
  });

  it('overwrite no file, and write into no database that is in use', async () => {
    const shell = await filled();
    writeFileSync(at(shell, 'all.jsonl'), 'mine');
    const refused = await shell.run('export all.jsonl');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('all.jsonl exists; name a new one');
    expect(readFileSync(at(shell, 'all.jsonl'), 'utf8')).toBe('mine');
    await shell.run('export other.jsonl');
    const into = await shell.run('import other.jsonl');
    expect(into).toMatchObject({ code: 1, stdout: '' });
    expect(into.stderr).toMatch(/is not empty; name a new one with --database; nothing was imported/);
  });

  it.each([
    ['', /is empty; name a file that gateway export wrote; nothing was imported/],
    ['hello', /:1: not a JSON object; name a file that gateway export wrote/],
    ['{"type":"account"}', /:1: not a file of gateway export/],
    ['{"type":"export","version":2}', /:1: version 2 is not known to this gateway; use a newer one/],
    ['{"type":"export","version":1}\n{"type":"what"}', /:2: unknown type "what"/],
    [
      '{"type":"export","version":1}\n{"type":"hour","account_id":1,"hour":"x","requests":1}',
      /:2: hour.hour is missing or not right/,
    ],
    [
      '{"type":"export","version":1}\n{"type":"account","id":1,"name":"a","tier":"free","created_at":0}',
      /ends early: its last line/,
    ],
    [
      '{"type":"export","version":1}\n{"type":"end","counts":{"usage":1}}',
      /:2: the counts .* are not those of the lines/,
    ],
    [
      '{"type":"export","version":1}\n{"type":"account","id":1,"name":"a","tier":"free","created_at":0}\n' +
        '{"type":"hour","account_id":1,"hour":0,"requests":1}\n{"type":"hour","account_id":1,"hour":0,"requests":1}\n' +
        '{"type":"end","counts":{"account":1,"hour":2}}',
      /is not a whole export: it names .* twice/,
    ],
  ])('imports nothing of a file that is not right: %s', async (text, message) => {
    const shell = createShell();
    writeFileSync(at(shell, 'bad.jsonl'), text);
    const { code, stdout, stderr } = await shell.run('import bad.jsonl');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toContain('nothing was imported');
    const records = (await shell.run('export')).stdout.trimEnd().split('\n');
    expect(records).toHaveLength(2);
  });

  const RIGHT = {
    account: { type: 'account', id: 1, name: 'alice', tier: 'free', created_at: HOUR },
    removed_account: { type: 'removed_account', id: 2, data_left: 1 },
    key: {
      ...{ type: 'key', id: 'key_one', account_id: 1, hash: 'a'.repeat(64), prefix: 'sk-gw-abc123' },
      ...{ label: null, permissions: ['chat'], models: null, created_at: HOUR },
      ...{ last_used_at: null, expires_at: null, revoked_at: null },
    },
    hour: { type: 'hour', account_id: 1, hour: HOUR, requests: 3 },
    usage: {
      ...{ type: 'usage', at: HOUR, account_id: 1, key_id: 'key_one', endpoint: 'chat', model_asked: 'auto' },
      ...{ provider: 'sim', model: 'echo', status: 200, streamed: false, input: 1, cache_read: 0 },
      ...{ cache_write: 0, output: 1, reasoning: null, cost_usd: 0.5, first_byte_ms: 1.5, duration_ms: 2.5 },
      ...{ error: null, request_id: 'req_1', attempts: 1, detail: null },
    },
  };
  type Type = keyof typeof RIGHT;

  /** An export whose record of this type has other members. */
  function exportWith(type: Type, change: object): string {
    const records = Object.values(RIGHT).map((one) => (one.type === type ? { ...one, ...change } : one));
    const counts = Object.fromEntries(records.map((one) => [one.type, 1]));
    const lines = [{ type: 'export', version: 1 }, ...records, { type: 'end', counts }];
    return lines.map((line) => JSON.stringify(line)).join('\n');
  }

  it('import takes a file of a gateway that did not have a column of usage yet', async () => {
    const shell = createShell();
    writeFileSync(at(shell, 'older.jsonl'), exportWith('usage', { attempts: undefined, detail: undefined }));
    expect(await shell.run('import older.jsonl')).toMatchObject({ code: 0 });
    const line = (await shell.run('export')).stdout.split('\n').find((text) => text.includes('"usage"'));
    const newer = { attempts: null, detail: null, conversation: null, label: null, cache_miss_tokens: null };
    expect(JSON.parse(line ?? '')).toMatchObject({ ...RIGHT.usage, ...newer });
  });

  it.each<[Type, object]>([
    ['account', { name: 'a\u001b[31mb' }],
    ['account', { name: ' alice' }],
    ['account', { name: '' }],
    ['account', { id: 0 }],
    ['account', { tier: 'a\nb' }],
    ['account', { created_at: -1 }],
    ['account', { created_at: 8.64e15 + 1 }],
    ['removed_account', { data_left: 2 }],
    ['removed_account', { id: 1 }],
    ['key', { permissions: ['chat', 'everything'] }],
    ['key', { permissions: ['chat', 'chat'] }],
    ['key', { permissions: 'chat' }],
    ['key', { label: 'a\u202eb' }],
    ['key', { models: ['a\u0000'] }],
    ['key', { id: "x' OR 1=1" }],
    ['key', { prefix: '=1+1' }],
    ['key', { expires_at: 1.5 }],
    ['key', { account_id: 2 }],
    ['key', { models: undefined }],
    ['key', { native: 1 }],
    ['key', { account_id: 7 }],
    ['hour', { requests: -5 }],
    ['hour', { requests: 1.5 }],
    ['hour', { hour: HOUR + 1 }],
    ['hour', { hour: -3_600_000 }],
    ['hour', { account_id: 7 }],
    ['usage', { account_id: 7 }],
    ['usage', { endpoint: 'everything' }],
    ['usage', { input: -1 }],
    ['usage', { status: undefined }],
    ['usage', { cost_usd: -0.01 }],
    ['usage', { duration_ms: -1 }],
    ['usage', { status: 0 }],
    ['usage', { attempts: -1 }],
    ['usage', { model_asked: 'x'.repeat(257) }],
    ['usage', { provider: 'a\u0007' }],
    ['usage', { error: 'a\r\nb' }],
    ['usage', { request_id: 'req_\u001b[2J' }],
    ['usage', { detail: '[1]' }],
    ['usage', { detail: 'none' }],
  ])(
    'import writes nothing of a file whose %s has what the gateway never writes: %o',
    async (type, change) => {
      const shell = createShell();
      writeFileSync(at(shell, 'bad.jsonl'), exportWith(type, change));
      const { code, stdout, stderr } = await shell.run('import bad.jsonl');
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      const line = Object.keys(RIGHT).indexOf(type) + 2;
      const member = Object.keys(change)[0] ?? '';
      expect(stderr.startsWith(`gateway: bad.jsonl:${line}: ${type}.${member} `), stderr).toBe(true);
      expect(stderr).toMatch(/nothing was imported\n$/);
      expect((await shell.run('export')).stdout.trimEnd().split('\n')).toHaveLength(2);
    },
  );

  it('import writes a file whose values are right, also usage of a removed account', async () => {
    const shell = createShell();
    writeFileSync(at(shell, 'good.jsonl'), exportWith('usage', { account_id: 2 }));
    expect((await shell.run('import good.jsonl')).stdout).toBe(
      'imported 1 account, 1 key, 1 hourly count, 1 request\n',
    );
  });

  it('create no database where none is, and say so', async () => {
    const shell = createShell();
    for (const line of ['export', 'backup copy.db']) {
      const { code, stderr } = await shell.run(line);
      expect(code).toBe(1);
      expect(stderr).toMatch(/gateway.db does not exist; name another with --database/);
    }
    expect(existsSync(at(shell, 'gateway.db'))).toBe(false);
  });
});

describe('backup', () => {
  it('copies the database while a server writes, into a private file that opens', async () => {
    const shell = await filled();
    const serving = await openStore(at(shell, 'gateway.db'));
    await serving.recordUsage([usageRow()]);
    writeFileSync(at(shell, 'gateway.db.key'), 'k');
    const { code, stdout, stderr } = await shell.run('backup copy.db');
    await serving.close();
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^copied .*gateway.db to .*copy.db \([\d,]+ bytes\)\n$/) as string,
    });
    expect(stderr).toContain(`also copy the key file ${at(shell, 'gateway.db.key')}`);
    expect(statSync(at(shell, 'copy.db')).mode & 0o777).toBe(0o600);
    expect(await shell.json('keys list --database copy.db')).toEqual(await shell.json('keys list'));
    expect((await shell.run('export --database copy.db')).stderr).toContain('1,201 requests');
  });

  it.each(['export all.jsonl', 'backup copy.db'])('%s, when Ctrl-C comes, leaves nothing', async (line) => {
    const shell = await filled();
    const before = readdirSync(shell.directory);
    const name = line.split(' ')[1] ?? '';
    const seen: string[] = [];
    shell.context.onSignal = (listener) => {
      // The command waits for signals while the file is not complete.
      seen.push(...readdirSync(shell.directory).filter((file) => file.endsWith('.part')));
      listener('SIGINT');
      return () => undefined;
    };
    const { code, stdout } = await shell.run(line);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(shell.deaths).toEqual(['SIGINT']);
    expect(seen).toEqual([`${name}.part`]);
    expect(readdirSync(shell.directory)).toEqual(before);
  });

  it.each(['export all.jsonl', 'backup copy.db'])(
    '%s writes the name last, and leaves other files',
    async (line) => {
      const shell = await filled();
      const name = line.split(' ')[1] ?? '';
      writeFileSync(at(shell, `${name}.part`), 'theirs');
      const refused = await shell.run(line);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(
        /\.part exists: another command writes it, or one was killed; .*remove it\n$/,
      );
      expect(readFileSync(at(shell, `${name}.part`), 'utf8')).toBe('theirs');
      expect(existsSync(at(shell, name))).toBe(false);
      rmSync(at(shell, `${name}.part`));
      expect((await shell.run(line)).code).toBe(0);
      expect(existsSync(at(shell, `${name}.part`))).toBe(false);
      expect(statSync(at(shell, name)).mode & 0o777).toBe(0o600);
      expect(statSync(at(shell, name)).nlink).toBe(1);
    },
  );

  it('a file that takes the name while a command writes stays as it is', async () => {
    const shell = await filled();
    shell.context.onSignal = () => {
      writeFileSync(at(shell, 'copy.db'), 'mine');
      return () => undefined;
    };
    const { code, stderr } = await shell.run('backup copy.db');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `gateway: the file ${at(shell, 'copy.db')} exists; name a new one\n`,
    });
    expect(readFileSync(at(shell, 'copy.db'), 'utf8')).toBe('mine');
    expect(existsSync(at(shell, 'copy.db.part'))).toBe(false);
  });

  it('copies one moment in many steps, whatever other processes write meanwhile', async () => {
    const shell = await filled();
    const store = await openStore(at(shell, 'gateway.db'));
    const rows = (count: number) =>
      Array.from({ length: count }, (_, n) => usageRow({ at: HOUR + n, detail: 'x'.repeat(2000) }));
    const written: Promise<void>[] = [];
    await store.recordUsage(rows(6000));
    writeFileSync(at(shell, 'copy.db'), '');
    let steps = 0;
    const cancellation: Cancellation = {
      get reason() {
        steps += 1;
        written.push(store.recordUsage(rows(1)));
        return undefined;
      },
      subscribe: () => undefined,
      unsubscribe: () => undefined,
    };
    await store.backup(at(shell, 'copy.db'), cancellation);
    await Promise.all(written);
    await store.close();
    expect(steps).toBeGreaterThan(2);
    expect(steps).toBeLessThan(20);
    expect((await shell.run('export --database copy.db')).stderr).toContain('7,200 requests');
  });

  it('overwrites no file', async () => {
    const shell = await filled();
    writeFileSync(at(shell, 'copy.db'), 'mine');
    const { code, stderr } = await shell.run('backup copy.db');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `gateway: the file ${at(shell, 'copy.db')} exists; name a new one\n`,
    });
    expect(readFileSync(at(shell, 'copy.db'), 'utf8')).toBe('mine');
  });
});
