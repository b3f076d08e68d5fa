import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';
import { describe, expect, it, onTestFinished } from 'vitest';
import { watchConfig } from '../../src/config/watch.ts';
import { manualClock } from '../helpers/clock.ts';
import { tempFolder, write } from './folder.ts';

/** `next`: the content that the next call read, after as much time as that takes. Texts in turn have different lengths. */
function watching(file: string): { next(): Promise<string> } {
  // Two writes in one tick of the file system's clock have the same times.
  utimesSync(file, 1, 1);
  const clock = manualClock();
  const seen: string[] = [];
  const watch = watchConfig({ file, clock, reload: () => void seen.push(readFileSync(file, 'utf8')) });
  onTestFinished(() => watch.close());
  return {
    async next() {
      clock.advance(1000);
      // The call is over after this.
      await nextTurn();
      return seen.shift() ?? '';
    },
  };
}

describe('a file that is gone', () => {
  it('is reported once, and again when it disappears another time', () => {
    const file = write(tempFolder(), 'g.yaml', 'a');
    const clock = manualClock();
    let gone = 0;
    const watch = watchConfig({ file, clock, reload: () => undefined, gone: () => void (gone += 1) });
    onTestFinished(() => watch.close());
    clock.advance(5000);
    expect(gone).toBe(0);
    rmSync(file);
    clock.advance(5000);
    expect(gone).toBe(1);
    writeFileSync(file, 'a');
    clock.advance(5000);
    rmSync(file);
    clock.advance(5000);
    expect(gone).toBe(2);
  });
});

describe('a change is seen', () => {
  it('when the file is written in place', async () => {
    const file = write(tempFolder(), 'g.yaml', 'a');
    const watch = watching(file);
    writeFileSync(file, 'b');
    expect(await watch.next()).toBe('b');
    writeFileSync(file, 'later');
    expect(await watch.next()).toBe('later');
  });

  it('when an editor replaces the file by renaming, again and again', async () => {
    const folder = tempFolder();
    const file = write(folder, 'g.yaml', 'a');
    const watch = watching(file);
    for (const text of ['b', 'later']) {
      renameSync(write(folder, '.g.yaml.swp', text), file);
      expect(await watch.next()).toBe(text);
    }
  });

  it('when it is removed and written anew', async () => {
    const file = write(tempFolder(), 'g.yaml', 'a');
    const watch = watching(file);
    rmSync(file);
    writeFileSync(file, 'b');
    expect(await watch.next()).toBe('b');
  });

  it('behind a symbolic link, and when the link is turned', async () => {
    const folder = tempFolder();
    const target = write(folder, 'real/g.yaml', 'a');
    mkdirSync(path.join(folder, 'link'));
    const file = path.join(folder, 'link', 'g.yaml');
    symlinkSync(target, file);
    const watch = watching(file);
    writeFileSync(target, 'b');
    expect(await watch.next()).toBe('b');
    const turned = `${file}.new`;
    symlinkSync(write(folder, 'other/g.yaml', 'later'), turned);
    renameSync(turned, file);
    expect(await watch.next()).toBe('later');
  });
});

describe('polling', () => {
  // The folder is not there when watching begins, so that nothing but the poll can see the file.
  function polled() {
    const folder = path.join(tempFolder(), 'later');
    const file = path.join(folder, 'g.yaml');
    const clock = manualClock();
    let calls = 0;
    let finish: (() => void) | undefined;
    const watch = watchConfig({
      file,
      clock,
      reload: () => {
        calls++;
        return new Promise<void>((resolve) => (finish = resolve));
      },
    });
    onTestFinished(() => watch.close());
    mkdirSync(folder);
    return {
      file,
      clock,
      watch,
      calls: () => calls,
      finish: async () => (finish?.(), await Promise.resolve(), await Promise.resolve()),
    };
  }

  it('is enough', () => {
    const { file, clock, calls } = polled();
    writeFileSync(file, 'a');
    clock.advance(3000);
    expect(calls()).toBe(1);
    clock.advance(60_000);
    expect(calls()).toBe(1);
  });

  it('calls once for one change, not while a call runs, and after it for what came meanwhile', async () => {
    const { file, clock, calls, finish } = polled();
    writeFileSync(file, 'a');
    clock.advance(3000);
    writeFileSync(file, 'bb');
    clock.advance(3000);
    expect(calls()).toBe(1);
    await finish();
    clock.advance(200);
    expect(calls()).toBe(2);
  });

  it('says nothing when the content is as it was', async () => {
    const { file, clock, calls, finish } = polled();
    writeFileSync(file, 'a');
    clock.advance(3000);
    await finish();
    rmSync(file);
    clock.advance(3000);
    writeFileSync(file, 'a');
    clock.advance(60_000);
    expect(calls()).toBe(1);
  });

  it('says nothing after it was closed, and leaves no timer', () => {
    const { file, clock, calls, watch } = polled();
    writeFileSync(file, 'a');
    clock.advance(550);
    watch.close();
    clock.advance(60_000);
    expect(calls()).toBe(0);
    expect(clock.waiting).toBe(0);
  });
});

it('watching never keeps the process alive', async () => {
  const folder = tempFolder();
  const file = write(folder, 'g.yaml', 'a');
  const names = { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' };
  const input = { watch: 'src/config/watch.ts', clock: 'src/clock.ts' };
  await build({ input, platform: 'node', output: { dir: folder, ...names } });
  const built = (name: string) => JSON.stringify(pathToFileURL(path.join(folder, name)).href);
  const script = `
    import { watchConfig } from ${built('watch.mjs')};
    import { systemClock } from ${built('clock.mjs')};
    watchConfig({ file: ${JSON.stringify(file)}, clock: systemClock, reload: () => undefined });
  `;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 15_000,
    encoding: 'utf8',
  });
  expect({ status: run.status, signal: run.signal, stderr: run.stderr }).toEqual({
    status: 0,
    signal: null,
    stderr: '',
  });
});
