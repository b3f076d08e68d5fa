// Every request of the matrix as the gateway would send it, and what the stub of its target says to it; no socket is opened.
import { systemClock } from '../../src/clock.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import type { Config } from '../../src/config/config.ts';
import { PRESETS } from '../../src/config/presets/presets.ts';
import { GatewayError } from '../../src/errors.ts';
import { ownArrival, readRequest, type Inbound } from '../../src/gateway/inbound/read-request.ts';
import { routingQuery } from '../../src/gateway/inbound/route.ts';
import { buildFirst, type BuiltRequest } from '../../src/gateway/outbound/build-request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { createRouting, type Routing } from '../../src/routing/routing.ts';
import { load } from '../config/folder.ts';
import { CORPUS } from '../fixtures/corpus.ts';
import { INTENTS } from './intents.ts';
import { unnamedOfRelay, unnamedOfTranslation } from './named.ts';
import { HOSTS } from './stubs/hosts.ts';
import { LOCAL } from './stubs/local.ts';
import { MAKERS } from './stubs/makers.ts';
import { refusedBy, type Kind, type Stub } from './stubs/rule.ts';

export const STUBS: readonly Stub[] = [...MAKERS, ...HOSTS, ...LOCAL];

export interface Case {
  stub: Stub;
  protocol: ProtocolName;
  /** An intent, or the line of a recording. */
  asks: string;
  headers: Readonly<Record<string, string>>;
  body: JsonObject;
}

export interface Outcome extends Case {
  way: 'translated' | 'relayed';
  /** What the gateway sent; undefined: it refused by itself. */
  sent: JsonObject | undefined;
  /** `impossible`: no form would give it. */
  result: 'passed' | 'impossible' | Kind | 'refused by the gateway';
  words: string;
  /** What differs from the client's request, and is not named. */
  unnamed: readonly string[];
}

const recordings = (protocol: ProtocolName): [string, (typeof CORPUS)[number][1]][] =>
  CORPUS.filter(([, { path }]) => path === `/v1${protocols[protocol].provider.path}`);

export function casesOf(stub: Stub): Case[] {
  const model = `${stub.provider}/${stub.model}`;
  return PROTOCOL_NAMES.flatMap((protocol) =>
    [
      ...Object.entries(INTENTS[protocol]).map(([asks, body]) => ({ asks, body, headers: {} })),
      ...recordings(protocol).map(([asks, { body, headers }]) => ({
        asks,
        body: body as JsonObject,
        headers,
      })),
    ].map((one) => ({ ...one, stub, protocol, body: { ...one.body, model } })),
  );
}

const KEYS = Object.fromEntries(PRESETS.flatMap(({ keys }) => keys.map((name) => [name, 'k'])));

/** The presets as a file gets them by their names alone. */
export function presetConfig(): Config {
  const names = [...new Set(STUBS.map(({ provider }) => provider))];
  const entries = names.map((name) => {
    const own = name === 'azure' ? ' base_url: "https://own.openai.azure.com/openai/v1" ' : '';
    return `  ${name}: {${own}}`;
  });
  return load(`providers:\n${entries.join('\n')}\n`, { env: KEYS });
}

export function outcomes(): Outcome[] {
  const routing = createRouting({ config: presetConfig(), clock: systemClock });
  return STUBS.flatMap(casesOf).map((one) => tried(one, routing));
}

function tried(one: Case, routing: Routing): Outcome {
  const inbound = readRequest(ownArrival(protocols[one.protocol]), Buffer.from(JSON.stringify(one.body)));
  const blank = { ...one, sent: undefined, words: '', way: 'translated' as const, unnamed: [] };
  let built: BuiltRequest;
  try {
    built = sentFor(one, inbound, routing);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const result = isImpossible(one, inbound) ? 'impossible' : 'refused by the gateway';
    return { ...blank, result, words: error.message };
  }
  const sent = JSON.parse(built.bytes.toString()) as JsonObject;
  const way = built.crossing ? 'translated' : 'relayed';
  const headers = Object.fromEntries(pairs(built.headers));
  const rule = refusedBy(one.stub, { path: built.protocol.provider.path, headers, body: sent });
  const refused = isImpossible(one, inbound) ? 'impossible' : rule?.kind;
  const differing = (built.crossing ? unnamedOfTranslation : unnamedOfRelay)({
    client: one.protocol,
    asked: one.body,
    provider: built.protocol.name,
    sent,
    names: [...built.dropped, ...built.changed],
    thinksByDefault: built.target.traits.thinksByDefault,
  });
  return {
    ...one,
    way,
    sent,
    result: refused ?? 'passed',
    words: rule?.answer.body ?? '',
    unnamed: differing,
  };
}

function sentFor({ headers, protocol }: Case, inbound: Inbound, routing: Routing): BuiltRequest {
  const { client } = protocols[protocol];
  const forwarded = client.forwardedHeaders(headers, '');
  const query = routingQuery(inbound, {
    key: { models: null, accountId: 1 },
    longContext: forwarded.longContext,
  });
  const { targets } = routing.resolve(query);
  return buildFirst(targets, inbound, { forwarded, strict: false }).first;
}

function isImpossible({ stub: { lacks = [] }, asks }: Case, { needs }: Inbound): boolean {
  return (
    (needs.image && lacks.includes('images')) ||
    (asks === 'an image by its address' && lacks.includes('addresses')) ||
    (needs.tools && lacks.includes('tools'))
  );
}

function* pairs(list: readonly string[]): Generator<[string, string]> {
  for (let at = 0; at < list.length; at += 2) yield [list[at] ?? '', list[at + 1] ?? ''];
}
