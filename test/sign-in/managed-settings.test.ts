// What signed-in Claude Codes are told: the owner's file, or what a gateway without the vendor's models needs.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';

const EMPTY = `"sha256:${createHash('sha256').update('{}').digest('hex')}"`;

function settingsFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-settings-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'claude-settings.json');
  writeFileSync(file, text);
  return file;
}

function ask({ url, key }: TestGateway, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/managed/settings`, { headers: { authorization: `Bearer ${key}`, ...headers } });
}

it('is the file of the owner, with its checksum as ETag, and 304 for who has it', async () => {
  const file = settingsFile('{ "model": "auto", "env": { "B": "2", "A": "1" } }');
  const gw = await gateway({ config: { claude: { settings: file } } });
  const answer = await ask(gw, { 'if-none-match': EMPTY });
  expect(answer.status).toBe(200);
  const body = (await answer.json()) as { uuid: string; checksum: string; settings: unknown };
  const sorted = '{"env":{"A":"1","B":"2"},"model":"auto"}';
  expect(body.settings).toEqual(JSON.parse(sorted));
  expect(body.checksum).toBe(`sha256:${createHash('sha256').update(sorted).digest('hex')}`);
  expect(body.uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  const tag = answer.headers.get('etag') ?? '';
  expect(tag).toBe(`"${body.checksum}"`);
  const again = await ask(gw, { 'if-none-match': tag });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

it('follows the file; a broken one leaves the last right settings in force', async () => {
  const file = settingsFile('{"a":1}');
  const gw = await gateway({ config: { claude: { settings: file } } });
  writeFileSync(file, '{"a":2}');
  expect(await (await ask(gw)).json()).toMatchObject({ settings: { a: 2 } });
  writeFileSync(file, '{"a":');
  expect(await (await ask(gw)).json()).toMatchObject({ settings: { a: 1 } });
  expect(gw.log()).toContain('the settings of Claude Code cannot be read');
});

it.each([
  ['what is no JSON', '{"TOKEN": hunter2}'],
  ['another value', '["hunter2"]'],
  ['more than any settings have', `{"a":"${'hunter2'.repeat(200_000)}"}`],
])('keeps what the file holds out of the log: %s', async (_, text) => {
  const file = settingsFile('{"a":1}');
  const gw = await gateway({ config: { claude: { settings: file } } });
  writeFileSync(file, text);
  expect(await (await ask(gw)).json()).toMatchObject({ settings: { a: 1 } });
  expect(gw.log()).toContain('the settings of Claude Code cannot be read');
  expect(gw.log()).not.toContain('hunter2');
});

it('never waits for what is no file', async () => {
  const file = settingsFile('{"a":1}');
  const gw = await gateway({ config: { claude: { settings: file } } });
  rmSync(file);
  execFileSync('mkfifo', [file]);
  expect(await (await ask(gw)).json()).toMatchObject({ settings: { a: 1 } });
});

it('needs a key: without one, or with a revoked one, 401 and no retry', async () => {
  const gw = await gateway({ config: { sign_in: 'on' } });
  for (const key of ['', 'sk-gw-nothing']) {
    const refused = await ask({ ...gw, key });
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([401, 'false']);
  }
});

it('tells clients of a gateway without the vendor’s names to ask for auto, never with the hint variable', async () => {
  const { settings } = (await (await ask(await gateway({ config: { sign_in: 'on' } }))).json()) as {
    settings: unknown;
  };
  expect(settings).toEqual({
    model: 'auto',
    env: { ANTHROPIC_DEFAULT_HAIKU_MODEL: 'auto', CLAUDE_CODE_ALWAYS_ENABLE_EFFORT: '1' },
  });
  expect(JSON.stringify(settings)).not.toContain('HINT');
});

it('tells nothing where the vendor’s names resolve: 404, no policy', async () => {
  const models = ['claude-opus-4-7', 'claude-haiku-4-5-20251001'];
  const providers = { p: provider('http://127.0.0.1:9', 'messages', models) };
  const gw = await gateway({ config: { sign_in: 'on', providers } });
  expect((await ask(gw)).status).toBe(404);
});
