// A tape may be anybody's: whatever stands in its folder, reading it ends soon, with an error that names the file, and nothing outside of the
// folder is read.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createShelf } from '../../src/tapes/match/shelf.ts';
import { filesOfTape } from '../../src/tapes/files.ts';
import { readTape } from '../../src/tapes/read.ts';
import { Shaper } from '../../src/tapes/repro/shape.ts';
import { home } from '../helpers/process.ts';

const TARGET = { provider: 'up', model: 'm', upstream: 'm', protocol: 'chat' };
const HEAD = { tape: 1, made: '', gateway: '', command: [], targets: [TARGET], asked: [] };
const ATTEMPT = {
  ...TARGET,
  ...{ url: 'http://x/v1/chat/completions', headers: {}, answer_headers: {}, at_ms: 0, status: 200 },
  ...{ first_byte_ms: 1, ms: 2, end: 'whole', failure: null },
};
const EXCHANGE = {
  ...{ request: 'req_1', at: '', protocol: 'chat', path: '/v1/chat/completions', model: 'm', stream: false },
  ...{ headers: {}, answer_headers: {}, status: 200, first_byte_ms: 1, ms: 2, end: 'whole', error: null },
  ...{ usage: null, dropped: [], changed: [], attempts: [ATTEMPT] },
};

/** A tape with these files in its first request, beside those that are right. */
function tapeWith(files: Readonly<Record<string, string>> = {}, head: unknown = HEAD): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'gateway-hostile-')), 'tape');
  onTestFinished(() => rmSync(join(folder, '..'), { recursive: true, force: true }));
  mkdirSync(join(folder, '0001'), { recursive: true });
  writeFileSync(join(folder, 'tape.json'), typeof head === 'string' ? head : JSON.stringify(head));
  const own = {
    'exchange.json': JSON.stringify(EXCHANGE),
    'provider-1-request.json': '{"model":"m","messages":[{"role":"user","content":"Hi"}]}',
    ...files,
  };
  for (const [name, text] of Object.entries(own)) writeFileSync(join(folder, '0001', name), text);
  return folder;
}

/** All that is done with a tape that is replayed. */
function use(folder: string): void {
  const tape = readTape(folder);
  createShelf(tape);
  for (const exchange of tape.exchanges) for (const side of [exchange, ...exchange.attempts]) side.answer();
}

const DEEP = '['.repeat(200_000);

it.each([
  ['no JSON', { 'exchange.json': '{' }, /0001.exchange\.json: is no JSON/],
  ['wrong types', { 'exchange.json': JSON.stringify({ ...EXCHANGE, ms: 'soon' }) }, /exchange\.json: ms /],
  ['a list in place of an object', { 'exchange.json': '[]' }, /exchange\.json: /],
  ['deep JSON', { 'exchange.json': DEEP }, /exchange\.json: is no JSON/],
  ['NULs', { 'exchange.json': '\0'.repeat(10_000) }, /exchange\.json: is no JSON/],
  [
    'a line of a stream that is none',
    { 'provider-1-answer.jsonl': '{"ms":1,"data":{}}\n{"ms":"x"}\n' },
    /provider-1-answer\.jsonl:2: is no line of a stream/,
  ],
  [
    'a deep line of a stream',
    { 'provider-1-answer.jsonl': `{"ms":1,"data":${DEEP}${DEEP.replaceAll('[', ']')}}\n` },
    /jsonl:1: is no line of a stream/,
  ],
  ['NULs in a stream', { 'provider-1-answer.jsonl': '\0\0\0\n' }, /jsonl:1: is no line of a stream/],
])('names the file of %s', (_, files, message) => {
  expect(() => use(tapeWith(files))).toThrow(message);
});

it.each([
  ['another version', { ...HEAD, tape: 2 }, /tape\.json: tape .*no tape of this version/],
  ['wrong types', { ...HEAD, targets: 'all' }, /tape\.json: targets /],
  [
    'a protocol that there is not',
    { ...HEAD, targets: [{ ...TARGET, protocol: 'gopher' }] },
    /targets\.0\.protocol/,
  ],
  ['deep JSON', DEEP, /tape\.json: is no JSON/],
  ['a rule that there is not', { ...HEAD, ignore: ['everything'] }, /ignore: "everything" is no rule/],
])('names what is wrong with its head: %s', (_, head, message) => {
  expect(() => use(tapeWith({}, head))).toThrow(message);
});

it('reads nothing outside of its folder: no linked folder, no linked file, no name with dots', () => {
  const outside = tapeWith({ 'client-request.json': '{"private":true}' });
  const folder = tapeWith();
  symlinkSync(join(outside, '0001'), join(folder, '0002'));
  mkdirSync(join(folder, '0003'));
  symlinkSync(join(outside, '0001', 'exchange.json'), join(folder, '0003', 'exchange.json'));
  writeFileSync(join(folder, '0001', 'x'), '');
  expect(() => readTape(folder)).toThrow(/0003.exchange\.json can't be read/);
  rmSync(join(folder, '0003'), { recursive: true });
  expect(readTape(folder).exchanges.map(({ number }) => number)).toEqual(['0001']);
  expect([...filesOfTape(folder)].some(({ text }) => text.includes('private'))).toBe(false);
});

it('takes deep bodies as texts, and makes shapes of them', () => {
  const folder = tapeWith({ 'provider-1-request.json': DEEP, 'client-request.json': DEEP });
  use(folder);
  const [exchange] = readTape(folder).exchanges;
  expect(new Shaper(new Set()).json(exchange?.request() ?? '')).toContain('[[[');
});

it('reads 100,000 lines, and one of 32 MB, in a time that grows as they do', () => {
  const lines = (count: number): string =>
    tapeWith({ 'provider-1-answer.jsonl': '{"ms":1,"data":{"a":"b"}}\n'.repeat(count) });
  const timed = (folder: string): number => {
    const start = process.cpuUsage();
    use(folder);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  timed(lines(1000));
  const [few, many] = [timed(lines(20_000)), timed(lines(100_000))];
  expect(many).toBeLessThan(12 * few + 100_000);
  use(tapeWith({ 'provider-1-answer.jsonl': `{"ms":1,"data":"${'x'.repeat(32 * 1024 * 1024)}"}\n` }));
});

it('refuses a file that is larger than any of a tape, without reading it', () => {
  const folder = tapeWith();
  truncateSync(join(folder, '0001', 'exchange.json'), 200 * 1024 * 1024);
  expect(() => readTape(folder)).toThrow(/exchange\.json is no file of a tape/);
});

it('names the member `tape` of a provider that gives no folder', async () => {
  const shell = home();
  writeFileSync(join(shell.directory, 'gateway.yaml'), 'providers:\n  t: { tape: }\n');
  const { code, stderr } = await shell.command('config', 'check');
  expect(code).toBe(1);
  expect(stderr.replace(/\s+/g, ' ')).toContain(
    'gateway.yaml:2 providers.t.tape: names no folder; write its path',
  );
  expect(stderr).not.toContain('well-known');
});
