// What the owner of a folder is told of its file before it is used: files that it reads, and doors that it opens.
import { expect, it } from 'vitest';
import { reachOf } from '../../src/config/trust/reach.ts';

it('a door without a key is named with its account', () => {
  expect(reachOf({ ollama: { account: 'editor' } }).keyless).toBe('editor');
  expect(reachOf({ providers: { ollama: null } }).keyless).toBeNull();
  expect(reachOf({ ollama: 'editor' }).keyless).toBeNull();
});

it('certificates, tapes and settings are among the files', () => {
  const providers = { a: { ca: './ca.pem' }, b: { tape: './tapes/one' } };
  expect(reachOf({ providers, claude: { settings: 'claude.json' } }).files).toEqual([
    './ca.pem',
    './tapes/one',
    'claude.json',
  ]);
});
