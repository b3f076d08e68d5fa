// Usage rows as single requests: the last ones, or one by its id. Both follow the index of times, the only one, whose entries also
// have the row's id. What no index answers looks at rows one by one, so the caller says how many.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Statement } from 'better-sqlite3';
import type {
  RequestIdQuery,
  RequestPlace,
  RequestQuery,
  RequestWindow,
  StoredRequest,
} from '../../store.ts';
import {
  conversationParts,
  type ConversationPart,
  type ConversationQuery,
} from '../../conversation-parts.ts';
import { REQUEST } from '../../usage-columns.ts';
import type { Connection } from '../connection.ts';
import type { Db } from '../driver.ts';

/** Rows that a search by id looks at in one turn of the event loop: a few milliseconds. */
const FIND_STEP = 10_000;

/** Flags are numbers. */
type RequestRow = {
  [Member in keyof StoredRequest]: StoredRequest[Member] extends boolean ? number : StoredRequest[Member];
};

const SELECT = `${REQUEST} FROM usage`;

const FILTERS = {
  since: 'at >= @since',
  before: 'at <= @beforeAt AND (at, id) < (@beforeAt, @beforeId)',
  downTo: 'at >= @downToAt AND (at, id) >= (@downToAt, @downToId)',
  accountId: 'account_id = @accountId',
  keyId: 'key_id = @keyId',
  provider: 'provider = @provider',
  endpoint: 'endpoint = @endpoint',
  label: 'label = @label',
  status: 'status BETWEEN @statusFrom AND @statusTo',
  error: 'error = @error',
  model: "(model_asked = @model OR model = @model OR provider || '/' || model = @model)",
  errors: 'error IS NOT NULL',
  conversation: 'conversation = @conversation',
  missed: 'cache_miss IS NOT NULL',
} as const satisfies Record<Exclude<keyof RequestQuery, 'limit'>, string>;

const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

function whereOf(query: Omit<RequestQuery, 'limit'>): string {
  const given = FILTER_NAMES.filter((name) => query[name] !== undefined && query[name] !== false);
  return given.length === 0 ? '' : `WHERE ${given.map((name) => FILTERS[name]).join(' AND ')}`;
}

/** The values that the filters name. */
function valuesOf(query: Omit<RequestQuery, 'limit'>): object {
  const { since, before, downTo, accountId, keyId, model, provider, endpoint, label } = query;
  const { status, error, conversation } = query;
  const values = {
    ...{
      since,
      beforeAt: before?.at,
      beforeId: before?.rowId,
      downToAt: downTo?.at,
      downToId: downTo?.rowId,
    },
    ...{ accountId, keyId, model, provider, endpoint, label, error, conversation },
    ...{ statusFrom: status?.from, statusTo: status?.to },
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Values of a statement, by the names that `add` gives them. */
export function namedValues() {
  const values: Record<string, string | number> = {};
  const add = (value: string | number): string => {
    const name = `value${Object.keys(values).length}`;
    values[name] = value;
    return `@${name}`;
  };
  return { values, add };
}

export function prepareRequests(db: Db) {
  const statements = new Map<string, Statement<[object]>>();
  const all = <Row>(sql: string, values: object): Row[] => {
    const statement = statements.get(sql) ?? db.prepare<[object]>(sql);
    statements.set(sql, statement);
    return statement.all(values) as Row[];
  };
  return {
    list: (query: RequestQuery): StoredRequest[] =>
      all<RequestRow>(`${SELECT} ${whereOf(query)} ORDER BY at DESC, id DESC LIMIT @limit`, {
        ...valuesOf(query),
        limit: query.limit,
      }).map(toRequest),
    passed: (window: RequestWindow, count: number): RequestPlace | undefined =>
      all<RequestPlace>(
        `SELECT at, id AS "rowId" FROM usage ${whereOf(window)} ORDER BY at DESC, id DESC LIMIT 1 OFFSET @skipped`,
        { ...valuesOf(window), skipped: count - 1 },
      )[0],
    find: prepareFind(db),
    conversations(query: ConversationQuery): ConversationPart[] {
      const { values, add } = namedValues();
      return all<ConversationPart>(conversationParts(query, add), values);
    },
  };
}

interface Span {
  from: number;
  fromId: number;
  until: number;
  /** The last row of the span; from `until` on: none. */
  untilId: number;
}

/** Finds in one span of rows, and says where a span of so many rows ends. */
function prepareFind(db: Db) {
  const after = 'at >= @from AND (at, id) > (@from, @fromId)';
  return {
    rows: db.prepare<[Span & { prefix: string; limit: number }], RequestRow>(
      `${SELECT} WHERE ${after} AND at <= @until AND (at, id) <= (@until, @untilId)
         AND substr(request_id, 1, length(@prefix)) = @prefix
       ORDER BY at, id LIMIT @limit`,
    ),
    end: db.prepare<[Omit<Span, 'untilId'> & { skipped: number }], { at: number; id: number }>(
      `SELECT at, id FROM usage WHERE ${after} AND at <= @until ORDER BY at, id LIMIT 1 OFFSET @skipped`,
    ),
  };
}

type RequestConnection = Connection<{ requests: ReturnType<typeof prepareRequests> }>;

/** Looks at the rows in steps. Other work of the event loop runs between two steps. */
export async function findRequests(
  connection: RequestConnection,
  { prefix, from, until, limit, most = Infinity }: RequestIdQuery,
): Promise<StoredRequest[]> {
  const found: StoredRequest[] = [];
  let start = { from, fromId: 0 };
  for (let looked = 0; looked < most; looked += FIND_STEP) {
    const end = await connection.run(({ requests: { find } }) => {
      const last = find.end.get({ ...start, until, skipped: FIND_STEP - 1 });
      const span = { ...start, until: last?.at ?? until, untilId: last?.id ?? Number.MAX_SAFE_INTEGER };
      found.push(...find.rows.all({ ...span, prefix, limit: limit - found.length }).map(toRequest));
      return last;
    });
    if (end === undefined || found.length >= limit) break;
    start = { from: end.at, fromId: end.id };
    await yieldToOthers();
  }
  return found;
}

function toRequest(row: RequestRow): StoredRequest {
  return { ...row, streamed: row.streamed === 1, settled: row.settled === 1 };
}
