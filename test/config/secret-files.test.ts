// Secrets in files of their own: `${file:PATH}` in the configuration, and NAME_FILE beside a variable.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { reachOf } from '../../src/config/trust/reach.ts';
import { faultsOf, load, tempFolder, write } from './folder.ts';

const own = (key: string): string => `providers:\n  ollama: { api_key: '${key}' }\n  sim:\n`;

describe('${file:PATH}', () => {
  it.each(['sk-of-file', 'sk-of-file\n', 'sk-of-file\r\n', '\ufeffsk-of-file\n'])(
    'is the content of the file without the line break at its end: %j',
    (content) => {
      const file = write(tempFolder(), 'secret', content);
      expect(load(own(`\${file:${file}}`)).providers[0]?.apiKey).toBe('sk-of-file');
    },
  );

  it('is relative to the configuration file, and a part of a longer text', () => {
    const cwd = tempFolder();
    write(cwd, 'secrets/token', 'abc\n');
    const text = 'providers:\n  ollama: { headers: { x-token: "Bearer ${file: secrets/token }" } }\n';
    expect(load(text, { cwd }).providers[0]?.headers).toEqual({ 'x-token': 'Bearer abc' });
  });

  it('takes the default where the file is missing', () => {
    expect(load(own('${file:/nowhere/x:-other}')).providers[0]?.apiKey).toBe('other');
  });

  it.each([
    ['is missing', 'x', undefined, 'does not exist'],
    ['is empty', 'x', '\n', 'is empty'],
    ['is a folder', '.', undefined, 'is not a file'],
    ['is huge', 'x', 'k'.repeat(70_000), 'is larger than 65536 bytes'],
  ])('of a file that %s leaves the provider out, and says why', (_, name, content, why) => {
    const cwd = tempFolder();
    if (content !== undefined) write(cwd, name, content);
    const { warnings, providers } = load(own(`\${file:${name}}`), { cwd });
    expect(providers.map((provider) => provider.name)).toEqual(['sim']);
    expect(warnings).toContain(`provider ollama is left out: the file ${name} ${why}`);
  });

  it.skipIf(process.platform === 'win32')('never waits for a pipe that nobody writes', () => {
    const cwd = tempFolder();
    execFileSync('mkfifo', [path.join(cwd, 'pipe')]);
    expect(load(own('${file:pipe}'), { cwd }).warnings).toContain(
      'provider ollama is left out: the file pipe is not a file',
    );
  });

  it('outside of providers is a fault of that line', () => {
    expect(faultsOf('providers:\n  sim:\ndatabase: "${file:/nowhere/x}"\n')).toEqual([
      'gateway.yaml:3 database: has no value, since the file /nowhere/x does not exist; correct that, or write the value',
    ]);
  });

  it('is named before the consent to a file of a project', () => {
    const value = { providers: { openai: { api_key: '${file:~/.ssh/id_rsa}', headers: { x: '${TOKEN}' } } } };
    expect(reachOf(value)).toMatchObject({ variables: ['TOKEN'], files: ['~/.ssh/id_rsa'] });
  });
});

describe('NAME_FILE', () => {
  it('stands for a variable that is not set, in the file and for a known provider', () => {
    const file = write(tempFolder(), 'secret', 'sk-of-file\n');
    expect(load(own('${K}'), { env: { K_FILE: file } }).providers[0]?.apiKey).toBe('sk-of-file');
    const [found] = load(undefined, { env: { OPENAI_API_KEY_FILE: file } }).providers;
    expect(found).toMatchObject({ name: 'openai', apiKey: 'sk-of-file' });
  });

  it('gives way to the variable itself', () => {
    const file = write(tempFolder(), 'secret', 'sk-of-file\n');
    expect(load(own('${K}'), { env: { K: 'own', K_FILE: file } }).providers[0]?.apiKey).toBe('own');
  });

  it('of a file that is missing is the reason for which a provider is left out', () => {
    const env = { K_FILE: '/nowhere/x', OPENAI_API_KEY_FILE: '/nowhere/y' };
    expect(load(own('${K}'), { env }).warnings).toContain(
      'provider ollama is left out: K_FILE names a file that does not exist',
    );
    expect(load('providers: { openai: , sim: }', { env }).warnings).toContain(
      'provider openai is left out: OPENAI_API_KEY_FILE names a file that does not exist',
    );
  });

  it('may hold the database with its password, and no other setting', () => {
    const folder = tempFolder();
    const file = write(folder, 'url', 'postgres://me:secret@db/gateway\n');
    const text = 'providers:\n  sim:\n';
    expect(load(text, { env: { GATEWAY_DATABASE_FILE: file } }).database).toBe(
      'postgres://me:secret@db/gateway',
    );
    expect(load(text, { env: { GATEWAY_PORT_FILE: write(folder, 'port', '99') } }).listen.port).toBe(8787);
    expect(faultsOf(text, { env: { GATEWAY_DATABASE_FILE: '/nowhere/x' } })).toEqual([
      'GATEWAY_DATABASE_FILE names a file that does not exist; correct or unset it',
    ]);
  });
});
