// The URL of a PostgreSQL server, read as libpq does, and what it refuses.
import { chmodSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readUrl } from '../../src/store/postgres/url.ts';
import { temporaryFile } from './support.ts';

it.each([
  ['postgres://u:secret@h/d?sslmode=allow', 'sslmode is one of'],
  ['postgres://u:secret@h/d?ssl_mode=require', 'ssl_mode is not a parameter'],
  ['postgres://u:secret@h/d?sslmode=verify-ca&sslrootcert=/nowhere', 'cannot be read'],
  ['postgres://u:sec%ret@h/d', 'write %25'],
])('refuses %s with a message that holds no password', (url, message) => {
  expect(() => readUrl(url, {})).toThrow(message);
  expect(() => readUrl(url, {})).not.toThrow(/secret|sec%ret/);
});

it('reads a URL as libpq does; its location holds no password', () => {
  const env = { PGPASSWORD: 'of the environment', HOME: '/nowhere' };
  const { tls, ...server } = readUrl(
    'postgres://u%40x:p%2Fw@[::1]:6543/my%20db?sslmode=require&pgbouncer=true',
    env,
  );
  expect(server).toMatchObject({
    host: '::1',
    port: 6543,
    user: 'u@x',
    password: 'p/w',
    database: 'my db',
    pooled: true,
  });
  expect(server.location).toBe('postgres://u%40x@[::1]:6543/my%20db');
  expect(tls).toEqual({ rejectUnauthorized: false });
  expect(readUrl('postgresql://h/d?sslmode=disable', env)).toMatchObject({
    password: 'of the environment',
    tls: undefined,
  });
  expect(readUrl('postgres://u@/d?host=/run/postgresql', env)).toMatchObject({
    host: '/run/postgresql',
    tls: undefined,
  });
});

it('takes the password from the URL, else from PGPASSWORD, else from a password file of its own', () => {
  const file = temporaryFile('pgpass');
  writeFileSync(file, '# of the team\nother:*:*:*:no\nh:5432:d:u:of\\:the file\n*:*:*:*:any\n', {
    mode: 0o600,
  });
  const env = { PGPASSFILE: file, PGPASSWORD: 'of the environment', HOME: '/nowhere' };
  const inFile = { PGPASSFILE: file };
  expect(readUrl('postgres://u:own@h/d', env).password).toBe('own');
  expect(readUrl('postgres://u@h/d', env).password).toBe('of the environment');
  expect(readUrl('postgres://u@h/d', inFile).password).toBe('of:the file');
  expect(readUrl('postgres://u@h:1/d', inFile).password).toBe('any');
  writeFileSync(file, '\ufeffh:5432:d:u:behind a mark\n');
  expect(readUrl('postgres://u@h/d', inFile).password).toBe('behind a mark');
  chmodSync(file, 0o640);
  expect(readUrl('postgres://u@h/d', inFile).password).toBeUndefined();
});
