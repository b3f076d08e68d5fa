// The log beside its reader: one that stops reading costs records, which are counted, and nothing else.
import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { createLog } from '../src/log.ts';

/** A reader that takes nothing until it is told to. */
function stalled() {
  let text = '';
  let taken = (): void => undefined;
  let stopped = true;
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, callback) {
      text += chunk;
      if (stopped) taken = callback;
      else callback();
    },
  });
  return {
    stream,
    text: () => text,
    readAll() {
      stopped = false;
      taken();
    },
  };
}

function records(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

it('holds 1 MiB for a reader that stopped, drops what comes then, and says how much', () => {
  const reader = stalled();
  const log = createLog({ format: 'json', stream: reader.stream });
  const COUNT = 6000;
  for (let at = 0; at < COUNT; at += 1) log.info('a record', { at, model: 'x'.repeat(200) });
  log.flush();
  expect(reader.stream.writableLength).toBeLessThan(1.2 * 1024 * 1024);
  expect(reader.stream.writableLength).toBeGreaterThan(0.9 * 1024 * 1024);
  reader.readAll();
  log.info('after');
  log.flush();
  const seen = records(reader.text());
  const last = seen.at(-1);
  const lost = seen.at(-2);
  expect(last).toMatchObject({ msg: 'after' });
  expect(lost).toMatchObject({ level: 'warn', msg: 'log records were dropped: nobody read the log' });
  expect(seen.length - 2 + Number(lost?.records)).toBe(COUNT);
});

it('counts what was dropped at its last flush, too', () => {
  const reader = stalled();
  const log = createLog({ format: 'pretty', stream: reader.stream });
  for (let at = 0; at < 6000; at += 1) log.info('a record', { at, model: 'x'.repeat(200) });
  log.flush();
  reader.readAll();
  log.flush();
  expect(reader.text()).toMatch(/log records were dropped[^\n]*records=\d+\n$/);
});

it('cuts a name at 256 characters and a path at 512, however deep, and lists at their 50th', () => {
  const reader = stalled();
  const log = createLog({ format: 'json', stream: reader.stream });
  const long = 'ü'.repeat(100_000);
  log.info('answered', {
    model: long,
    path: long,
    dropped: Array.from({ length: 1000 }, () => long),
    nested: { [long]: long },
    status: 200,
  });
  log.flush();
  const [record] = records(reader.text());
  expect(record).toMatchObject({ model: `${'ü'.repeat(256)}…`, path: `${'ü'.repeat(512)}…`, status: 200 });
  const dropped = record?.dropped as string[];
  expect(dropped).toHaveLength(51);
  expect([dropped[0]?.length, dropped.at(-1)]).toEqual([257, '… and 950 more']);
  expect(reader.text().length).toBeLessThan(20_000);
});

it('never ends a name in half a character', () => {
  const reader = stalled();
  const log = createLog({ format: 'json', stream: reader.stream });
  log.info('answered', { model: `${'a'.repeat(255)}😀😀` });
  log.flush();
  expect(records(reader.text())[0]).toMatchObject({ model: `${'a'.repeat(255)}…` });
});
