// What answers beside the endpoints of protocols: signs of life, which need no key (for supervisors, for Prometheus, and for clients that
// check whether a server is there), and the names of models that a key may use.
import { isObject, type JsonObject } from '../canonical/json.ts';
import { authenticate, databaseAway } from '../accounts/access.ts';
import { hourlyGrant } from '../accounts/limits-report.ts';
import { limitJson } from '../accounts/limits-json.ts';
import { tierNamed } from '../accounts/terms.ts';
import { readUsage } from '../accounts/usage-report.ts';
import { HOUR_MS } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import { askingKey } from '../gateway/inbound/asking-key.ts';
import type { Exchange, GatewayDeps, HeaderList } from '../gateway/exchange.ts';
import { withoutKeys } from '../ids.ts';
import type { KnownModel, Told } from '../protocols/interface/endpoint.ts';
import type { ClientProtocol } from '../protocols/interface/protocol.ts';
import { parseJson } from '../protocols/json/values.ts';
import {
  encodeModel,
  encodeModelList,
  LIST_KEY_HEADERS,
  type ListedModel,
} from '../protocols/shared/model-list.ts';
import { faultOfModelName } from '../protocols/shared/client.ts';
import type { ModelEntry } from '../routing/catalog.ts';
import { serverToolsOf } from '../routing/abilities.ts';
import { shuttingDown } from '../gateway/in-flight-limit.ts';

const JSON_TYPE: HeaderList = ['content-type', 'application/json'];

export async function listModels(exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const key = await authenticate(
    { headers: exchange.headers, endpoint: 'list', keyHeaders: LIST_KEY_HEADERS },
    deps.store,
    deps.clock.now(),
  );
  await deps.discovered;
  const models = deps.routing.models(key.models).map(listed);
  const body = encodeModelList(models, new URLSearchParams(exchange.query));
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(body));
}

export async function showModel(exchange: Exchange, deps: GatewayDeps, id: string): Promise<void> {
  const key = await authenticate(
    { headers: exchange.headers, endpoint: 'list', keyHeaders: LIST_KEY_HEADERS },
    deps.store,
    deps.clock.now(),
  );
  await deps.learn(id);
  const entry = faultOfModelName(id) === undefined ? deps.routing.model(id, key.models) : undefined;
  if (entry === undefined) {
    const { message } = deps.routing.unknown(id, key.models);
    throw new GatewayError('model_not_found', message, { status: 404 });
  }
  exchange.sink.send(200, JSON_TYPE, withoutKeys(JSON.stringify(encodeModel(listed(entry)))));
}

const USAGE_WINDOW_MS = 24 * HOUR_MS;

interface Telling {
  protocol: ClientProtocol;
  endpoint: Told;
}

export async function tell(
  { protocol, endpoint }: Telling,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const key = await askingKey({ protocol, endpoint }, exchange, deps);
  const name = endpoint.modelIn?.(await objectIn(exchange));
  await deps.discovered;
  const models =
    name === undefined ? deps.routing.models(key.models) : [await modelOf(name, key.models, deps)];
  const body = endpoint.tell(models.map(known));
  exchange.sink.send(200, JSON_TYPE, withoutKeys(JSON.stringify(body)));
}

/** Characters of a body that names one model. */
const LONGEST_QUESTION = 65_536;

async function objectIn(exchange: Exchange): Promise<JsonObject> {
  const text = (await exchange.readBody()).toString();
  const value: unknown = text.length > LONGEST_QUESTION ? undefined : parsed(text);
  if (isObject(value)) return value;
  throw new GatewayError('invalid_request', 'the body must be a JSON object that names a model');
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

async function modelOf(
  name: string,
  allowed: readonly string[] | null,
  { learn, routing }: GatewayDeps,
): Promise<ModelEntry> {
  const meant = routing.meant(name);
  await learn(meant);
  const entry = routing.model(meant, allowed);
  if (entry !== undefined) return entry;
  throw routing.unknown(name, allowed);
}

function known(entry: ModelEntry): KnownModel {
  const { name, targets, embeddings, vision, tools, thinking, contextWindow, maxOutput } = entry;
  const { completes } = entry;
  const owner = targets[0]?.provider.name ?? 'gateway';
  return { name, owner, embeddings, vision, tools, thinking, completes, contextWindow, maxOutput };
}

/** The limits of the key's account, and its usage of the last day: of no other. */
export async function showUsage(exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const { store, clock } = deps;
  const now = clock.now();
  const asked = { headers: exchange.headers, endpoint: 'list' as const, keyHeaders: LIST_KEY_HEADERS };
  const key = await authenticate(asked, store, now);
  const tier = tierNamed(key.tier, deps.current.config.tiers);
  const since = now - USAGE_WINDOW_MS;
  try {
    const [standings, describe] = await Promise.all([
      store.standings(key.accountId, tier.limits, now),
      readUsage({ since, now, by: undefined, only: key.accountId }, store),
    ]);
    const account = { id: key.accountId, name: key.account, tier: key.tier };
    const body = {
      limits: standings.map(limitJson),
      usage: describe(account, tier.perHour, hourlyGrant(standings)),
    };
    exchange.sink.send(200, JSON_TYPE, withoutKeys(JSON.stringify(body)));
  } catch (error) {
    throw databaseAway(error);
  }
}

function listed({ name, targets, embeddings, contextWindow, maxOutput }: ModelEntry): ListedModel {
  const [first] = targets;
  return {
    name,
    owner: first?.provider.name ?? 'gateway',
    targets: targets.map(({ key }) => key),
    serverTools: first === undefined ? [] : serverToolsOf(first),
    embeddings,
    contextWindow,
    maxOutput,
  };
}

export async function health({ sink }: Exchange, deps: GatewayDeps): Promise<void> {
  if (deps.inFlightLimit.closed) throw shuttingDown();
  if (deps.current.config.maintenance) {
    throw new GatewayError('unavailable', 'the gateway is in maintenance', { retryAfter: 60 });
  }
  const database = await deps.database.check();
  if (database === 'away') {
    sink.send(503, [...JSON_TYPE, 'retry-after', '1'], '{"status":"unavailable","database":"away"}');
  } else sink.send(200, JSON_TYPE, `{"status":"ok","database":"${database}"}`);
}

const METRICS_TYPE: HeaderList = ['content-type', 'text/plain; version=0.0.4; charset=utf-8'];

/** Also in maintenance and while the gateway shuts down: that is when it is looked at. */
export async function metrics({ sink }: Exchange, deps: GatewayDeps): Promise<void> {
  sink.send(200, METRICS_TYPE, (await deps.metrics?.read()) ?? '');
}

const HELLO = `This is a gateway for language models. Base URLs: chat completions …/v1, messages … (without /v1).\n`;

export async function probe(exchange: Exchange): Promise<void> {
  exchange.sink.send(200, ['content-type', 'text/plain; charset=utf-8'], HELLO);
}
