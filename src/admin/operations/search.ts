// The operation for the search field of the page: what a text may name, from the beginning of its id or a part of its name.
import { z } from 'zod';
import { findAnyRequests } from '../../accounts/request-json.ts';
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
/** Requests that a search looks at: SQLite reads them in some 50 ms, with pauses. */
const MOST_LOOKED = 200_000;

type Results = z.output<typeof SearchResults>['data'];
type Stored = Pick<AdminParts, 'store'>;

export const searchOperations: readonly Operation[] = [
  operation({
    id: 'search',
    method: 'GET',
    path: '/search',
    tag: 'search',
    summary: `Requests and conversations whose ID begins with the text, accounts and models whose name contains it, ${MOST_FOUND} each`,
    query: z.strictObject({ q: z.string().trim().min(1).max(128) }),
    reply: SearchResults,
    async run({ query: { q } }, { store, routing }) {
      const [accounts, requests, conversations] = await Promise.all([
        store.listAccounts(),
        requestsLike(q, { store }),
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

async function requestsLike(text: string, { store }: Stored): Promise<Results> {
  const id = readRequestId(text);
  if (id === undefined || id.prefix.length < 'req_'.length + LEAST_OF_REQUEST) return [];
  const found = await findAnyRequests(store, {
    prefix: id.prefix,
    from: id.from - SLACK_MS,
    until: id.to + LONGEST_REQUEST_MS,
    limit: MOST_FOUND,
    most: MOST_LOOKED,
  });
  return found.flatMap(({ id: name, account }) =>
    name === null ? [] : [{ kind: 'request', name, account }],
  );
}

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
