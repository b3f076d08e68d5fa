// What conversations cost, and which part of each: as `gateway conversations --json` prints it.
import { isoTime } from '../clock.ts';
import { readConversationId } from '../conversations/names.ts';
import type { ConversationPart, ConversationPlace } from '../store/conversation-parts.ts';
import type { Brake, Stopped } from '../store/holds/brakes.ts';
import type { StoreReader } from '../store/reader.ts';
import type { StoredRequest } from '../store/store.ts';
import type { Work } from '../store/holds/work.ts';
import { readDetail } from './request-json.ts';

interface Sums {
  requests: number;
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  /** null: no price is known. */
  cost_usd: number | null;
}

export interface ConversationJson extends Sums {
  id: string;
  account: string | null;
  /** The program. */
  client: string | null;
  label: string | null;
  started_at: string;
  last_at: string;
  /** Distinct agents beside the first one. */
  subagents: number;
  misses: number;
  misses_cost_usd: number | null;
  /** The brake that stopped it; null: none did, or it went on since. */
  stopped: Brake | null;
}

export interface ConversationsQuery {
  since: number;
  /** Not at this time itself. */
  until?: number | undefined;
  before?: ConversationPlace | undefined;
  accountId: number | undefined;
  label: string | undefined;
  limit: number;
}

/** Stopped conversations that are looked at, the last ones. */
const MOST_STOPS = 10_000;

type ListReader = Pick<StoreReader, 'conversationParts' | 'listStops'>;
export type ConversationReader = ListReader & Pick<StoreReader, 'listRequests' | 'workOf'>;

export interface ListedConversation extends ConversationPlace {
  json: ConversationJson;
}

/** Conversations with a request in the window, and those that were stopped in it without one, the latest first. */
export async function listConversations(
  query: ConversationsQuery,
  store: ListReader,
): Promise<ListedConversation[]> {
  const { accountId, label, limit } = query;
  const parts = await store.conversationParts(query);
  const stops = await store.listStops({ accountId, limit: MOST_STOPS });
  // A conversation whose requests were all refused has no label.
  const alone = label === undefined ? await stoppedAlone(stops, parts, query, store) : [];
  const stopOf = new Map(stops.map((stop) => [stop.conversation, stop]));
  const known = [...groupsOf(parts, ({ conversation }) => conversation)].map(([conversation, group]) => ({
    ...{ at: group[0]?.place ?? 0, conversation },
    json: conversationJson(group, stopOf.get(conversation)),
  }));
  return [...known, ...alone].sort((a, b) => (isBefore(a, b) ? 1 : -1)).slice(0, limit);
}

const isBefore = (a: ConversationPlace, b: ConversationPlace): boolean =>
  a.at < b.at || (a.at === b.at && a.conversation < b.conversation);

/** Those that were stopped in the window, and of which no request in it was admitted: they stand where the stop is. */
async function stoppedAlone(
  stops: readonly Stopped[],
  parts: readonly ConversationPart[],
  query: ConversationsQuery,
  store: ListReader,
): Promise<ListedConversation[]> {
  const { since, until = Infinity, before, accountId, limit } = query;
  const listed = new Set(parts.map(({ conversation }) => conversation));
  // Those that stand behind a full page are not of it.
  const end = listed.size < limit ? since : Math.min(...parts.map(({ place }) => place));
  const found = stops.filter(
    (stop) =>
      stop.at >= end &&
      stop.at < until &&
      !listed.has(stop.conversation) &&
      (before === undefined || isBefore(stop, before)),
  );
  if (found.length === 0) return [];
  const theirs = { ids: found.map(({ conversation }) => conversation), accountId, limit: found.length };
  // Their place is that of their last request in the window, on another page.
  const others = await store.conversationParts({ ...theirs, since, until: query.until });
  const isElsewhere = new Set(others.map(({ conversation }) => conversation));
  const groups = groupsOf(await store.conversationParts(theirs), ({ conversation }) => conversation);
  return found.flatMap((stop) => {
    const { at, conversation } = stop;
    const group = groups.get(conversation) ?? [];
    if (isElsewhere.has(conversation)) return [];
    return [
      { at, conversation, json: group.length === 0 ? refusedJson(stop) : conversationJson(group, stop) },
    ];
  });
}

/** Its requests, and the stop by a brake; one of them may be missing. */
export interface FoundConversation {
  id: string;
  parts: ConversationPart[];
  stop: Stopped | undefined;
}

/** Ids that are found with the beginning of one. */
const MOST_FOUND = 4;

/** Those whose id begins with the text. */
export async function findConversations(text: string, store: ListReader): Promise<FoundConversation[]> {
  const prefix = readConversationId(text.trim());
  if (prefix === undefined) return [];
  const query = { prefix, limit: MOST_FOUND };
  const parts = await store.conversationParts(query);
  const stops = await store.listStops(query);
  const ids = [...new Set([...parts, ...stops].map(({ conversation }) => conversation))];
  return ids.map((id) => ({
    id,
    parts: parts.filter(({ conversation }) => conversation === id),
    stop: stops.find(({ conversation }) => conversation === id),
  }));
}

/** Whose it is; 0: of an account that was removed. */
export function ownerOf({ parts, stop }: Pick<FoundConversation, 'parts' | 'stop'>): number {
  return parts[0]?.accountId ?? stop?.accountId ?? 0;
}

/** Requests of one conversation that are read one by one, the last ones. */
const MOST_ROWS = 10_000;

export async function readConversation(
  found: FoundConversation,
  store: Pick<ConversationReader, 'listRequests' | 'workOf'>,
): Promise<OneConversationJson> {
  const rows = await store.listRequests({ conversation: found.id, limit: MOST_ROWS });
  const work = await store.workOf(ownerOf(found), found.id);
  return oneConversationJson(found.parts, rows.reverse(), found.stop, work);
}

/** Of a conversation whose requests were all refused. */
function refusedJson({ conversation: id, account, at, brake }: Stopped): ConversationJson {
  const time = isoTime(at);
  return {
    ...{ id, account, client: null, label: null, started_at: time, last_at: time },
    ...sumOf([]),
    ...{ subagents: 0, misses: 0, misses_cost_usd: null, stopped: brake },
  };
}

function conversationJson(parts: readonly ConversationPart[], stop: Stopped | undefined): ConversationJson {
  const lastStartedAt = Math.max(...parts.map((part) => part.lastStartedAt));
  // What the last request says of itself; what it does not say, an earlier one may.
  const latest = [...parts].sort((a, b) => b.lastAt - a.lastAt);
  const said = (member: 'label' | 'client' | 'account'): string | null =>
    latest.find((part) => part[member] !== null)?.[member] ?? null;
  const times = parts.map(({ startedAt, lastAt }) => ({ startedAt, lastAt }));
  return {
    id: latest[0]?.conversation ?? '',
    account: said('account'),
    client: said('client'),
    label: said('label'),
    started_at: isoTime(Math.min(...times.map(({ startedAt }) => startedAt))),
    last_at: isoTime(Math.max(...times.map(({ lastAt }) => lastAt))),
    ...sumOf(parts),
    subagents: new Set(parts.flatMap(({ agent }) => agent ?? [])).size,
    misses: parts.reduce((sum, { misses }) => sum + misses, 0),
    misses_cost_usd: money(parts.map(({ missesCostUsd }) => missesCostUsd)),
    // A request that was admitted later shows that it goes on, as with a new prompt.
    stopped: stop !== undefined && stop.at >= lastStartedAt ? stop.brake : null,
  };
}

export interface OneConversationJson extends ConversationJson {
  agents: (Sums & { id: string | null; parent: string | null; type: string | null })[];
  classes: (Sums & { class: string | null })[];
  /** Ordered by their first request. */
  models: (Sums & { provider: string | null; model: string | null })[];
  /** The tasks of a person, in their order. */
  prompts: (Sums & { prompt: string | null; started_at: string })[];
  /** Runs of requests that one model answered, in turn. */
  turns: { provider: string | null; model: string | null; requests: number }[];
  compactions: string[];
  /** What the agent says that it did. */
  commits: number;
  pull_requests: number;
  lines_added: number;
  lines_removed: number;
  cache_misses: {
    request: string | null;
    at: string;
    cause: string;
    detail: string | null;
    tokens: number | null;
    cost_usd: number | null;
  }[];
  /** How long its tools took, where the agent says so, the slowest first. */
  tools: { name: string; calls: number; ms: number; slowest_ms: number }[];
}

/** `rows`: the requests of the conversation, the oldest first. */
function oneConversationJson(
  parts: readonly ConversationPart[],
  rows: readonly StoredRequest[],
  stop: Stopped | undefined,
  work: Work,
): OneConversationJson {
  return {
    ...(parts.length === 0 && stop !== undefined ? refusedJson(stop) : conversationJson(parts, stop)),
    agents: inOrder(parts, ({ agent }) => agent).map(([id, group]) => ({
      id,
      parent: first(group, 'parentAgent'),
      type: first(group, 'agentType'),
      ...sumOf(group),
    })),
    classes: inOrder(parts, (part) => part.class).map(([name, group]) => ({ class: name, ...sumOf(group) })),
    models: inOrder(parts, ({ provider, model }) => JSON.stringify([provider, model])).map(([, group]) => ({
      provider: group[0]?.provider ?? null,
      model: group[0]?.model ?? null,
      ...sumOf(group),
    })),
    prompts: inOrder(parts, ({ prompt }) => prompt).map(([prompt, group]) => ({
      prompt,
      started_at: isoTime(Math.min(...group.map(({ startedAt }) => startedAt))),
      ...sumOf(group),
    })),
    turns: turnsOf(rows),
    compactions: rows.filter((row) => row.class === 'compaction').map(({ at }) => isoTime(at)),
    commits: work.commits,
    pull_requests: work.pullRequests,
    lines_added: work.linesAdded,
    lines_removed: work.linesRemoved,
    cache_misses: rows.flatMap(missOf),
    tools: toolsOf(rows),
  };
}

function groupsOf<Key>(
  parts: readonly ConversationPart[],
  keyOf: (part: ConversationPart) => Key,
): Map<Key, ConversationPart[]> {
  const groups = new Map<Key, ConversationPart[]>();
  for (const part of parts) {
    const key = keyOf(part);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [part]);
    else group.push(part);
  }
  return groups;
}

/** Groups by their first request. */
function inOrder<Key>(
  parts: readonly ConversationPart[],
  keyOf: (part: ConversationPart) => Key,
): [Key, ConversationPart[]][] {
  const sorted = [...parts].sort((a, b) => a.startedAt - b.startedAt);
  return [...groupsOf(sorted, keyOf)];
}

function first(parts: readonly ConversationPart[], member: 'parentAgent' | 'agentType'): string | null {
  return parts.find((part) => part[member] !== null)?.[member] ?? null;
}

function sumOf(parts: readonly ConversationPart[]): Sums {
  const sum = (of: (part: ConversationPart) => number): number =>
    parts.reduce((total, part) => total + of(part), 0);
  return {
    requests: sum(({ requests }) => requests),
    input_tokens: sum(({ inputTokens }) => inputTokens),
    cache_read_tokens: sum(({ cacheReadTokens }) => cacheReadTokens),
    cache_write_tokens: sum(({ cacheWriteTokens }) => cacheWriteTokens),
    output_tokens: sum(({ outputTokens }) => outputTokens),
    cost_usd: money(parts.map(({ costUsd }) => costUsd)),
  };
}

/** null if none is known. */
function money(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + amount, 0);
}

function turnsOf(rows: readonly StoredRequest[]): OneConversationJson['turns'] {
  const turns: OneConversationJson['turns'] = [];
  for (const { provider, model } of rows) {
    const last = turns.at(-1);
    if (last?.provider === provider && last.model === model) last.requests += 1;
    else turns.push({ provider, model, requests: 1 });
  }
  return turns;
}

function missOf(row: StoredRequest): OneConversationJson['cache_misses'] {
  const { requestId, at, cacheMiss, cacheMissDetail, cacheMissTokens, cacheMissCostUsd } = row;
  if (cacheMiss === null) return [];
  return [
    {
      request: requestId,
      at: isoTime(at),
      cause: cacheMiss,
      detail: cacheMissDetail,
      tokens: cacheMissTokens,
      cost_usd: cacheMissCostUsd,
    },
  ];
}

function toolsOf(rows: readonly StoredRequest[]): OneConversationJson['tools'] {
  const tools = new Map<string, OneConversationJson['tools'][number]>();
  for (const { detail } of rows) {
    for (const { name, ms } of readDetail(detail).tools ?? []) {
      const tool = tools.get(name) ?? { name, calls: 0, ms: 0, slowest_ms: 0 };
      tools.set(name, tool);
      tool.calls += 1;
      tool.ms += ms;
      tool.slowest_ms = Math.max(tool.slowest_ms, ms);
    }
  }
  return [...tools.values()].sort((a, b) => b.slowest_ms - a.slowest_ms);
}
