// Another process writes while the file is looked at: what was read of it is of two times.
import { copyFileSync } from 'node:fs';
import type * as Fs from 'node:fs';
import { expect, it, vi } from 'vitest';
import { loadDriver, type Driver } from '../../src/store/sqlite/driver.ts';
import { inspectFile } from '../../src/store/sqlite/file.ts';
import { openStore } from '../../src/store/open.ts';
import { HOUR, usageRow, temporaryFile } from './support.ts';

/** Called between the look at the file's size and the look at its header. */
const between = vi.hoisted(() => ({ run: (): void => undefined }));

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof Fs>();
  const readSync = (...given: Parameters<typeof fs.readSync>): number => {
    between.run();
    return fs.readSync(...given);
  };
  return { ...fs, readSync };
});

const driver = await loadDriver();

async function database(rows: number): Promise<string> {
  const file = temporaryFile();
  const store = await openStore(file);
  await store.recordUsage(Array.from({ length: rows }, (_, n) => usageRow({ at: HOUR + n })));
  await store.close();
  return file;
}

it('a sound database that grows meanwhile is not called damaged', async () => {
  const file = await database(1);
  const grown = await database(500);
  between.run = () => {
    between.run = () => undefined;
    copyFileSync(grown, file);
  };
  expect(() => inspectFile(driver, file)).not.toThrow();
});

it('nor is one that grows at every look: a query will find what is wrong', async () => {
  const file = await database(1);
  const sizes = [await database(500), await database(1500)];
  let looks = 0;
  between.run = () => copyFileSync(sizes[looks++ % 2] ?? '', file);
  const always = function (): never {
    copyFileSync(sizes[looks++ % 2] ?? '', file);
    throw Object.assign(new Error('torn'), { code: 'SQLITE_CORRUPT' });
  };
  expect(() => inspectFile(always as unknown as Driver, file)).not.toThrow();
});

it('a fault that is found twice in a file at rest is reported', async () => {
  const file = await database(1);
  between.run = () => undefined;
  let checks = 0;
  const broken = function (): never {
    checks += 1;
    throw Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' });
  };
  expect(() => inspectFile(broken as unknown as Driver, file)).toThrow('it is damaged');
  expect(checks).toBe(2);
});
