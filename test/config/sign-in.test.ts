// `sign_in` and `claude` in the file: where a sign-in may be on, and what is said where it may not.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-file.ts';
import { temporaryDirectory } from '../cli/harness.ts';

function load(text: string, files: Record<string, string> = {}, hosts?: string[]) {
  const folder = temporaryDirectory();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const config = join(folder, 'gateway.yaml');
  writeFileSync(config, `providers: { sim: }\n${text}\n`);
  return loadConfig({ flags: { config, ...(hosts && { hosts }) }, env: {}, cwd: folder });
}

function faults(...given: Parameters<typeof load>): string {
  try {
    load(...given);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.join('\n');
    throw error;
  }
  throw new Error('there is no fault');
}

it('is off unless the file turns it on', () => {
  expect(load('').signIn).toBeNull();
  expect(load('sign_in: off').signIn).toBeNull();
  expect(load('sign_in: on').signIn).toEqual({ url: null, autoApprove: false });
  expect(load('sign_in: { auto_approve: local }').signIn).toEqual({ url: null, autoApprove: true });
});

it('needs a listener on loopback, or the URL of a proxy with TLS', () => {
  const open = 'listen: { hosts: [127.0.0.1, 192.168.0.7] }';
  expect(faults(`${open}\nsign_in: on`)).toMatch(
    /gateway.yaml:3 sign_in: is on, but 192\.168\.0\.7 is not loopback/,
  );
  expect(faults('sign_in: on', {}, ['0.0.0.0'])).toContain('{ url: https://… }');
  expect(load(`${open}\nsign_in: { url: "https://gw.example.com" }`).signIn?.url).toBe(
    'https://gw.example.com',
  );
});

it('accepts requests by the name of its URL', () => {
  const { listen } = load(
    'sign_in: { url: "https://gw.example.com:8443/" }\nlisten: { names: [other.example] }',
  );
  expect(listen.names).toEqual(['other.example', 'gw.example.com']);
});

it.each([
  ['sign_in: maybe', 'is neither on nor off'],
  ['sign_in: { url: "http://gw.example.com" }', 'is not the address of a proxy with TLS'],
  ['sign_in: { url: "https://gw.example.com/path" }', 'without a path'],
  ['sign_in: { url: "https://gw.example.com\\r\\nx: y" }', 'is not the address of a proxy with TLS'],
  ['sign_in: { auto_approve: all }', 'write local'],
  ['sign_in: { auto: local }', 'did you mean auto_approve?'],
])('says what is wrong with %s', (text, message) => {
  expect(faults(text)).toContain(message);
});

it('counts work of signed-in clients only where the file says so', () => {
  expect(load('').claude).toEqual({ settings: null, telemetry: false });
  expect(load('claude: { telemetry: off }').claude.telemetry).toBe(false);
  expect(load('claude: { telemetry: on }').claude).toEqual({ settings: null, telemetry: true });
  expect(faults('claude: { telemetry: yes please }')).toContain('claude.telemetry');
});

it('takes a file of settings that holds a JSON object, and names any other', () => {
  const { settings } = load('claude: { settings: s.json }', { 's.json': '{"model":"auto"}' }).claude;
  expect(settings).toMatchObject({ value: { model: 'auto' } });
  expect(faults('claude: { settings: s.json }')).toContain('claude.settings: names a file that');
  expect(faults('claude: { settings: s.json }', { 's.json': '[1]' })).toContain('holds no JSON object');
  expect(faults('claude: { settings: s.json }', { 's.json': '{"secret' })).not.toContain('secret');
});
