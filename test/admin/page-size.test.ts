// The page as it is packed: small, whole, and without anything from elsewhere.
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readAssets } from '../../src/admin/assets.ts';

const MOST_BYTES = 200_000;

it('is less than 200 kB with gzip, all of its files together', async () => {
  const assets = [...(await readAssets()).values()];
  expect(assets.length).toBeGreaterThanOrEqual(3);
  const sizes = assets.map(({ body }) => gzipSync(body).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES);
});

it('names no file of another site, and needs no inline script or style', async () => {
  const assets = await readAssets();
  const document = assets.get('')?.body.toString() ?? '';
  const names = [...document.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name);
  const files = names.filter((name) => !name.startsWith('data:'));
  expect(files.length).toBe(2);
  for (const name of files) expect([name, assets.has(name)]).toEqual([name, true]);
  expect(document).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/);
  const styles = [...assets].filter(([name]) => name.endsWith('.css')).map(([, { body }]) => body.toString());
  expect(styles.join('')).not.toMatch(/url\(|@import/);
});
