// New requests as they end: from the running gateways, else from the database, which is read every second.
import { listAllRequests, type RequestJson } from '../../../accounts/request-json.ts';
import { call, stream, type RunningGateway } from '../../../control/client.ts';
import type { StoreReader } from '../../../store/reader.ts';
import type { RequestQuery } from '../../../store/store.ts';
import type { Context } from '../../context.ts';
import { say } from '../../ui/lines.ts';
import { createStyle, printJsonLine, printLines, widthOf, zoneOf } from '../../ui/style.ts';

export interface RequestOptions {
  limit: number;
  errors?: boolean;
  account?: string;
  model?: string;
  conversation?: string;
  key?: string;
  provider?: string;
  endpoint?: string;
  label?: string;
  status?: { from: number; to: number };
  error?: string;
  since?: number;
  follow?: boolean;
  json?: boolean;
}

export function isWanted(
  request: RequestJson,
  { account, model, conversation, since, errors, status, ...named }: RequestOptions,
): boolean {
  const { model_asked: asked, provider, model: answered } = request;
  const isNamed = (['key', 'provider', 'endpoint', 'label', 'error'] as const).every(
    (name) => named[name] === undefined || request[name] === named[name],
  );
  return (
    isNamed &&
    (status === undefined || (request.status >= status.from && request.status <= status.to)) &&
    (account === undefined || request.account === account) &&
    (model === undefined || [asked, answered, `${provider ?? ''}/${answered ?? ''}`].includes(model)) &&
    (conversation === undefined || request.conversation?.includes(conversation) === true) &&
    (since === undefined || Date.parse(request.at) >= since) &&
    (errors !== true || request.error !== null) &&
    (errors === true || !request.refused || request.account !== null)
  );
}

/** What a gateway remembers of requests that the database does not hold. */
interface Recent {
  refused: RequestJson[];
  /** Ids. */
  under_way: string[];
}

/** Nothing, if the gateway is of an older version or ends. */
export async function readRecent(gateway: RunningGateway): Promise<Recent> {
  try {
    return (await call(gateway, 'GET', '/requests')) as Recent;
  } catch {
    return { refused: [], under_way: [] };
  }
}

interface Following {
  /** Shown first. */
  rows: readonly RequestJson[];
  query: RequestQuery;
  options: RequestOptions;
  gateways: readonly RunningGateway[];
  store: StoreReader;
}

/** Resolves at the first signal. */
export async function followRequests(following: Following, context: Context): Promise<void> {
  const { gateways, rows } = following;
  const ending = new AbortController();
  const forget = context.onSignal(() => ending.abort());
  // Nothing else does, between two looks at the database.
  const alive = setInterval(() => undefined, ALIVE_MS);
  try {
    const print = await createPrinter(following, context);
    print(rows);
    await Promise.all(gateways.map((gateway) => readStream(gateway, following, print, ending.signal)));
    if (gateways.length > 0 && !ending.signal.aborted)
      say(context.stderr, 'the gateway ended; new requests are read from the database');
    while (!ending.signal.aborted) {
      print(await newRows(following, context.clock.now()));
      await pause(context, ending.signal);
    }
  } finally {
    clearInterval(alive);
    forget();
  }
}

const ALIVE_MS = 60_000;

/** Prints each request once. */
async function createPrinter(
  { options }: Following,
  context: Context,
): Promise<(rows: readonly RequestJson[]) => void> {
  const { requestTable } = await import('../../ui/requests-view.ts');
  const { stdout, env, clock } = context;
  const style = await createStyle(stdout, env);
  const seen = new Seen();
  let bare = false;
  return (rows) => {
    const fresh = rows.filter(({ id, at }) => seen.add(id ?? at));
    if (options.json) for (const row of fresh) printJsonLine(context, row);
    else if (fresh.length > 0 || !bare) {
      printLines(
        stdout,
        requestTable(
          fresh,
          { width: widthOf(stdout), style, now: clock.now(), zone: zoneOf(context) },
          { bare },
        ),
      );
    }
    bare = true;
  };
}

const MOST_SEEN = 20_000;

/** The last ids that were shown. */
class Seen {
  #now = new Set<string>();
  #before = new Set<string>();

  /** False if the id is known. */
  add(id: string): boolean {
    if (this.#now.has(id) || this.#before.has(id)) return false;
    if (this.#now.size >= MOST_SEEN) {
      this.#before = this.#now;
      this.#now = new Set();
    }
    this.#now.add(id);
    return true;
  }
}

async function readStream(
  gateway: RunningGateway,
  { options }: Following,
  print: (rows: readonly RequestJson[]) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const event of stream(gateway, '/requests/new', signal)) {
    const { requests = [] } = event as { requests?: RequestJson[] };
    print(requests.filter((request) => isWanted(request, options)));
  }
}

const POLL_MS = 1000;
/** A row is written some time after its request ended, in another process after those of others. */
const LATE_MS = 10_000;
const MOST_ROWS = 1000;

async function newRows({ query, store }: Following, now: number): Promise<RequestJson[]> {
  const since = Math.max(query.since ?? 0, now - LATE_MS);
  const rows = await listAllRequests(store, { ...query, since, limit: MOST_ROWS });
  return rows.reverse().map(({ json }) => json);
}

function pause({ clock }: Context, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(POLL_MS, end);
    signal.addEventListener('abort', end);
  });
}
