// The files of the pages, as the build made them: read once, sent with a policy that lets no other script run.
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { SiteExchange } from '../gateway/exchange.ts';
import { isKnownTag, Problem, publicTag, safeHeaders } from './reply.ts';

interface Asset {
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
      const asset = { body, type, tag: publicTag(body), immutable: name.startsWith(HASHED) };
      return [[name === PAGE ? '' : name, asset]];
    }),
  );
  return new Map(files.flat());
}

/** Scripts and styles of the page's own files alone; no page can frame it. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Throws Problem. */
export function sendAsset({ method, headers, sink }: SiteExchange, asset: Asset | undefined): void {
  if (method !== 'GET' && method !== 'HEAD')
    throw new Problem(405, 'method_not_allowed', 'files are only read', { headers: ['allow', 'GET, HEAD'] });
  if (asset === undefined) throw new Problem(404, 'not_found', 'there is no such file');
  const caching = asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache';
  const own = [
    ...safeHeaders(PAGE_POLICY),
    'content-type',
    asset.type,
    'cache-control',
    caching,
    'etag',
    asset.tag,
  ];
  if (isKnownTag(headers['if-none-match'], asset.tag)) sink.send(304, own, '');
  else sink.send(200, own, asset.body);
}
