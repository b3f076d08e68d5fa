import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder } from '../src/folders.ts';
import { temporaryDirectory } from './cli/harness.ts';

it('a folder is made with the parents that are missing, for its owner alone', () => {
  const base = temporaryDirectory();
  const folder = join(base, 'a', 'b');
  expect(makeFolder(folder)).toEqual([join(base, 'a'), folder]);
  expect(statSync(join(base, 'a')).mode & 0o777).toBe(0o700);
  expect(makeFolder(folder)).toEqual([]);
});

it.skipIf(!existsSync('/proc'))('a place without folders is an error, and not waited for', () => {
  expect(() => makeFolder('/proc/gateway/a')).toThrow(/ENOENT|EACCES|EPERM/);
});

it('a file in place of a parent is an error', () => {
  const base = temporaryDirectory();
  writeFileSync(join(base, 'file'), '');
  expect(() => makeFolder(join(base, 'file', 'a'))).toThrow(/ENOTDIR/);
});

it.skipIf(process.getuid?.() === 0)('a folder that may not be written to is an error', () => {
  const base = temporaryDirectory();
  chmodSync(base, 0o500);
  expect(() => makeFolder(join(base, 'a'))).toThrow(/EACCES/);
});
