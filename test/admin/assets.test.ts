// How browsers may store the files of the page: names with a hash for ever, the page itself only with a question.
import { expect, it } from 'vitest';
import { gateway } from '../helpers/gateway.ts';
import { call } from './support.ts';

const ON = { config: { admin: true } };

it('a file whose name holds its hash is stored for ever, the page is asked for again', async () => {
  const running = await gateway(ON);
  const page = await call(running, '/admin/');
  expect(page.headers.get('cache-control')).toBe('no-cache');
  const names = [...page.text.matchAll(/(?:src|href)="(?:\.\/)?(assets\/[^"]+)"/g)].map(([, name]) => name);
  expect(names).toHaveLength(2);
  for (const name of names) {
    expect(name).toMatch(/-[\w-]{8}\.(js|css)$/);
    const file = await call(running, `/admin/${name}`);
    expect(file.status).toBe(200);
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  }
});

it('is not sent again to who has it', async () => {
  const running = await gateway(ON);
  const page = await call(running, '/admin/');
  const tag = page.headers.get('etag') ?? '';
  expect(tag).toMatch(/^"[\w-]{27}"$/);
  const again = await call(running, '/admin/', { headers: { 'if-none-match': `W/"other", ${tag}` } });
  expect([again.status, again.text]).toEqual([304, '']);
  expect(again.headers.get('content-security-policy')).toContain("default-src 'none'");
  const other = await call(running, '/admin/', { headers: { 'if-none-match': '"other"' } });
  expect([other.status, other.text]).toEqual([200, page.text]);
});

it('gives no file of the disk, however its path is written', async () => {
  const running = await gateway(ON);
  for (const path of [
    '/admin/..%2f..%2fpackage.json',
    '/admin/assets/',
    '/admin/index.html',
    '/admin//etc/passwd',
  ])
    expect([path, (await call(running, path)).status]).toEqual([path, 404]);
});
