// Items of accounts: sealed with a key beside the database, found while they still wait, and by their account alone.
import { randomInt } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HOUR_MS, systemClock } from '../../src/clock.ts';
import type { Logger } from '../../src/log.ts';
import { readItemKey } from '../../src/store/items/cipher.ts';
import { createSealedItems, ItemsTooLarge, type SealedItems } from '../../src/store/items/sealed-items.ts';
import { StoreError, type Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { newKey, contentsOf, opened, temporaryFile } from './support.ts';

const SECRET = 'what the model answered';
const quiet: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  flush: () => undefined,
};

function sealedItems(
  store: Pick<Store, 'storeItems' | 'findItems' | 'extendItems' | 'deleteItems'>,
  file: string,
  clock = manualClock(),
  log = quiet,
): SealedItems {
  const itemKey = (): Buffer => readItemKey(`${file}.key`);
  return createSealedItems({ store: { ...store, itemKey }, keepMs: () => HOUR_MS, clock, log });
}

async function withAccounts(file: string): Promise<Store> {
  const store = await opened(file, { clock: systemClock });
  await store.createKey(newKey());
  await store.createKey(newKey({ id: 'key_two', account: 'bob' }));
  return store;
}

const found = async (items: SealedItems, account: number, id: string): Promise<string | undefined> =>
  (await items.find(account, 'answer', [id])).get(id);

describe('sealed items', () => {
  it('are found at once, after they are written, and by another process with the same key file', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    const items = sealedItems(store, file);
    items.put(1, [{ kind: 'answer', id: 'resp_1', text: SECRET }]);
    expect(await found(items, 1, 'resp_1')).toBe(SECRET);
    expect(await items.flush()).toBe(0);
    expect(await found(items, 1, 'resp_1')).toBe(SECRET);
    expect(await found(sealedItems(store, file), 1, 'resp_1')).toBe(SECRET);
  });

  it('do not show their text in any file', async () => {
    const file = temporaryFile();
    const items = sealedItems(await withAccounts(file), file);
    items.put(1, [{ kind: 'answer', id: 'resp_1', text: SECRET }]);
    await items.flush();
    expect(JSON.stringify(contentsOf(dirname(file)))).not.toContain(SECRET);
    expect(statSync(`${file}.key`).mode & 0o777).toBe(0o600);
  });

  it('are not found by another account, even where its row is copied to that account', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    const items = sealedItems(store, file);
    items.put(1, [{ kind: 'answer', id: 'a', text: SECRET }]);
    await items.flush();
    const [row] = await store.findItems(1, ['answer a'], 0);
    if (row === undefined) throw new Error('not stored');
    await store.storeItems([{ ...row, accountId: 2 }], { account: 1e6, all: 1e6 });
    expect(await found(items, 2, 'a')).toBeUndefined();
  });

  it('are forgotten, not an error, where the key file was replaced', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    const items = sealedItems(store, file);
    items.put(1, [{ kind: 'answer', id: 'a', text: SECRET }]);
    await items.flush();
    writeFileSync(`${file}.key`, Buffer.alloc(32).toString('base64'));
    expect(await found(sealedItems(store, file), 1, 'a')).toBeUndefined();
  });

  it('are not stored under an id of more than 1,000 bytes, which PostgreSQL has no room for in an index', async () => {
    const file = temporaryFile();
    const items = sealedItems(await withAccounts(file), file);
    // Three bytes each.
    const long = Array.from({ length: 1000 }, () => String.fromCodePoint(randomInt(0x4e00, 0x9fff))).join('');
    items.put(1, [
      { kind: 'answer', id: long, text: SECRET },
      { kind: 'answer', id: 'a', text: SECRET },
    ]);
    expect(await items.flush()).toBe(0);
    expect(await items.find(1, 'answer', [long, 'a'])).toEqual(new Map([['a', SECRET]]));
  });

  it('expire, and last longer where they are extended', async () => {
    const file = temporaryFile();
    const clock = manualClock();
    const items = sealedItems(await withAccounts(file), file, clock);
    items.put(1, [
      { kind: 'answer', id: 'a', text: 'a' },
      { kind: 'answer', id: 'b', text: 'b' },
    ]);
    await items.flush();
    clock.advance(HOUR_MS / 2);
    await items.find(1, 'answer', ['b'], { keep: true });
    clock.advance(HOUR_MS / 2);
    expect(await found(items, 1, 'a')).toBeUndefined();
    expect(await found(items, 1, 'b')).toBe('b');
  });

  it('of one kind do not replace those of another with the same id', async () => {
    const file = temporaryFile();
    const items = sealedItems(await withAccounts(file), file);
    items.put(1, [
      { kind: 'thinking', id: 'call_1', text: 'thinking' },
      { kind: 'answer', id: 'call_1', text: 'answer' },
      { kind: 'answer', id: 'thinking call_1', text: 'hostile' },
    ]);
    for (const write of [false, true]) {
      if (write) await items.flush();
      expect(await found(items, 1, 'call_1')).toBe('answer');
      expect((await items.find(1, 'thinking', ['call_1'])).get('call_1')).toBe('thinking');
    }
  });

  it('are not stored under an id of unreasonable length', async () => {
    const file = temporaryFile();
    const items = sealedItems(await withAccounts(file), file);
    const long = 'x'.repeat(1001);
    items.put(1, [{ kind: 'answer', id: long, text: 'a' }]);
    expect(await found(items, 1, long)).toBeUndefined();
    await items.flush();
    expect(await found(items, 1, long)).toBeUndefined();
  });

  it('are deleted whether they wait or are written', async () => {
    const file = temporaryFile();
    const items = sealedItems(await withAccounts(file), file);
    items.put(1, [{ kind: 'answer', id: 'a', text: 'a' }]);
    await items.flush();
    items.put(1, [{ kind: 'answer', id: 'b', text: 'b' }]);
    expect(await items.delete(1, 'answer', ['a', 'b', 'c'])).toBe(2);
    expect((await items.find(1, 'answer', ['a', 'b'])).size).toBe(0);
  });

  /** With pairs of surrogates at every place where it may be cut. */
  const large = (characters: number): string => 'a' + '\u{1f600}'.repeat(characters / 2);

  it('of any size are stored in rows of at most a MiB, and read, kept and deleted as one', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    const clock = manualClock();
    const steps: number[] = [];
    const ids: string[] = [];
    const watched = {
      ...store,
      storeItems: (...given: Parameters<Store['storeItems']>) => {
        steps.push(given[0].reduce((sum, { data }) => sum + data.length, 0));
        ids.push(...given[0].map(({ id }) => id));
        for (const { data } of given[0]) expect(data.length).toBeLessThanOrEqual(1_048_604);
        return store.storeItems(...given);
      },
    };
    const items = sealedItems(watched, file, clock);
    const text = large(3_000_000);
    items.put(1, [
      { kind: 'answer', id: 'small', text: 'small' },
      { kind: 'answer', id: 'a', text: () => text, size: text.length },
    ]);
    expect(await found(items, 1, 'a')).toBe(text);
    expect(await items.flush()).toBe(0);
    expect(Math.max(...steps)).toBeLessThan(2_200_000);
    expect(await items.find(1, 'answer', ['a', 'small'])).toEqual(
      new Map([
        ['small', 'small'],
        ['a', text],
      ]),
    );
    expect(await found(items, 2, 'a')).toBeUndefined();

    clock.advance(HOUR_MS / 2);
    await items.find(1, 'answer', ['a'], { keep: true });
    clock.advance(HOUR_MS / 2);
    expect(await found(items, 1, 'a')).toBe(text);

    expect(await items.delete(1, 'answer', ['a'])).toBe(1);
    expect(await found(items, 1, 'a')).toBeUndefined();
    expect(ids.length).toBeGreaterThan(10);
    expect((await store.findItems(1, ids, 0)).map(({ id }) => id)).toEqual(['answer small']);
  });

  it('P38: let other work go on while a large one is written, read and deleted', async () => {
    const file = temporaryFile();
    const items = sealedItems(await withAccounts(file), file);
    /** How often something else had its turn. */
    async function turnsDuring(work: Promise<unknown>): Promise<number> {
      let turns = 0;
      let isOver = false;
      const count = (): void => {
        turns++;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      await work;
      isOver = true;
      return turns;
    }
    const text = large(8_000_000);
    items.put(1, [{ kind: 'answer', id: 'a', text }]);
    expect(await turnsDuring(items.flush())).toBeGreaterThan(10);
    expect(await turnsDuring(items.find(1, 'answer', ['a']))).toBeGreaterThan(10);
    expect(await turnsDuring(items.delete(1, 'answer', ['a']))).toBeGreaterThan(5);
  });

  it('are not read beyond the bytes that may be read, whether they wait or are written', async () => {
    const file = temporaryFile();
    const items = sealedItems(await withAccounts(file), file);
    const text = large(1_000_000);
    items.put(1, [{ kind: 'answer', id: 'a', text }]);
    for (const write of [false, true]) {
      if (write) await items.flush();
      await expect(items.find(1, 'answer', ['a'], { most: 900_000 })).rejects.toThrow(ItemsTooLarge);
    }
    expect((await items.find(1, 'answer', ['a'], { most: 3_000_000 })).size).toBe(1);
  });

  it('that lost a part are not found', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    const items = sealedItems(store, file);
    const stored: string[] = [];
    const watched = {
      ...store,
      storeItems: (...given: Parameters<Store['storeItems']>) => {
        stored.push(...given[0].map(({ id }) => id));
        return store.storeItems(...given);
      },
    };
    const writing = sealedItems(watched, file);
    writing.put(1, [{ kind: 'answer', id: 'a', text: large(1_000_000) }]);
    await writing.flush();
    await store.deleteItems(1, stored.slice(1, 2));
    expect(await found(items, 1, 'a')).toBeUndefined();
  });

  it('wait while the database is away, and the log says so once', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    const clock = manualClock();
    const errors: string[] = [];
    let away = true;
    const flaky = {
      ...store,
      storeItems: (...given: Parameters<Store['storeItems']>) =>
        away ? Promise.reject(new StoreError('unavailable', 'away')) : store.storeItems(...given),
    };
    const log: Logger = { ...quiet, error: (message) => void errors.push(message) };
    const items = sealedItems(flaky, file, clock, log);
    items.put(1, [{ kind: 'answer', id: 'a', text: 'a' }]);
    expect(await items.flush()).toBe(1);
    expect(await items.flush()).toBe(1);
    expect(errors).toHaveLength(1);
    expect(await found(items, 1, 'a')).toBe('a');
    away = false;
    expect(await items.flush()).toBe(0);
    expect((await store.findItems(1, ['answer a'], clock.now())).length).toBe(1);
  });
});

describe('a sealed text', () => {
  it('opens for its account alone, and not once it was changed', async () => {
    const file = temporaryFile();
    const items = sealedItems(await withAccounts(file), file);
    const sealed = items.seal(1, SECRET);
    expect(sealed).toMatch(/^gw1\.[A-Za-z0-9_-]+$/);
    expect(items.unseal(1, sealed)).toBe(SECRET);
    expect(items.unseal(2, sealed)).toBeUndefined();
    expect(items.unseal(1, `${sealed.slice(0, -2)}AA`)).toBeUndefined();
    expect(items.unseal(1, 'gw1.')).toBeUndefined();
    expect(items.unseal(1, 'gAAAAAB of a provider')).toBeUndefined();
  });
});

describe('the key file', () => {
  it('is narrowed to its owner, and refused where it holds something else', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    sealedItems(store, file).seal(1, 'x');
    const made = readFileSync(`${file}.key`, 'utf8');
    chmodSync(`${file}.key`, 0o644);
    sealedItems(store, file).seal(1, 'x');
    expect(statSync(`${file}.key`).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${file}.key`, 'utf8')).toBe(made);
    writeFileSync(`${file}.key`, 'short');
    expect(() => sealedItems(store, file).seal(1, 'x')).toThrow(/does not hold a key of 32 bytes/);
  });

  it('P37: of another user is refused, since that user can read what it seals', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    sealedItems(store, file).seal(1, 'x');
    if (process.geteuid?.() === 0) chownSync(`${file}.key`, 12_345, 12_345);
    else {
      rmSync(`${file}.key`);
      // It belongs to root.
      symlinkSync('/etc/passwd', `${file}.key`);
    }
    const before = readFileSync(`${file}.key`, 'utf8');
    expect(() => sealedItems(store, file).seal(1, 'x')).toThrow(/belongs to another user/);
    expect(readFileSync(`${file}.key`, 'utf8')).toBe(before);
  });

  it.each([0o777, 0o775, 0o757])(
    'P37: in a folder of mode %o is refused, and not made there',
    async (mode) => {
      const file = temporaryFile();
      const store = await withAccounts(file);
      chmodSync(dirname(file), mode);
      const message = `other users can change ${dirname(file)}; if it is yours: chmod go-w ${dirname(file)}`;
      expect(() => sealedItems(store, file).seal(1, 'x')).toThrow(message);
      expect(existsSync(`${file}.key`)).toBe(false);
      chmodSync(dirname(file), 0o755);
      sealedItems(store, file).seal(1, 'x');
      chmodSync(dirname(file), mode);
      expect(() => sealedItems(store, file).seal(1, 'x')).toThrow(message);
    },
  );

  it('is made in a folder like /tmp, where only owners replace their files', async () => {
    const file = temporaryFile();
    const store = await withAccounts(file);
    chmodSync(dirname(file), 0o1777);
    sealedItems(store, file).seal(1, 'x');
    expect(existsSync(`${file}.key`)).toBe(true);
  });

  it('is named where it cannot be made', async () => {
    const store = await withAccounts(temporaryFile());
    const missing = join(dirname(temporaryFile()), 'missing', 'gateway.db');
    expect(() => sealedItems(store, missing).seal(1, 'x')).toThrow(StoreError);
  });
});
