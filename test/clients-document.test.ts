// The lines of docs/clients.md are pasted into shells that already hold a provider's keys: those must not win over the gateway's.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const text = readFileSync(path.resolve(import.meta.dirname, '../docs/clients.md'), 'utf8');

function settingOf(client: string): string {
  const line = text.split('\n').find((row) => row.startsWith(`| ${client} |`));
  return /`(.*)`/.exec(line ?? '')?.[1] ?? '';
}

it("Claude Code's line sends the gateway's key alone, in a shell that exports a key of the provider", () => {
  // A function in place of the program: what it was given of the environment.
  const script = `claude() { env; }; ${settingOf('Claude Code')}`;
  const env = { PATH: process.env['PATH'] ?? '', ANTHROPIC_API_KEY: 'a-key-of-the-provider' };
  const given = execFileSync('sh', ['-c', script], { env, encoding: 'utf8' }).split('\n');
  expect(given).toContain('ANTHROPIC_AUTH_TOKEN=KEY');
  expect(given).toContain('ANTHROPIC_BASE_URL=URL');
  expect(given).toContain('ANTHROPIC_API_KEY=');
});
