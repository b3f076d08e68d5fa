// Operations for requests, and the window of time that lists and reports have.
import { z } from 'zod';
import {
  findAnyRequests,
  listAllRequests,
  statusRange,
  type ListedRequest,
} from '../../accounts/request-json.ts';
import { HOUR_MS } from '../../clock.ts';
import { readRequestId } from '../../ids.ts';
import { parseDuration } from '../../config/schema/scalars.ts';
import type { FoundRequest } from '../../observe/under-way.ts';
import type { RequestPlace } from '../../store/store.ts';
import { operation, type AdminParts, type Operation } from '../operation.ts';
import { encodeCursor, pageOfRows, type Order } from './views/cursor.ts';
import { count, decodeCursor } from './paging.ts';
import { Problem } from '../reply.ts';
import { anyName, page, PAGE, Request } from '../schemas.ts';
import { RequestUnderWay } from './views/schemas.ts';
import { unknownAccount } from './accounts.ts';

/** Tolerance, because clocks of several machines differ. */
const SLACK_MS = 10 * 60_000;
const LONGEST_REQUEST_MS = 24 * HOUR_MS;
const DEFAULT_WINDOW_MS = 24 * HOUR_MS;

/** Requests that one page of a filtered list looks at: SQLite reads them in some 10 ms. */
const MOST_LOOKED = 50_000;
/** Requests that a search for an ID looks at. */
const MOST_SEARCHED = 1_000_000;

const requestPlace = z.tuple([count, count]);
const placeOf = ({ at, rowId }: RequestPlace): [number, number] => [at, rowId];
const BY_END: Order<ListedRequest, typeof requestPlace> = { list: 'requests', place: requestPlace, placeOf };

function readPlace(cursor: string | undefined): RequestPlace | undefined {
  const place = decodeCursor(BY_END, cursor);
  return place && { at: place[0], rowId: place[1] };
}

export const since = z.string().max(64).optional().meta({
  description: 'A duration (24h, 7d) before now, an ISO date or time, or 0: the beginning; default: 24h',
});

/** Throws Problem 400. */
export function readSince(text: string | undefined, now: number): number {
  if (text === undefined) return now - DEFAULT_WINDOW_MS;
  if (text === '0') return 0;
  const duration = parseDuration(text);
  const at = duration === undefined ? Date.parse(text) : now - duration;
  if (!Number.isNaN(at) && at <= now && at >= 0) return at;
  throw new Problem(
    400,
    'invalid_request',
    'the query: since: give a duration such as 24h, a past ISO date or time, or 0 for all',
  );
}

export const until = z
  .string()
  .max(64)
  .optional()
  .meta({ description: 'The end of the window, as `since` has its beginning; default: now' });

/** Throws Problem 400. */
export function readUntil(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const duration = parseDuration(text);
  const at = duration === undefined ? Date.parse(text) : now - duration;
  if (!Number.isNaN(at) && at >= 0) return at;
  throw new Problem(
    400,
    'invalid_request',
    'the query: until: give a duration such as 24h, or an ISO date or time',
  );
}

export const trafficOperations: readonly Operation[] = [
  operation({
    id: 'listRequests',
    method: 'GET',
    path: '/requests',
    tag: 'requests',
    summary: 'Requests that ended or were refused, the newest first; never their content',
    query: z.strictObject({
      ...PAGE,
      since,
      until,
      account: anyName.optional(),
      key: anyName.optional().meta({ description: 'The ID of a key' }),
      model: anyName.optional(),
      provider: anyName.optional(),
      endpoint: anyName.optional(),
      label: anyName.optional(),
      conversation: anyName.optional().meta({ description: 'The whole ID' }),
      status: z
        .string()
        .regex(/^[1-5](?:\d\d|xx)$/)
        .optional()
        .meta({ description: '429, or 4xx for all of its class' }),
      error: anyName.optional().meta({ description: 'A kind of error, as requests have it' }),
      errors: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'Only those that were not fully answered' }),
    }),
    reply: page(Request),
    problems: [404],
    async run({ query }, { store, clock }) {
      const { limit, account: name, key: keyId, model, provider, endpoint, label } = query;
      const { conversation, status, error, errors } = query;
      const account = name === undefined ? undefined : await store.findAccount(name);
      if (name !== undefined && account === undefined) throw unknownAccount();
      const now = clock.now();
      const end = readUntil(query.until, now);
      const window = {
        since: readSince(query.since, now),
        before: readPlace(query.cursor) ?? (end === undefined ? undefined : { at: end, rowId: 0 }),
      };
      // Without a filter, each row that is looked at is of the page.
      const filters = {
        ...{ accountId: account?.id, keyId, model, provider, endpoint, label, error, conversation },
        status: status === undefined ? undefined : statusRange(status),
        errors: errors === 'true' ? true : undefined,
      };
      const isFiltered = Object.values(filters).some((value) => value !== undefined);
      const lastLooked = isFiltered ? await store.passRequests(window, MOST_LOOKED) : undefined;
      const found = await listAllRequests(store, {
        ...window,
        downTo: lastLooked,
        ...filters,
        limit: limit + 1,
      });
      const { items, next } = pageOfRows(found, limit, BY_END);
      const rest = lastLooked && encodeCursor(BY_END, placeOf(lastLooked));
      return { data: items.map(({ json }) => json), next: next ?? rest ?? null };
    },
  }),
  operation({
    id: 'readRequest',
    method: 'GET',
    path: '/requests/{id}',
    tag: 'requests',
    summary: 'One request with its attempts, by its x-request-id; before its end, what is known so far',
    params: z.object({ id: anyName }),
    reply: z.union([Request, RequestUnderWay]),
    problems: [404],
    async run({ params }, { store, live }) {
      const id = readRequestId(params.id);
      // Before the database: a request that ends now is here until it is there.
      const early = id?.isWhole === true ? await live.find(id.prefix) : undefined;
      // The row of a refusal also counts those that are like it.
      if (early !== undefined && !isRefused(early)) return named(early, store);
      // The beginning of an ID stands for years.
      const [found] =
        id?.isWhole === true
          ? await findAnyRequests(store, {
              prefix: id.prefix,
              from: id.from - SLACK_MS,
              until: id.to + LONGEST_REQUEST_MS,
              limit: 1,
              most: MOST_SEARCHED,
            })
          : [];
      if (found !== undefined) return found;
      if (early !== undefined) return named(early, store);
      throw new Problem(404, 'unknown_request', UNKNOWN);
    },
  }),
];

const UNKNOWN =
  'no request with this ID is stored, or under way in this gateway; refusals that are alike within a minute are stored as one, with the ID of the first';

const isRefused = ({ request }: FoundRequest): boolean => 'refused' in request && request.refused;

/** With the name of now: the account may have been renamed since the request began. */
async function named({ accountId, request }: FoundRequest, store: AdminParts['store']) {
  const accounts = accountId === undefined ? [] : await store.listAccounts();
  return { ...request, account: accounts.find(({ id }) => id === accountId)?.name ?? null };
}
