// What a provider says about its models: their names (`GET /models`, which every protocol has), whether a local server runs, and
// the windows with which local servers run their models.
import { cancelledAfter, type Cancellation } from '../cancellation.ts';
import { append, isObject } from '../canonical/json.ts';
import type { ProviderConfig } from '../config/config.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import { authHeaders, outlines } from '../protocols/outlines.ts';
import { listIn, nextModels } from '../protocols/shared/model-list.ts';
import type { ProviderCall } from './exchange.ts';
import { readBody } from './reply-body.ts';
import type { ProviderClient } from './client.ts';
import { providerUrl } from './url.ts';
import { LOCAL_CANDIDATES } from '../config/providers.ts';
import { isLoopback } from '../loopback.ts';

const MAX_REPLY = 8 * 1024 * 1024;
const MAX_PAGES = 10;
/** More than any provider lists. Each name takes memory, and time whenever names are listed or compared. */
export const MOST_MODELS = 2000;
const LONGEST_NAME = 256;

export interface ModelList {
  /** Without repetitions, MOST_MODELS at most. */
  models: string[];
  /** The provider lists more: those are not kept. */
  more: boolean;
}

interface DiscoveredModels extends ModelList {
  provider: ProviderConfig;
}

/**
 * Local servers that answer within `timeoutMs` with at least one model, in the order of the candidates. No credential is sent. A server
 * without a model could answer nothing, and would only hide the built-in provider.
 */
export async function probeLocal(
  client: ProviderClient,
  candidates: readonly ProviderConfig[],
  options: { timeoutMs: number },
): Promise<DiscoveredModels[]> {
  const probes = candidates.map(async (candidate): Promise<DiscoveredModels[]> => {
    try {
      const list = await listModels(client, { ...candidate, apiKey: undefined, headers: {} }, options);
      return list.models.length === 0 ? [] : [{ provider: candidate, ...list }];
    } catch {
      return [];
    }
  });
  return (await Promise.all(probes)).flat();
}

/** The provider's names of its models. Rejects if it can't be reached, refuses, or answers something else than a list. */
export async function listModels(
  client: ProviderClient,
  provider: ProviderConfig,
  options: { timeoutMs: number },
): Promise<ModelList> {
  const [last = provider.apiKey, ...before] = [...(provider.apiKeys ?? [])].reverse();
  for (const apiKey of before.reverse()) {
    try {
      return await listWith(client, { ...provider, apiKey }, options);
    } catch {
      // The next key may be accepted.
    }
  }
  return listWith(client, { ...provider, apiKey: last }, options);
}

async function listWith(
  client: ProviderClient,
  provider: ProviderConfig,
  options: { timeoutMs: number },
): Promise<ModelList> {
  const name = firstProtocol(provider);
  const url = providerUrl(provider, { protocol: name, path: '/models' });
  const headers = listHeaders(provider);
  const names = new Set<string>();
  const deadline = cancelledAfter(options.timeoutMs);
  let query = outlines[name].firstModels;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const value = await askJson(
      client,
      { url: url + query, headers, network: provider.network },
      deadline,
      options.timeoutMs,
    );
    const list = listIn(value);
    if (list === undefined) throw new Error(`${provider.name} did not answer with a list of models`);
    const next = nextModels(value);
    if (!addNames(names, list)) return { models: [...names], more: true };
    if (next === undefined) return { models: [...names], more: false };
    query = next;
  }
  return { models: [...names], more: true };
}

/** False: there are more names than are kept. */
function addNames(names: Set<string>, list: readonly unknown[]): boolean {
  for (const entry of list) {
    if (!isObject(entry) || !isName(entry.id) || names.has(entry.id)) continue;
    if (names.size === MOST_MODELS) return false;
    names.add(entry.id);
  }
  return true;
}

function isName(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= LONGEST_NAME && !/\p{Cc}/u.test(id);
}

const firstProtocol = ({ protocols: [name = PROTOCOL_NAMES[0]] }: ProviderConfig): ProtocolName => name;

function listHeaders(provider: ProviderConfig): string[] {
  const name = firstProtocol(provider);
  const headers = [
    'accept',
    'application/json',
    'accept-encoding',
    'identity',
    'user-agent',
    'local-llm-gateway',
  ];
  headers.push(...outlines[name].requestHeaders, ...authHeaders(provider, name));
  for (const [header, value] of Object.entries(provider.headers)) headers.push(header, value);
  return headers;
}

/** The JSON that a provider answers; undefined if it is not JSON. With a `body`, by POST. Rejects as `listModels`. */
async function askJson(
  client: ProviderClient,
  {
    url,
    headers,
    body,
    network,
  }: Pick<ProviderCall, 'url' | 'headers' | 'network'> & { body?: object | undefined },
  cancellation: Cancellation,
  timeoutMs: number,
): Promise<unknown> {
  const timeout = { connect: timeoutMs, firstByte: timeoutMs, idle: timeoutMs, whole: timeoutMs };
  const call: ProviderCall =
    body === undefined
      ? { url, method: 'GET', headers, stream: false, timeout, network }
      : {
          url,
          method: 'POST',
          headers: [...headers, 'content-type', 'application/json'],
          body: Buffer.from(JSON.stringify(body)),
          stream: false,
          timeout,
          network,
        };
  const reply = await client.open(call, cancellation);
  const bytes = await readBody(reply.body, MAX_REPLY, 'the list of models is too large');
  if (reply.status !== 200) throw new Error(`the list of models was refused with status ${reply.status}`);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The windows with which local servers run their models: the provider's name of a model -> tokens. They often are far below what a model
 *  can take, and what does not fit is cut without an error, so a client must know them. */
export type Windows = ReadonlyMap<string, number>;

interface Server {
  get: (path: string) => Promise<unknown>;
  post: (path: string, body: object) => Promise<unknown>;
  names: readonly string[];
}

/** What one kind of server answers, as pairs. Servers of other kinds answer 404 or something else. */
type Read = (server: Server) => Promise<[unknown, unknown][]>;

const SERVERS: Readonly<Record<string, Read>> = {
  vllm: async ({ get }) => entries(await get('/v1/models'), 'data', 'id', 'max_model_len'),
  // A model that is not loaded has no window yet.
  lmstudio: async ({ get }) => entries(await get('/api/v0/models'), 'data', 'id', 'loaded_context_length'),
  llamacpp: async ({ get, names }) => {
    const props = await get('/props');
    const settings = isObject(props) ? props.default_generation_settings : undefined;
    const window = isObject(settings) ? settings.n_ctx : undefined;
    // It runs one model, whatever name a request has.
    return names.map((name) => [name, window]);
  },
  ollama: async ({ get, post, names }) => {
    const loaded = entries(await get('/api/ps'), 'models', 'name', 'context_length');
    const known = new Set(loaded.map(([name]) => name));
    const others = names.filter((name) => !known.has(name)).slice(0, MOST_SHOWN);
    const shown = others.map(async (model): Promise<[string, unknown]> => {
      const value = await post('/api/show', { model }).catch(() => undefined);
      const parameters = isObject(value) && typeof value.parameters === 'string' ? value.parameters : '';
      return [model, Number(/^num_ctx\s+(\d+)/m.exec(parameters)?.[1])];
    });
    return [...loaded, ...(await Promise.all(shown))];
  },
};

/** Ollama is asked for each model by itself. */
const MOST_SHOWN = 20;

function entries(value: unknown, list: string, name: string, window: string): [unknown, unknown][] {
  const items = isObject(value) && Array.isArray(value[list]) ? (value[list] as unknown[]) : [];
  return items.flatMap((item): [unknown, unknown][] => (isObject(item) ? [[item[name], item[window]]] : []));
}

/** Never rejects: of a server that does not answer, no window is known. */
export async function readWindows(
  client: ProviderClient,
  provider: ProviderConfig,
  names: readonly string[],
  { timeoutMs }: { timeoutMs: number },
): Promise<Windows> {
  const base = Object.values(provider.baseUrls)[0];
  if (base === undefined || !hasWindows(provider)) return new Map();
  const { origin } = new URL(base);
  const deadline = cancelledAfter(timeoutMs);
  const headers = listHeaders(provider);
  const ask = (path: string, body?: object) =>
    askJson(client, { url: origin + path, headers, body, network: provider.network }, deadline, timeoutMs);
  const found: [unknown, unknown][] = [];
  const server: Server = { get: (path) => ask(path), post: ask, names };
  await Promise.all(
    Object.values(SERVERS).map(async (read) => {
      try {
        append(found, await read(server));
      } catch {
        // Another kind of server.
      }
    }),
  );
  return new Map(found.filter((pair): pair is [string, number] => isWindow(pair)).slice(0, MOST_MODELS));
}

/** Whether it is a model server on this machine, by the name or the port of a known one: others would only wonder at the requests. */
export function hasWindows({ name, baseUrls }: ProviderConfig): boolean {
  const base = Object.values(baseUrls)[0];
  if (base === undefined) return false;
  const { hostname, port } = new URL(base);
  return isLoopback(hostname) && (name in SERVERS || LOCAL_PORTS.has(port));
}

const LOCAL_PORTS: ReadonlySet<string> = new Set(
  LOCAL_CANDIDATES.flatMap(({ baseUrls }) => Object.values(baseUrls).map((url) => new URL(url).port)),
);

const isWindow = ([name, window]: [unknown, unknown]): boolean =>
  typeof name === 'string' && Number.isSafeInteger(window) && Number(window) > 0;
