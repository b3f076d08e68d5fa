// The files of the page, which the build writes to dist/admin. They are read once, so that no path of a request ever reaches the file
// system.
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { tagOf } from './reply.ts';

export interface Asset {
  body: Buffer;
  type: string;
  tag: string;
  /** Its name holds a hash of its content. */
  immutable: boolean;
}

/** By path below `/admin/`; the page itself is ''. */
export type Assets = ReadonlyMap<string, Asset>;

/** The same path relative to src/admin and to dist/cli. */
const FOLDER = new URL('../../dist/admin/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
};

/** What the build names by its content. */
const HASHED = 'assets/';
const PAGE = 'index.html';

/** Empty if the package has no page. Files of another type are left out. */
export async function readAssets(folder = FOLDER): Promise<Assets> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = await Promise.all(
    names.map(async (given): Promise<[string, Asset][]> => {
      const name = given.replaceAll('\\', '/');
      const type = TYPES[extname(name)];
      if (type === undefined) return [];
      const body = await readFile(new URL(name, folder));
      const asset = { body, type, tag: tagOf(body), immutable: name.startsWith(HASHED) };
      return [[name === PAGE ? '' : name, asset]];
    }),
  );
  return new Map(files.flat());
}
