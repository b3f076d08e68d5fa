// What is taken out of a text before it is written to a tape, and what stays.
import { expect, it } from 'vitest';
import { redactFrames } from '../../src/tapes/redact/frames.ts';
import { createRedactor } from '../../src/tapes/redact/redactor.ts';
import { secretsOfEnvironment } from '../../src/tapes/redact/known.ts';
import { suspicionsIn } from '../../src/tapes/redact/suspicious.ts';
import { SECRET_FORMS } from '../../src/tapes/redact/forms.data.ts';
import { fasterThanLinear } from '../helpers/growth.ts';
import { IN_CONTEXT, SECRETS } from './secrets.ts';

const redactor = createRedactor([{ kind: 'key of up', text: 'opaque value +/of a provider' }]);

/** Each part of a secret that is longer than this is looked for. */
const PART = 12;

function expectGone(text: string, secret: string, what: string): void {
  for (const line of secret.split('\n').filter((each) => !each.startsWith('-----'))) {
    for (let at = 0; at + PART <= line.length; at += PART) {
      expect(text, what).not.toContain(line.slice(at, at + PART));
    }
  }
}

it.each(Object.entries(SECRETS))('takes out a secret by its form: %s', (kind, secret) => {
  for (const text of [
    secret,
    `It is ${secret}, keep it.`,
    `KEY=${secret}\nnext`,
    `"${secret}"`,
    `\`${secret}\``,
  ]) {
    expectGone(redactor.text(text), secret, kind);
  }
  const nested = JSON.stringify({ a: JSON.stringify({ command: `echo ${secret}` }), b: [secret] });
  const clean = redactor.text(nested);
  expectGone(clean, secret, kind);
  expect(() => JSON.parse((JSON.parse(clean) as { a: string }).a) as unknown).not.toThrow();
});

it.each(Object.entries(IN_CONTEXT))(
  'takes out a secret by what stands around it: %s',
  (kind, [secret, text]) => {
    expect(redactor.text(text), kind).not.toContain(secret);
    expect(redactor.text(JSON.stringify({ content: text })), kind).not.toContain(secret);
    expect(redactor.text(JSON.stringify({ arguments: JSON.stringify({ text }) })), kind).not.toContain(
      secret,
    );
  },
);

it('takes out a known secret also where JSON, a URL or base64 writes it', () => {
  const secret = 'opaque value +/of a provider';
  const forms = [
    secret,
    JSON.stringify({ secret }),
    `https://a.example/?q=${encodeURIComponent(secret)}`,
    ...['', 'u:', 'us:'].map((before) => Buffer.from(`${before}${secret}`).toString('base64')),
  ];
  for (const form of forms) expect(redactor.text(form), form).toContain('[secret: key of up]');
  // Some encoders escape what needs no escape.
  expect(redactor.text('{"a":"opaque value \\u002b\\/of a provider"}')).toBe('{"a":"[secret: key of up]"}');
});

it('knows the secrets of the environment by their names', () => {
  const env = {
    GITHUB_TOKEN: 'abc123def456',
    DB_PASSWORD: 'correcthorse',
    SSH_AUTH_SOCK: '/tmp/ssh-1/agent',
    PWD: '/home/ann/project',
    KEYBOARD: 'german-layout-1',
    MAX_TOKENS: '4096',
    API_KEY_FILE: '/run/secrets/key',
  };
  expect(secretsOfEnvironment(env).map(({ kind }) => kind)).toEqual(['GITHUB_TOKEN', 'DB_PASSWORD']);
});

it('takes out a secret that a model writes in several frames, and keeps the other frames to the byte', () => {
  const secret = SECRETS.github ?? '';
  const words = [
    'The token is ',
    secret.slice(0, 7),
    secret.slice(7, 20),
    `${secret.slice(20)}, `,
    'keep it.',
  ];
  const frames = words.map(
    (content) => `{"choices": [{"index":0,"delta":{"content":${JSON.stringify(content)}}}], "n":1.0}`,
  );
  const clean = redactFrames(frames, redactor);
  const text = clean.map((frame) => (JSON.parse(frame) as Chunk).choices[0].delta.content).join('');
  expect(text).toBe('The token is [secret: GitHub token], keep it.');
  expect(clean[0]).toBe(frames[0]);
  expect(clean[4]).toBe(frames[4]);
});

it('reads calls that a model writes at the same time apart', () => {
  const secret = SECRETS.npm ?? '';
  const half = secret.length / 2;
  const piece = (index: number, text: string) =>
    JSON.stringify({ choices: [{ delta: { tool_calls: [{ index, function: { arguments: text } }] } }] });
  const frames = [
    piece(0, `{"a":"${secret.slice(0, half)}`),
    piece(1, '{"b":"x y'),
    piece(0, `${secret.slice(half)}"}`),
    piece(1, ' z"}'),
  ];
  const clean = redactFrames(frames, redactor).join('\n');
  expectGone(clean, secret, 'npm');
  expect(clean).toContain('x y');
});

it('leaves code, ids and words that only speak of secrets as they are', () => {
  const texts = [
    'const token = await getToken(request);',
    'const apiKey = process.env.API_KEY;',
    '{"max_tokens":4096,"usage":{"input_tokens":12345678}}',
    '{"type":"object","properties":{"password":{"type":"string"}},"required":["password"]}',
    'A basic understanding of bearer tokens and token counts.',
    'git commit 3f9a1c7e5b2d804f6a9c1e3b7d5f2048a6c4e29b',
    'toolu_01A2b3C4d5E6f7G8h9J0k1L2 and call_abc123def456ghi789',
    'https://example.com/a?page=2&sort=key',
    'task-runner-with-a-long-name-2 and disk-usage-of-the-machine-1',
    'password: string; // at least 8 characters',
    'git@github.com:a/b.git and ssh://git@github.com/a/b.git',
  ];
  for (const text of texts) expect(redactor.text(text)).toBe(text);
});

it('takes time that grows with the text, whatever it says', { timeout: 120_000 }, () => {
  const marks = SECRET_FORMS.flatMap((form) => form.marks);
  const units = [
    ...new Set(marks),
    'eyJ-',
    '"\\"',
    '-----BEGIN PRIVATE KEY-----',
    'password=a',
    '://a:',
    'Bearer ',
    'a"password":"',
    '\\\\"',
  ];
  for (const unit of units) {
    const prepare = (size: number) => {
      const text = unit.repeat(Math.ceil(size / unit.length));
      return () => redactor.text(text);
    };
    expect(fasterThanLinear(prepare, 20_000, [1000, 10_000, 100_000]), unit).toBeUndefined();
  }
});

it('says what is left to look at, with its place and too little of it to use', () => {
  const text = 'one\nann.miller@example.org wrote\n/home/ann/notes\nZk9rT2wLq8Vx4Bn7Mc3Pd6Fs\n';
  expect(suspicionsIn(text)).toEqual([
    { kind: 'e-mail address', line: 2, sample: 'ann.mi… (22 characters)' },
    { kind: 'home folder', line: 3, sample: '/home/… (9 characters)' },
    { kind: 'random text', line: 4, sample: 'Zk9rT2… (24 characters)' },
  ]);
  expect(suspicionsIn('fix-the-login-of-admins toolu_01A2b3C4d5E6f7G8h9J0k1L2 [secret: npm token]')).toEqual(
    [],
  );
});

interface Chunk {
  choices: [{ delta: { content: string } }];
}
