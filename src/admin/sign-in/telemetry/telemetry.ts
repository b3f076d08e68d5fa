// Telemetry of signed-in Claude Codes (OTLP over HTTP): taken from them, so that none of them logs errors, and not kept. Only the counts of
// their commits, pull requests and lines join the conversation, where the owner wants it.
import { authenticate, databaseAway } from '../../../accounts/access.ts';
import { stringOf } from '../../../canonical/json.ts';
import { conversationNamed } from '../../../conversations/identity.ts';
import { GatewayError } from '../../../errors.ts';
import type { SiteExchange } from '../../../gateway/exchange.ts';
import { LIST_KEY_HEADERS } from '../../../protocols/shared/model-list.ts';
import { MOST_WORK } from '../../../store/holds/work-sql.ts';
import { NO_WORK, type WorkRow } from '../../../store/holds/work.ts';
import { safeHeaders } from '../../reply.ts';
import { METRICS_PATH, type SignInOptions } from '../paths.ts';
import { pointsOfJson } from './json.ts';
import { Malformed, workKindOf, type Point } from './points.ts';
import { pointsOfProtobuf } from './protobuf.ts';

/** Bytes of a body, decompressed. */
const MOST_BODY = 4 * 1024 * 1024;
/** Rows that one body may write. A client reports of one session. */
const MOST_ROWS = 64;

const PROTOBUF = 'application/x-protobuf';

/** Rejects with GatewayError: 400, 401, 404, 413 or 503. */
export async function takeTelemetry(exchange: SiteExchange, parts: SignInOptions): Promise<void> {
  const { headers, path, method, sink } = exchange;
  if (method !== 'POST') throw unknown(path);
  const now = parts.clock.now();
  const asked = { headers, endpoint: 'list' as const, keyHeaders: LIST_KEY_HEADERS };
  const key = await authenticate(asked, parts.store, now);
  if (!key.native) throw unknown(path);
  const body = await exchange.readBytes(MOST_BODY);
  const isProtobuf = essenceOf(headers['content-type']) === PROTOBUF;
  if (path === METRICS_PATH && parts.current.config.claude.telemetry) {
    const rows = rowsOf(isProtobuf ? pointsOfProtobuf(body) : pointsOfJson(body), key.accountId);
    if (rows.length > 0) await count(parts, key.accountId, rows, now);
  }
  // An answer without members: no bytes in one form, an empty object in the other.
  const type = isProtobuf ? PROTOBUF : 'application/json';
  sink.send(200, [...safeHeaders(), 'content-type', type], isProtobuf ? '' : '{}');
}

function unknown(path: string): GatewayError {
  return new GatewayError(
    'not_found',
    `unknown path ${path}; this gateway takes telemetry of signed-in clients alone, by POST`,
  );
}

const essenceOf = (type: unknown): string => (stringOf(type).split(';')[0] ?? '').trim().toLowerCase();

async function count(
  { store }: SignInOptions,
  accountId: number,
  rows: readonly WorkRow[],
  now: number,
): Promise<void> {
  try {
    await store.countWork(accountId, rows, now);
  } catch (error) {
    throw databaseAway(error);
  }
}

/** Points of one conversation and series in one row. Throws GatewayError 400. */
function rowsOf(points: Iterable<Point>, accountId: number): WorkRow[] {
  const rows = new Map<string, WorkRow>();
  try {
    for (const point of points) {
      const kind = workKindOf(point);
      if (kind === undefined) continue;
      const { session, series, value } = point;
      const name = `${series} ${session}`;
      let row = rows.get(name);
      if (row === undefined) {
        if (rows.size === MOST_ROWS) continue;
        rows.set(name, (row = { ...NO_WORK, conversation: conversationNamed(accountId, session), series }));
      }
      row[kind] = series === '' ? Math.min(row[kind] + value, MOST_WORK) : Math.max(row[kind], value);
    }
  } catch (error) {
    if (error instanceof Malformed) throw new GatewayError('invalid_request', error.message);
    throw error;
  }
  return [...rows.values()];
}
