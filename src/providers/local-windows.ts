// The windows that local model servers run their models with. They often are far below what a model can take, and what does not fit
// is cut without an error, so a client must know them.
import { append, isObject } from '../canonical/json.ts';
import { cancelledAfter } from '../cancellation.ts';
import type { ProviderConfig } from '../config/config.ts';
import { LOCAL_CANDIDATES } from '../config/providers.ts';
import { isLoopback } from '../loopback.ts';
import type { ProviderClient } from './client.ts';
import { askJson, listHeaders } from './discover.ts';

/** The provider's name of a model -> tokens. */
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
  if (base === undefined || !isModelServer(provider, new URL(base))) return new Map();
  const { origin } = new URL(base);
  const deadline = cancelledAfter(timeoutMs);
  const headers = listHeaders(provider);
  const ask = (path: string, body?: object) =>
    askJson(client, { url: origin + path, headers, body }, deadline, timeoutMs);
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
  return new Map(found.filter((pair): pair is [string, number] => isWindow(pair)));
}

/** On this machine, by the name or the port of a known server: others would only wonder at the requests. */
function isModelServer({ name }: ProviderConfig, { hostname, port }: URL): boolean {
  return isLoopback(hostname) && (name in SERVERS || LOCAL_PORTS.has(port));
}

const LOCAL_PORTS: ReadonlySet<string> = new Set(
  LOCAL_CANDIDATES.flatMap(({ baseUrls }) => Object.values(baseUrls).map((url) => new URL(url).port)),
);

const isWindow = ([name, window]: [unknown, unknown]): boolean =>
  typeof name === 'string' && Number.isSafeInteger(window) && Number(window) > 0;
