// The bounded log file: no line is lost or torn by its rotation, and nobody else can read it.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  logFilePath,
  openLogFile,
  type LogFile,
} from '../../../src/cli/commands/running/serving/log-file.ts';
import type { Config } from '../../../src/config/config.ts';
import { createLog } from '../../../src/log.ts';
import { temporaryDirectory } from '../harness.ts';

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1);
const bytesOf = (file: string): number => statSync(file).size;
const modeOf = (file: string): number => statSync(file).mode & 0o777;

function writeNumbers(log: LogFile, from: number, to: number): void {
  for (let at = from; at < to; at += 1) log.write(`line ${String(at).padStart(6, '0')} é\n`);
}

it('keeps every line of the last two files, whole and in order, and both within the bound', () => {
  const file = join(temporaryDirectory(), 'state', 'gateway.log');
  const log = openLogFile(file, 1000);
  writeNumbers(log, 0, 500);
  const lines = [...linesOf(`${file}.1`), ...linesOf(file)];
  expect(lines.at(-1)).toBe('line 000499 é');
  expect(lines).toEqual(lines.map((_, at) => `line ${String(500 - lines.length + at).padStart(6, '0')} é`));
  expect(lines.length).toBeGreaterThan(1000 / 15);
  for (const each of [file, `${file}.1`]) {
    expect(bytesOf(each)).toBeLessThanOrEqual(1000);
    expect(modeOf(each)).toBe(0o600);
  }
  expect(modeOf(join(file, '..'))).toBe(0o700);
});

it('is appended to by the next gateway, and closed to others even if it was open', () => {
  const file = join(temporaryDirectory(), 'gateway.log');
  writeFileSync(file, 'before\n');
  chmodSync(file, 0o644);
  const log = openLogFile(file, 20);
  expect(modeOf(file)).toBe(0o600);
  log.write('now\n');
  log.write('then, a longer line\n');
  expect([linesOf(`${file}.1`), linesOf(file)]).toEqual([['before', 'now'], ['then, a longer line']]);
});

it('of two writers loses no line when both rotate', () => {
  const file = join(temporaryDirectory(), 'gateway.log');
  const logs = [openLogFile(file, 4000), openLogFile(file, 4000)];
  const lines = 600;
  for (let at = 0; at < lines; at += 1) writeNumbers(logs[at % 2] as LogFile, at, at + 1);
  // Together they write more than one file's bound, and less than two.
  const found = [...linesOf(`${file}.1`), ...linesOf(file)];
  expect(found.map((line) => Number(line.split(' ')[1])).sort((a, b) => a - b)).toEqual([
    ...Array(lines).keys(),
  ]);
});

it('is created anew after it was removed or renamed', () => {
  const file = join(temporaryDirectory(), 'gateway.log');
  const log = openLogFile(file, 20);
  log.write('first\n');
  renameSync(file, `${file}.mine`);
  log.write('second, a longer line\n');
  expect([linesOf(`${file}.mine`), linesOf(file)]).toEqual([['first'], ['second, a longer line']]);
  rmSync(file);
  log.write('third, a longer line\n');
  expect(linesOf(file)).toEqual(['third, a longer line']);
  expect(existsSync(`${file}.1`)).toBe(false);
});

it.runIf(process.platform === 'linux' && process.geteuid?.() === 0)(
  'on a full disk costs the log its records and the gateway nothing; later lines are whole again',
  ({ skip, onTestFinished }) => {
    const folder = join(temporaryDirectory(), 'disk');
    mkdirSync(folder);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', folder], { stdio: 'ignore' });
    } catch {
      skip('no file system can be mounted here');
    }
    onTestFinished(() => void execFileSync('umount', [folder]));
    const file = join(folder, 'gateway.log');
    writeFileSync(join(folder, 'filler'), 'x'.repeat(8000));
    const stream = openLogFile(file);
    const log = createLog({ format: 'json', stream });
    for (let at = 0; at < 100; at += 1) {
      log.info('x'.repeat(100), { at });
      log.flush();
    }
    rmSync(join(folder, 'filler'));
    log.info('after');
    log.flush();
    stream.close();
    const lines = linesOf(file);
    expect(lines.at(-1)).toContain('"after"');
    expect(lines.length).toBeLessThan(100);
  },
);

it('has a name of its own for each database', async () => {
  const env = { XDG_DATA_HOME: '/data', XDG_STATE_HOME: '/state' };
  const pathOf = (database: string): Promise<string> => logFilePath({ database } as Config, env);
  expect(await pathOf('/data/gateway/gateway.db')).toBe('/state/gateway/gateway.log');
  const [one, other] = [await pathOf('/a/gateway.db'), await pathOf('/b/gateway.db')];
  expect(one).toMatch(/^\/state\/gateway\/gateway-[0-9a-f]{8}\.log$/);
  expect(other).not.toBe(one);
});
