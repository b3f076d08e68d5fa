// The log beside its reader: one that stops reading costs records, which are counted, and nothing else.
import { stripVTControlCharacters } from 'node:util';
import { displayWidth } from '../src/display-width.ts';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createLog } from '../src/log.ts';
import { withoutKeys } from '../src/ids.ts';

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
  expect(log.lost?.()).toBe(lost?.records);
});

it('counts what could not be written, and says so when it can be again', () => {
  const written: string[] = [];
  let isFull = true;
  const stream = {
    write(text: string, done?: () => void) {
      if (isFull) throw new Error('ENOSPC');
      written.push(text);
      done?.();
    },
  };
  const log = createLog({ format: 'json', stream });
  log.info('one');
  log.info('two');
  log.flush();
  expect(log.lost?.()).toBe(2);
  isFull = false;
  log.info('three');
  log.flush();
  log.flush();
  expect(records(written.join('')).map(({ msg, records: count }) => [msg, count])).toEqual([
    ['three', undefined],
    ['log records were lost: they could not be written', 2],
  ]);
  expect(log.lost?.()).toBe(2);
});

it('counts what a closed pipe did not take, without writing about it for ever', () => {
  let writes = 0;
  const stream = {
    write(_: string, done?: (error: Error) => void) {
      writes += 1;
      done?.(new Error('EPIPE'));
    },
  };
  const log = createLog({ format: 'json', stream });
  log.info('one');
  log.flush();
  log.flush();
  expect([writes, log.lost?.()]).toEqual([1, 1]);
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

it('leaves nothing of a key that stands across the end of a name or a path', () => {
  const key = `sk-gw-${'a1B2'.repeat(11)}`;
  for (let shown = 0; shown <= 20; shown += 1) {
    for (const [name, most] of [
      ['model', 256],
      ['path', 512],
      ['message', 2000],
    ] as const) {
      for (const written of [key, key.replaceAll('-', '%2d')]) {
        const reader = stalled();
        const log = createLog({ format: 'json', stream: reader.stream });
        const text = `${'x'.repeat(most - 7 - shown)}/${written}`;
        log.info(
          name === 'message' ? text : 'answered',
          name === 'message' ? {} : { [name]: text, dropped: [text] },
        );
        log.flush();
        expect(reader.text(), `${name} ${shown}`).not.toMatch(/gw(?:-|%2d)a/);
      }
    }
  }
});

it('never ends a name in half a character', () => {
  const reader = stalled();
  const log = createLog({ format: 'json', stream: reader.stream });
  log.info('answered', { model: `${'a'.repeat(255)}😀😀` });
  log.flush();
  expect(records(reader.text())[0]).toMatchObject({ model: `${'a'.repeat(255)}…` });
});

describe('a request in the log for people', () => {
  const DONE = {
    request: 'req_0123456789abcdef01234567',
    account: 'alice',
    key: 'key_8mVYcHq2Tn5b',
    endpoint: 'chat',
    model: 'auto',
    target: 'anthropic/claude-sonnet-5',
    stream: true,
    status: 200,
    input: 12_345,
    output: 678,
    first_byte_ms: 321,
    ms: 4567,
    upstream_id: 'req_of_the_provider',
  };

  function shownOf(fields: object, colors = false, columns?: number): string {
    let text = '';
    const stream = { columns, write: (more: string) => (text += more) };
    const log = createLog({ format: 'pretty', stream, colors });
    log.info('answered', { ...DONE, ...fields });
    log.flush();
    return text;
  }

  it('is one line: time, status, account, model and target, tokens, first byte, duration', () => {
    expect(shownOf({})).toMatch(
      /^\d\d:\d\d:\d\d 200 {2}alice {2}auto → anthropic\/claude-sonnet-5 {2}12\.3k → 678 tokens {2}321ms {2}4\.6s\n$/,
    );
    expect(shownOf({ model: 'a/b', target: 'a/b', input: undefined, first_byte_ms: undefined })).toMatch(
      /200 {2}alice {2}a\/b {2}\? → 678 tokens {2}- {2}4\.6s\n$/,
    );
    expect(shownOf({ status: 502, error: 'upstream' })).toMatch(/ 502 .* upstream\n$/);
    expect(shownOf({ target: undefined, status: 503, error: 'unavailable' })).toContain('auto → none');
    expect(shownOf({ worker: 2 })).toMatch(/ 4\.6s {2}worker=2\n$/);
  });

  it('that was refused is one line too, with its message', () => {
    let text = '';
    const log = createLog({ format: 'pretty', stream: { write: (more: string) => (text += more) } });
    const refused = { request: 'req_1', path: '/v1/x', status: 404, kind: 'not_found' };
    log.info('refused', { ...refused, message: 'unknown path '.repeat(20) });
    log.info('refused', { ...refused, message: 'unknown path '.repeat(20), worker: 2 });
    log.flush();
    const [first = '', second = ''] = text.split('\n');
    expect(first).toMatch(/^\d\d:\d\d:\d\d 404 {2}\/v1\/x {2}unknown path .*…$/);
    expect(second).toMatch(/ {2}unknown path .*… {2}worker=2$/);
    for (const line of [first, second]) expect(line.length).toBeLessThanOrEqual(100);
  });

  it.each([
    ['long names', { account: 'x'.repeat(128), model: 'm'.repeat(256), target: `p/${'m'.repeat(256)}` }],
    ['wide characters', { account: '日本語'.repeat(20), model: '日本語'.repeat(40), error: 'client_closed' }],
    [
      'large numbers',
      { input: 2_000_000_000, output: 1_999_999_999, ms: 86_400_000, first_byte_ms: 3_599_999, worker: 12 },
    ],
  ])('takes 100 columns at most: %s', (_, fields) => {
    const line = shownOf(fields).trimEnd();
    expect(line).not.toContain('\n');
    expect(displayWidth(line)).toBeLessThanOrEqual(100);
    expect(displayWidth(stripVTControlCharacters(shownOf(fields, true)).trimEnd())).toBeLessThanOrEqual(100);
  });

  it('shows whole names and messages on a terminal that is wider', () => {
    const target = `workstation/${'m'.repeat(60)}`;
    const account = 'The Research Group of Building 7';
    const line = shownOf({ account, target }, false, 160).trimEnd();
    expect(line).toContain(`${account}  auto → ${target}  12.3k → 678 tokens`);
    expect(displayWidth(line)).toBeLessThanOrEqual(160);
    const message = 'the API key is not valid: unknown, expired or revoked; see: gateway keys list --all';
    let text = '';
    const stream = { columns: 160, write: (more: string) => (text += more) };
    const log = createLog({ format: 'pretty', stream });
    log.info('refused', { path: '/v1/chat/completions', status: 401, message });
    log.flush();
    expect(text).toMatch(new RegExp(`401 {2}/v1/chat/completions {2}${message}\\n$`));
  });

  it('wraps between its fields on a terminal that is narrower', () => {
    for (const columns of [60, 80]) {
      let text = '';
      const log = createLog({
        format: 'pretty',
        stream: { columns, write: (more: string) => (text += more) },
      });
      log.info('answered', { ...DONE, account: 'x'.repeat(60) });
      log.info('refused', {
        path: `/v1/${'x'.repeat(60)}`,
        status: 404,
        message: 'unknown path '.repeat(20),
      });
      log.flush();
      for (const line of text.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
      expect(text).toMatch(/auto → anthropic\/claude-sonnet-5\s/);
      expect(text).toMatch(/12\.3k → 678 tokens\s+321ms\s+4\.6s\n/);
    }
  });
});

describe('any other record in the log for people', () => {
  const FAILED = {
    request: 'req_0123456789abcdef01234567',
    target: 'anthropic/claude-sonnet-5',
    attempt: 1,
    kind: 'provider_key',
    reason: undefined,
    status: 401,
    message: 'the key was refused by the provider, which says that it is not one of its own keys',
  };

  function shownOf(message: string, fields: object, columns?: number, colors = false): string {
    let text = '';
    const stream = { columns, write: (more: string) => (text += more) };
    const log = createLog({ format: 'pretty', stream, colors });
    log.warn(message, { ...fields });
    log.flush();
    return text;
  }

  it.each([
    ['a target that failed', 'a target failed', FAILED],
    ['housekeeping', 'housekeeping failed', { reason: `Error: ${'the disk is full, '.repeat(20)}` }],
    [
      'a warning in the message alone',
      'a provider is left out because its variable is not set. '.repeat(5),
      {},
    ],
    ['a name without spaces', 'a target failed', { target: `p/${'m'.repeat(250)}`, status: 500 }],
    ['wide characters', 'a target failed', { target: '日本語'.repeat(60) }],
    ['a list', 'fields were dropped', { dropped: Array.from({ length: 30 }, (_, at) => `field_${at}`) }],
  ])(
    'wraps at words at 60, 100 and 160 columns, 100 at most, and loses nothing: %s',
    (_, message, fields) => {
      const words = (text: string): string => text.replace(/\s/g, '');
      const whole = words(
        `${message}${Object.entries(fields)
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
          .join('')}`,
      );
      for (const columns of [60, 100, 160, undefined]) {
        const text = shownOf(message, fields, columns);
        for (const line of text.split('\n'))
          expect(displayWidth(line), line).toBeLessThanOrEqual(Math.min(columns ?? 100, 100));
        expect(words(text)).toContain(whole);
        expect(stripVTControlCharacters(shownOf(message, fields, columns, true)).slice(8)).toBe(
          text.slice(8),
        );
      }
    },
  );

  it('is one line where it fits, and continues below its message', () => {
    expect(shownOf('stopping', { signal: 'SIGTERM' })).toMatch(
      /^\d\d:\d\d:\d\d warn {2}stopping {2}signal=SIGTERM\n$/,
    );
    const lines = shownOf('a target failed', FAILED, 60).trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {15}\S/);
  });
});

it('finds a key whose letters are percent-encoded', () => {
  const secret = 'A1b2C3d4E5f6G7h8I9j0';
  for (const key of [`%73k-gw-${secret}`, `sk-%67%77%2D${secret}`, `sk-gw-%41${secret.slice(1)}`]) {
    expect(withoutKeys(`/v1/${key}`)).toBe('/v1/sk-gw-[redacted]');
  }
});
