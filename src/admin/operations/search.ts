// The operation for the search field of the page: what a text may name, from the beginning of its id or a part of its name.
import { z } from 'zod';
import { findAnyRequests, type RequestJson } from '../../accounts/request-json.ts';
import { HOUR_MS } from '../../clock.ts';
import { readConversationId } from '../../conversations/names.ts';
import { readRequestId } from '../../ids.ts';
import { operation, type AdminParts, type Operation } from '../operation.ts';
import { SearchResults } from '../schemas.ts';

/** Of each kind. */
const MOST_FOUND = 6;
/** Characters of an id after its prefix: of fewer, too many ids begin with them. A request's first seven are its time. */
const LEAST_OF_REQUEST = 7;
const LEAST_OF_CONVERSATION = 5;
/** Clocks of several machines differ. */
const SLACK_MS = 10 * 60_000;
const LONGEST_REQUEST_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;
/** Rows of refusals of a minute. */
const MOST_REFUSED = 500;
/** From the arrival of a request to its refusal. */
const SLACK_OF_REFUSAL_MS = 1000;
/** Requests that a search looks at: SQLite reads them in some 50 ms, with pauses. */
const MOST_LOOKED = 200_000;

type Results = z.output<typeof SearchResults>['data'];
type Stored = Pick<AdminParts, 'store'>;
type Requests = Pick<AdminParts, 'store' | 'live'>;

export const searchOperations: readonly Operation[] = [
  operation({
    id: 'search',
    method: 'GET',
    path: '/search',
    tag: 'search',
    summary: `Requests and conversations whose ID begins with the text, accounts and models whose name contains it, ${MOST_FOUND} each`,
    query: z.strictObject({ q: z.string().trim().min(1).max(128) }),
    reply: SearchResults,
    async run({ query: { q } }, { store, live, routing }) {
      const [accounts, requests, conversations] = await Promise.all([
        store.listAccounts(),
        requestsLike(q, { store, live }),
        conversationsLike(q, { store }),
      ]);
      const data: Results = [
        ...requests,
        ...conversations,
        ...named(
          'account',
          q,
          accounts.map(({ name }) => name),
        ),
        ...named(
          'model',
          q,
          routing.models(null).map(({ name }) => name),
        ),
      ];
      return { data };
    },
  }),
];

async function requestsLike(text: string, { store, live }: Requests): Promise<Results> {
  const id = readRequestId(text);
  if (id === undefined || id.prefix.length < 'req_'.length + LEAST_OF_REQUEST) return [];
  const found = await findAnyRequests(store, {
    prefix: id.prefix,
    from: id.from - SLACK_MS,
    until: id.to + LONGEST_REQUEST_MS,
    limit: MOST_FOUND,
    most: MOST_LOOKED,
  });
  if (found.length > 0 || !id.isWhole) return found.flatMap(requestResult);
  const early = await live.find(id.prefix);
  if (early !== undefined) return requestResult(early.request);
  // Refusals that are alike within a minute are one row, with the ID of the first.
  const minute = id.from - (id.from % MINUTE_MS);
  const refused = await store.listRefusals({
    since: minute,
    before: { at: minute + MINUTE_MS, rowId: 0 },
    limit: MOST_REFUSED,
  });
  const sums = refused.filter(({ times, at }) => times > 1 && at <= id.to + SLACK_OF_REFUSAL_MS);
  return sums
    .slice(0, MOST_FOUND)
    .map(({ requestId: name, account, times }) => ({ kind: 'request', name, account, times }));
}

const requestResult = ({ id: name, account }: Pick<RequestJson, 'id' | 'account'>): Results =>
  name === null ? [] : [{ kind: 'request', name, account }];

async function conversationsLike(text: string, { store }: Stored): Promise<Results> {
  const prefix = readConversationId(text);
  if (prefix === undefined || prefix.length < 'conv_'.length + LEAST_OF_CONVERSATION) return [];
  const parts = await store.conversationParts({ prefix, limit: MOST_FOUND });
  const accounts = new Map(parts.map(({ conversation, account }) => [conversation, account]));
  return [...accounts].map(([name, account]) => ({ kind: 'conversation', name, account }));
}

/** Names that begin with the text stand first. */
function named(kind: 'account' | 'model', text: string, names: readonly string[]): Results {
  const wanted = text.toLowerCase();
  const places = names
    .map((name) => ({ name, at: name.toLowerCase().indexOf(wanted) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => Math.sign(a.at) - Math.sign(b.at) || a.name.localeCompare(b.name));
  return places.slice(0, MOST_FOUND).map(({ name }) => ({ kind, name, account: null }));
}
