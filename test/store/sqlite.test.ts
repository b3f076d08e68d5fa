// The SQLite engine: the contract of every engine, and what is its own: the file.
import {
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  chmodSync,
  truncateSync,
  mkdirSync,
} from 'node:fs';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { createKey } from '../../src/accounts/access.ts';
import { systemClock } from '../../src/clock.ts';
import { createIds } from '../../src/ids.ts';
import { openStore } from '../../src/store/open.ts';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { migrate, MIGRATIONS } from '../../src/store/sqlite/migrations.ts';
import type { Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { storeContract } from './contract.ts';
import { HOUR, newKey, usageRow, admit, contentsOf, faultOf, opened, temporaryFile } from './support.ts';

// The same copy of SQLite as the store's: two copies in one process don't see each other's locks.
const Database = await loadDriver();

const folder = mkdtempSync(join(tmpdir(), 'gateway-contract-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let databases = 0;
storeContract('sqlite', () => openStore(join(folder, `${databases++}.db`)));

describe('the location', () => {
  it.each(['mysql://root:secret@h/x'])('refuses %s in one line that holds no secret', async (location) => {
    const { kind, message } = await faultOf(openStore(location));
    expect(kind).toBe('unavailable');
    expect(message).toMatch(/^\S.* not supported; .*file, or to a postgres:\/\/ URL$/);
    expect(message).not.toContain('secret');
  });

  it('is an absolute path', async () => {
    const file = temporaryFile();
    expect((await opened(file)).location).toBe(file);
  });

  it('names a folder that is given for a file', async () => {
    const file = temporaryFile();
    mkdirSync(file);
    expect((await faultOf(openStore(file))).message).toContain(`${file} is not a file`);
  });

  it('names a path that leads through a file', async () => {
    const file = temporaryFile();
    writeFileSync(file, 'x');
    const fault = await faultOf(openStore(join(file, 'gateway.db')));
    expect(fault).toMatchObject({ kind: 'unavailable', message: expect.stringContaining(file) as string });
  });
});

describe('another process on the same file', () => {
  it('is counted in the limit wherever it admits, and whenever an hour is deleted', async () => {
    const file = temporaryFile();
    const [ours, theirs] = [await opened(file), await opened(file)];
    const { accountId } = await ours.createKey(newKey());
    const admitted = (store: Store): Promise<number | undefined> => admit(store, accountId, HOUR + 5, 8);
    // The third one and later ones of one process are counted by one statement, while no other process counts.
    for (const used of [1, 2, 3, 4]) expect(await admitted(ours)).toBe(used);
    expect(await admitted(theirs)).toBe(5);
    for (const used of [6, 7]) expect(await admitted(ours)).toBe(used);
    const both = await Promise.all([admitted(ours), admitted(ours), admitted(theirs)]);
    expect(both.filter((used) => used !== undefined)).toEqual([8]);
    expect(await admitted(ours)).toBeUndefined();

    const db = new Database(file);
    db.exec('DELETE FROM hours');
    db.close();
    for (const used of [1, 2, 3, 4]) expect(await admitted(ours)).toBe(used);
  });

  it('is seen in the next turn in a key that was found before: revoked, of another tier, gone', async () => {
    const file = temporaryFile();
    const [ours, theirs] = [await opened(file), await opened(file)];
    const { hash } = newKey();
    await ours.createKey(newKey());
    expect(await ours.findKey(hash)).toMatchObject({ tier: 'free', revokedAt: null });
    await theirs.assignTier('alice', 'pro');
    await nextTurn();
    expect(await ours.findKey(hash)).toMatchObject({ tier: 'pro', revokedAt: null });
    await theirs.revokeKey('key_one', HOUR);
    await nextTurn();
    expect(await ours.findKey(hash)).toMatchObject({ tier: 'pro', revokedAt: HOUR });
    const database = new Database(file);
    database.exec('DELETE FROM keys');
    database.close();
    await nextTurn();
    expect(await ours.findKey(hash)).toBeUndefined();
  });
});

describe('an account that another process changes', () => {
  it('is seen in the next turn: renamed, its key replaced, removed', async () => {
    const file = temporaryFile();
    const [ours, theirs] = [await opened(file), await opened(file)];
    const { hash } = newKey();
    await ours.createKey(newKey());
    await ours.findKey(hash);
    await theirs.renameAccount('alice', 'zoe');
    await nextTurn();
    expect(await ours.findKey(hash)).toMatchObject({ account: 'zoe', expiresAt: null });
    const by = { id: 'key_new', hash: 'ab'.repeat(32), prefix: 'sk-gw-new', createdAt: HOUR };
    await theirs.replaceKey('key_one', by, HOUR + 5);
    await nextTurn();
    expect(await ours.findKey(hash)).toMatchObject({ expiresAt: HOUR + 5 });
    await theirs.removeAccount('zoe');
    await nextTurn();
    expect(await ours.findKey(hash)).toBeUndefined();
  });

  it('loses the rest of its usage at the next pruning if the removal was interrupted', async () => {
    const file = temporaryFile();
    const store = await opened(file);
    await store.recordUsage([usageRow({ accountId: 7 }), usageRow({ accountId: 8 })]);
    const database = new Database(file);
    database.exec('INSERT INTO removed_accounts VALUES (7, 1)');
    await store.prune(HOUR, HOUR);
    expect(await store.totals(7, 0)).toMatchObject({ outputTokens: 0 });
    expect(await store.totals(8, 0)).toMatchObject({ outputTokens: 20 });
    expect(database.prepare('SELECT data_left FROM removed_accounts').pluck().all()).toEqual([0]);
    database.close();
  });
});

describe('admissions asked for at once', () => {
  it('are counted in one commit', async () => {
    const file = temporaryFile();
    const store = await opened(file);
    await admit(store, 1, HOUR, 10);
    const before = statSync(`${file}-wal`).size;
    expect(await Promise.all([1, 2, 3].map(() => admit(store, 1, HOUR, 10)))).toEqual([2, 3, 4]);
    // One page and its head (https://www.sqlite.org/walformat.html).
    expect(statSync(`${file}-wal`).size - before).toBe(4096 + 24);
  });

  it('all reject where they cannot be committed', async () => {
    const file = temporaryFile();
    const clock = manualClock();
    const store = await opened(file, { clock });
    const holder = new Database(file);
    holder.exec('BEGIN IMMEDIATE');
    const faults = Promise.all([1, 2, 3].map((id) => faultOf(admit(store, id, HOUR, 10))));
    await nextTurn();
    clock.advance(2000);
    expect((await faults).map(({ kind }) => kind)).toEqual(['busy', 'busy', 'busy']);
    holder.close();
    expect(await admit(store, 1, HOUR, 10)).toBe(1);
  });

  it('are committed by a store that is closed before their turn', async () => {
    const file = temporaryFile();
    const store = await opened(file);
    const admitted = admit(store, 1, HOUR, 10);
    await store.close();
    expect(await admitted).toBe(1);
    expect(await (await opened(file)).used(1, HOUR)).toBe(1);
  });
});

describe('who can read it', () => {
  it('makes folder, file and side files for the owner alone, whatever the umask', async () => {
    const file = temporaryFile('a/b/gateway.db');
    const before = process.umask(0);
    try {
      const store = await opened(file);
      await admit(store, 1, HOUR, 10);
    } finally {
      process.umask(before);
    }
    const modes = ['', '-wal', '-shm'].map((end) => (statSync(file + end).mode & 0o777).toString(8));
    expect(modes).toEqual(['600', '600', '600']);
    expect((statSync(dirname(file)).mode & 0o777).toString(8)).toBe('700');
    expect(process.umask()).toBe(before);
  });

  it('narrows a file that others could read, and what lies beside it', async () => {
    const file = temporaryFile();
    await (await openStore(file)).close();
    const other = new Database(file);
    other.pragma('user_version = 1');
    const ends = ['', '-wal', '-shm'];
    for (const end of ends) chmodSync(file + end, 0o644);
    await opened(file);
    other.close();
    expect(ends.map((end) => (statSync(file + end).mode & 0o777).toString(8))).toEqual(['600', '600', '600']);
  });

  it('never holds the plaintext of a key', async () => {
    const file = temporaryFile();
    const store = await opened(file);
    const spec = {
      account: 'a',
      tier: 'free',
      label: null,
      permissions: ['chat' as const],
      models: null,
      expiresAt: null,
    };
    const { plaintext } = await createKey({ store, clock: systemClock, ids: createIds() }, spec);
    const bytes = Object.values(contentsOf(dirname(file))).join('');
    expect(bytes).toContain(plaintext.slice(0, 12));
    expect(bytes).not.toContain(plaintext.slice(0, 20));
    expect(bytes).not.toContain(plaintext.slice(-20));
  });
});

describe('a file that is no database of ours', () => {
  /** Some pages of data, closed properly: no log beside it. */
  async function filled(): Promise<string> {
    const file = temporaryFile();
    const store = await openStore(file);
    await store.createKey(newKey());
    await store.recordUsage(Array.from({ length: 300 }, (_, n) => usageRow({ at: HOUR + n })));
    await store.close();
    return file;
  }

  const damages: Record<string, (file: string) => void> = {
    garbage: (file) => writeFileSync(file, Buffer.alloc(20_000, 'not a database ')),
    'a text of a few bytes': (file) => writeFileSync(file, 'hello'),
    'zeros all over': (file) => writeFileSync(file, Buffer.alloc(8192)),
    'the half of it': (file) => truncateSync(file, Math.floor(statSync(file).size / 8192) * 4096),
    'a cut in its first page': (file) => truncateSync(file, 1000),
    'a header over garbage': (file) => {
      const bytes = readFileSync(file).fill(0xa5, 100);
      writeFileSync(file, bytes);
    },
    'a garbled page in the middle': (file) => {
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0xa5, 4096 * 6, 4096 * 7));
    },
    'a page size that cannot be': (file) => {
      const bytes = readFileSync(file);
      bytes.writeUInt16BE(1234, 16);
      writeFileSync(file, bytes);
    },
  };

  it.each(Object.keys(damages))('%s: named, and left untouched with nothing beside it', async (how) => {
    const file = await filled();
    damages[how]?.(file);
    const before = contentsOf(dirname(file));
    const { kind, message } = await faultOf(openStore(file));
    expect(kind).toBe('damaged');
    expect(message).toContain(file);
    expect(message).not.toContain('\n');
    expect(contentsOf(dirname(file))).toEqual(before);
  });

  it('another program’s database: named as such, untouched', async () => {
    const file = temporaryFile();
    const other = new Database(file);
    other.exec('CREATE TABLE recipes (name TEXT)');
    other.close();
    const before = contentsOf(dirname(file));
    const { kind, message } = await faultOf(openStore(file));
    expect(kind).toBe('foreign');
    expect(message).toMatch(/another program \(recipes\)/);
    expect(contentsOf(dirname(file))).toEqual(before);
  });

  it('a newer gateway’s database: named as such, untouched', async () => {
    const file = await filled();
    const newer = new Database(file);
    newer.prepare("INSERT INTO migrations (name, applied_at) VALUES ('9999-tomorrow', 1)").run();
    newer.close();
    const before = contentsOf(dirname(file));
    const { kind, message } = await faultOf(openStore(file));
    expect(kind).toBe('foreign');
    expect(message).toContain('9999-tomorrow');
    expect(contentsOf(dirname(file))).toEqual(before);
  });

  it('an empty file is a database that is yet to be made', async () => {
    const file = temporaryFile();
    writeFileSync(file, '');
    expect(await admit(await opened(file), 1, HOUR, 1)).toBe(1);
  });

  it('damage that only a query meets is reported as such, and does not end the process', async () => {
    const file = await filled();
    const store = await opened(file);
    const bytes = readFileSync(file);
    // Behind the back of the open connection, which has read only its first pages.
    writeFileSync(file, bytes.fill(0xa5, 4096 * 3));
    const { kind, message } = await faultOf(store.totals(1, 0));
    expect(kind).toBe('damaged');
    expect(message).not.toContain('The gateway has not changed it');
  });

  it('one of more than 4 MiB, which is not checked at the start, is not reported as untouched', async () => {
    const file = temporaryFile();
    const store = await openStore(file);
    await store.createKey(newKey({ label: 'x'.repeat(5 * 1024 * 1024) }));
    await store.close();
    writeFileSync(file, readFileSync(file).fill(0xa5, 4096));
    const used = async (): Promise<unknown> => (await opened(file)).listKeys();
    const { kind, message } = await faultOf(used());
    expect(kind).toBe('damaged');
    expect(message).toContain(`the database ${file} is damaged`);
    expect(message).not.toContain('The gateway has not changed it');
  });
});

it('a key with both permissions of an older gateway may use responses; narrower keys stay narrow', async () => {
  const file = temporaryFile();
  const db = new Database(file);
  migrate(db, file, 1, MIGRATIONS.slice(0, 5));
  db.exec(`
    INSERT INTO accounts (id, name, tier, created_at) VALUES (1, 'alice', 'free', 1);
    INSERT INTO keys (id, account_id, hash, prefix, permissions, created_at) VALUES
      ('both', 1, x'01', 'sk-gw-1', 'chat,messages', 1),
      ('chat', 1, x'02', 'sk-gw-2', 'chat', 2),
      ('messages', 1, x'03', 'sk-gw-3', 'messages', 3)`);
  db.close();
  const keys = await (await opened(file)).listKeys();
  expect(keys.map(({ permissions }) => permissions.join())).toEqual([
    'chat,messages,responses,embeddings',
    'chat',
    'messages',
  ]);
});

describe('a database that is away', () => {
  it('is unavailable while the file is gone, and goes on when it is back', async () => {
    const file = temporaryFile();
    const clock = manualClock();
    const store = await opened(file, { clock });
    await admit(store, 1, HOUR, 10);
    renameSync(file, `${file}.away`);
    clock.advance(1000);
    const fault = await faultOf(admit(store, 1, HOUR, 10));
    expect(fault).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('is gone') as string,
    });
    renameSync(`${file}.away`, file);
    expect(await admit(store, 1, HOUR, 10)).toBe(2);
  });

  it('opens a database anew that was made anew in its place', async () => {
    const file = temporaryFile();
    const clock = manualClock();
    const store = await opened(file, { clock });
    await store.createKey(newKey());
    for (const end of ['', '-wal', '-shm']) rmSync(file + end);
    const other = await opened(file);
    await other.createKey(newKey({ account: 'bob' }));
    clock.advance(1000);
    expect((await store.listAccounts()).map(({ name }) => name)).toEqual(['bob']);
    await store.createKey(newKey({ id: 'key_two', account: 'bob' }));
    expect(await other.listKeys()).toHaveLength(2);
  });

  it('does not mix a file that took the place of its own with the log of the old one', async () => {
    const file = temporaryFile();
    const copy = temporaryFile();
    await (await openStore(copy)).close();
    const clock = manualClock();
    const store = await opened(file, { clock });
    await store.createKey(newKey());
    const before = readFileSync(copy);
    renameSync(copy, file);
    clock.advance(1000);
    const fault = await faultOf(admit(store, 1, HOUR, 10));
    expect(fault).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('was replaced') as string,
    });
    await store.close();
    expect(readFileSync(file)).toEqual(before);
  });
});

describe('its log', () => {
  it('is emptied into the file when nobody waits', async () => {
    const file = temporaryFile();
    const store = await opened(file);
    await store.recordUsage(Array.from({ length: 2000 }, (_, n) => usageRow({ at: HOUR + n })));
    const before = statSync(file).size;
    await store.idle();
    expect(statSync(file).size).toBeGreaterThan(before);
  });

  it('stays within bounds where nobody is ever idle', async () => {
    const file = temporaryFile();
    const store = await opened(file);
    for (let n = 0; n < 10_000; n += 1) await admit(store, n % 7, HOUR, 1e9);
    expect(statSync(`${file}-wal`).size).toBeLessThan(48 * 1024 * 1024);
  });

  it('goes away with the last process', async () => {
    const file = temporaryFile();
    const store = await openStore(file);
    await admit(store, 1, HOUR, 10);
    await store.close();
    expect(existsSync(`${file}-wal`)).toBe(false);
  });
});
