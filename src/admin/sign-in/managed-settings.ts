// The settings of Claude Code that the owner gives to all who are signed in: of a file, else what a gateway needs that has no models of
// the vendor's own names. They never turn on what the client must ask its user about.
import { createHash } from 'node:crypto';
import { authenticate } from '../../accounts/access.ts';
import { readObjectFile } from '../../config/variables/secret-files.ts';
import type { SiteExchange } from '../../gateway/exchange.ts';
import { GatewayError } from '../../errors.ts';
import { LIST_KEY_HEADERS } from '../../protocols/shared/model-list.ts';
import { isKnownTag, safeHeaders } from '../reply.ts';
import type { SignInOptions } from './paths.ts';

/** What Claude Code asks for without settings: for prompts and for titles. */
const VENDOR_MODELS = ['claude-opus-4-7', 'claude-haiku-4-5-20251001'];

/** With a name of our own the client asks for no effort, unless it is told to. */
const DEFAULT_SETTINGS = {
  model: 'auto',
  env: { ANTHROPIC_DEFAULT_HAIKU_MODEL: 'auto', CLAUDE_CODE_ALWAYS_ENABLE_EFFORT: '1' },
};

/** Rejects with GatewayError: 401, 404, or 503. */
export async function sendManagedSettings(exchange: SiteExchange, parts: SignInOptions): Promise<void> {
  const { headers, sink } = exchange;
  const asked = { headers, endpoint: 'list' as const, keyHeaders: LIST_KEY_HEADERS };
  const key = await authenticate(asked, parts.store, parts.clock.now());
  const settings = await settingsFor(key.models, parts);
  if (settings === undefined)
    throw new GatewayError('not_found', 'this gateway has no settings for its clients');
  const text = sortedJson(settings);
  const digest = createHash('sha256').update(text).digest('hex');
  const checksum = `sha256:${digest}`;
  const tag = `"${checksum}"`;
  const own = [
    ...safeHeaders(),
    'content-type',
    'application/json',
    'cache-control',
    'private, no-cache',
    'etag',
    tag,
  ];
  if (isKnownTag(headers['if-none-match'], tag)) sink.send(304, own, '');
  else sink.send(200, own, `{"uuid":"${uuidOf(digest)}","checksum":"${checksum}","settings":${text}}`);
}

async function settingsFor(
  models: string[] | null,
  { current, routing, discovered, learn, log }: SignInOptions,
): Promise<unknown> {
  const { settings } = current.config.claude;
  if (settings !== null) {
    const read = readObjectFile(settings.file);
    if ('value' in read) return read.value;
    // The last ones that were right stay in force.
    log.error('the settings of Claude Code cannot be read', { file: settings.file, detail: read.fault });
    return settings.value;
  }
  await discovered;
  for (const name of VENDOR_MODELS) await learn(name);
  const isServed = VENDOR_MODELS.every((name) => routing.model(name, models) !== undefined);
  return isServed ? undefined : DEFAULT_SETTINGS;
}

/** Without white space, every object with its members sorted. */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${sortedJson(member)}`).join(',')}}`;
}

/** The same settings have the same ID: version 8 of RFC 9562. */
function uuidOf(digest: string): string {
  const hex = `${digest.slice(0, 12)}8${digest.slice(13, 16)}a${digest.slice(17, 32)}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
