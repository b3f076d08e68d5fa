// Where tests write: what they write is gone after them, so that none of it needs a disk.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Containers have 64 MB, unless asked for more. */
const ENOUGH = 1 << 30;

/** A file system in memory that has room and runs programs; undefined: this machine has none. */
export function memoryFolder(folder = MEMORY): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ENOUGH && runsPrograms(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

function runsPrograms(folder: string): boolean {
  const own = mkdtempSync(join(folder, 'gateway-tests-'));
  try {
    const program = join(own, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    return spawnSync(program).status === 0;
  } finally {
    rmSync(own, { recursive: true });
  }
}
