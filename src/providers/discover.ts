// Which models a provider has, and whether a local server runs: `GET /models`, which every protocol has.
import { cancelledAfter, type Cancellation } from '../cancellation.ts';
import { append, isObject } from '../canonical/json.ts';
import type { ProviderConfig } from '../config/config.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import { outlines } from '../protocols/outlines.ts';
import { listIn, nextModels } from '../protocols/shared/model-list.ts';
import { authHeaders } from './auth-headers.ts';
import type { ProviderClient } from './client.ts';
import { readBody, type ProviderCall } from './exchange.ts';

const MAX_REPLY = 8 * 1024 * 1024;
/** With a thousand models a page, more than any provider lists. */
const MAX_PAGES = 10;
const LONGEST_NAME = 256;

interface DiscoveredModels {
  provider: ProviderConfig;
  models: string[];
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
      const models = await listModels(client, { ...candidate, apiKey: undefined, headers: {} }, options);
      return models.length === 0 ? [] : [{ provider: candidate, models }];
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
): Promise<string[]> {
  const name = firstProtocol(provider);
  const url = `${provider.baseUrls[name] ?? ''}/models`;
  const headers = listHeaders(provider);
  const names: string[] = [];
  const deadline = cancelledAfter(options.timeoutMs);
  let query = outlines[name].firstModels;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const value = await askJson(client, { url: url + query, headers }, deadline, options.timeoutMs);
    const list = listIn(value);
    if (list === undefined) throw new Error(`${provider.name} did not answer with a list of models`);
    append(
      names,
      list.flatMap((entry) => (isObject(entry) && isName(entry.id) ? [entry.id] : [])),
    );
    const next = nextModels(value);
    if (next === undefined) break;
    query = next;
  }
  return [...new Set(names)];
}

function isName(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= LONGEST_NAME && !/\p{Cc}/u.test(id);
}

const firstProtocol = ({ protocols: [name = PROTOCOL_NAMES[0]] }: ProviderConfig): ProtocolName => name;

export function listHeaders(provider: ProviderConfig): string[] {
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
export async function askJson(
  client: ProviderClient,
  { url, headers, body }: { url: string; headers: string[]; body?: object | undefined },
  cancellation: Cancellation,
  timeoutMs: number,
): Promise<unknown> {
  const timeout = { connect: timeoutMs, firstByte: timeoutMs, idle: timeoutMs, whole: timeoutMs };
  const call: ProviderCall =
    body === undefined
      ? { url, method: 'GET', headers, stream: false, timeout }
      : {
          url,
          method: 'POST',
          headers: [...headers, 'content-type', 'application/json'],
          body: Buffer.from(JSON.stringify(body)),
          stream: false,
          timeout,
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
