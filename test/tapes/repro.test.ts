// The folder of a reproduction, of an answer that is a stream: as many frames at the same times, and nothing of the user's in them.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ExchangeHead, TapeHead } from '../../src/tapes/format.ts';
import { framesOf, textOf } from '../../src/tapes/frames.ts';
import { readTape, type TapedAnswer, type TapedExchange } from '../../src/tapes/read.ts';
import { writeRepro } from '../../src/tapes/repro/folder.ts';

const chunk = (delta: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-zq1', object: 'chat.completion.chunk', model: 'zq-private', choices: [{ index: 0, delta }] })}\n\n`;

const FRAMES = [
  chunk({ role: 'assistant', content: 'The zqsecret is' }),
  chunk({
    tool_calls: [{ index: 0, id: 'call_zq', function: { name: 'read', arguments: '{"zqpath":"/home/zq' } }],
  }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: 'ann","n":4711}' } }] }),
  ': zqcomment\n\n',
  'event: error\ndata: {"error":{"type":"server_error","message":"the file zqfile.ts was not found"}}\n\n',
  'data: zqtext that is no JSON\n\n',
  'data: [DONE]\n\n',
];

function streamed(): TapedAnswer {
  return {
    form: 'stream',
    frames: framesOf(FRAMES.map((text, at) => ({ ms: 10 * at, bytes: Buffer.from(text) }))),
  };
}

const HEAD: TapeHead = {
  tape: 1,
  made: '',
  gateway: '0.1.0',
  command: ['zq'],
  ignore: ['ids', 'text: zq*'],
  targets: [],
  asked: [],
};
const TARGET = { provider: 'zqhost', model: 'zq-private', upstream: 'zq-private', protocol: 'chat' as const };
const EXCHANGE: ExchangeHead = {
  ...{
    request: 'req_1',
    at: '2026-11-27T10:00:00.000Z',
    protocol: 'chat',
    path: '/v1/chat/completions',
    model: 'zqroute',
  },
  ...{ stream: true, status: 200, first_byte_ms: 1, ms: 70, end: 'broken', usage: { input: 3 } },
  headers: { 'user-agent': 'zqagent/1.0', 'content-type': 'application/json', 'x-gateway-label': 'zqlabel' },
  answer_headers: { 'content-type': 'text/event-stream', 'x-gateway-model': 'zq-private' },
  error: { kind: 'upstream', message: 'the provider zqhost failed: file zqfile not found' },
  dropped: ['metadata.zqfield'],
  changed: ['user: zqname is too long: its hash is sent'],
  attempts: [
    {
      ...TARGET,
      ...{
        url: 'https://zq.example/zqproject/v1/chat/completions?key=zq',
        headers: { 'x-zq-beta': 'zq' },
        answer_headers: {},
      },
      ...{ at_ms: 1, status: 200, first_byte_ms: 1, ms: 70, end: 'broken' },
      failure: { kind: 'failed', reason: 'truncated', message: 'zqhost broke off' },
    },
  ],
};

it('has the frames of a stream with their times, and nothing planted in any file', () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'gateway-repro-')), 'bug');
  onTestFinished(() => rmSync(join(folder, '..'), { recursive: true }));
  const side = {
    request: () => '{"model":"zqroute","messages":[{"role":"user","content":"zq"}]}',
    answer: streamed,
  };
  const [attempt] = EXCHANGE.attempts;
  const exchange: TapedExchange = {
    ...{ number: '0007', head: EXCHANGE, ...side },
    attempts: attempt === undefined ? [] : [{ head: attempt, ...side }],
  };
  writeRepro(folder, exchange, HEAD, { gateway: '0.1.0', made: '2026-11-27T10:00:00.000Z', id: 'req_1' });
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  for (const { parentPath, name } of files)
    expect(readFileSync(join(parentPath, name), 'utf8'), name).not.toMatch(/zq|4711/i);
  const answer = readTape(folder).exchanges[0]?.attempts[0]?.answer();
  if (answer?.form !== 'stream') throw new Error('the answer is no stream');
  expect(answer.frames.map(({ ms }) => ms)).toEqual(FRAMES.map((_, at) => 10 * at));
  const texts = answer.frames.map(textOf);
  expect(texts.map((text) => text.length)).toEqual(FRAMES.map((text) => text.length));
  expect(texts[4]).toContain('"type":"server_error","message":"the file xxxxxx.xx was not found"');
  expect(texts[6]).toBe('data: [DONE]\n\n');
  expect(JSON.parse(texts[1]?.slice('data: '.length) ?? '')).toMatchObject({
    choices: [{ delta: { tool_calls: [{ function: { name: 'read', arguments: '{"xxxxxx":"/xxxx/xx' } }] } }],
  });
});
