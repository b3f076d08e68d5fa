// Before all tests: the command line's run the built program, so it is built, unless it is of these very sources (2 s of processor
// time). What tests write stays in memory: waiting for a disk took a quarter of their time.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoryFolder } from './memory.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The digest of the last build for tests. */
const STAMP = join(ROOT, 'node_modules/.gateway-build');
/** What the build reads, and what it writes. */
const FOLDERS = ['src', 'dist'];
const FILES = ['rolldown.config.js', 'package.json', 'tsconfig.json', 'node_modules/.package-lock.json'];

function digest(): string {
  const hash = createHash('sha256');
  const within = FOLDERS.filter((folder) => existsSync(join(ROOT, folder))).flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  const all = [...within, ...FILES.map((name) => join(ROOT, name)).filter((path) => existsSync(path))];
  for (const path of all.sort()) hash.update(`${path}\0`).update(readFileSync(path)).update('\0');
  return hash.digest('hex');
}

function build(): void {
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === digest()) return;
  const prepare = join(ROOT, 'bin/prepare.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [prepare], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the build failed:\n${stdout}${stderr}`);
  writeFileSync(STAMP, digest());
}

export default function setup(): () => void {
  build();
  const memory = memoryFolder();
  if (memory !== undefined) process.env['TMPDIR'] ??= memory;
  // What the test files of one run share.
  const folder = mkdtempSync(join(tmpdir(), 'gateway-run-'));
  chmodSync(folder, 0o711);
  process.env['GATEWAY_TEST_RUN'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
