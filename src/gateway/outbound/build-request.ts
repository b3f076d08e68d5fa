// Builds the request for one target: the client's bytes with the model's name spliced in, or the translated request. Pure.
import { repairHistory } from '../../canonical/history.ts';
import type { ThinkingCut } from '../../canonical/thinking-signature.ts';
import type { ProtocolName, GenerationRequest, Warning } from '../../canonical/request.ts';
import type { ProviderConfig } from '../../config/config.ts';
import { refusesSomething } from '../../canonical/traits.ts';
import { GatewayError } from '../../errors.ts';
import type { ClientSide, Protocol } from '../../protocols/interface/protocol.ts';
import type { ForwardedHeaders } from '../../protocols/interface/outline.ts';
import { servedPath, type Carrier, type Relayed } from '../../protocols/interface/endpoint.ts';
import type { PauseTurn } from '../../protocols/interface/features.ts';
import { NO_MAPPING, type ReverseMapping } from '../../canonical/reverse-mapping.ts';
import { protocols } from '../../protocols/registry.ts';
import { carriedBy } from '../../protocols/shared/relay/carried.ts';
import { fitBody } from '../../protocols/shared/relay/fit.ts';
import type { Lessons } from '../../routing/state/lessons.ts';
import type { KeyUse } from '../../routing/state/provider-keys.ts';
import { requestBytes } from '../../protocols/json/raw-json.ts';
import { authHeaders } from '../../protocols/outlines.ts';
import { framings } from '../../providers/framings.ts';
import { providerUrl } from '../../providers/url.ts';
import { protocolFor, type Target } from '../../routing/catalog.ts';
import type { PassedOver } from '../../routing/resolve.ts';
import type { HeaderList } from '../exchange.ts';
import type { Inbound } from '../inbound/read-request.ts';
import type { StoredReferences } from '../inbound/stored-references.ts';
import { eventSteps, relayedSteps, type CreateEventStep } from './event-steps.ts';
import { withRecalledThinking, type RecalledThinking } from '../thinking-memory.ts';

export interface BuiltRequest {
  target: Target;
  /** The protocol towards the target. */
  protocol: Protocol;
  url: string;
  headers: HeaderList;
  bytes: Buffer;
  /** The protocols differ: the answer is translated back. */
  crossing: boolean;
  /** Wire paths of what was left out, sorted: `x-gateway-dropped`. */
  dropped: readonly string[];
  /** What a translation changed in form, each as `path: how`, by the client's own name of the field. */
  changed: readonly string[];
  restore: ReverseMapping;
  /** Set if somebody asked to look at the answer's events, or to change them. */
  steps?: readonly CreateEventStep[];
  /** Set if the provider may pause its turns and the client's protocol has no pause. */
  pausing?: PauseTurn;
  /** Set if the provider has several keys: the one that it is sent with. */
  providerKey?: KeyUse;
  /** Set if the endpoint is only relayed: it reads the answer. */
  relayed?: Relayed;
}

const NOTHING: readonly string[] = [];
const NO_WARNINGS: readonly Warning[] = [];

/** What a request is built from beside the body. */
export interface BuildOptions {
  forwarded: ForwardedHeaders;
  /** Refuses what would be left out. */
  strict: boolean;
  /** Signed thinking that the client did not send back. */
  recalled?: RecalledThinking;
  /** What the body refers to. */
  references?: StoredReferences;
  /** No provider must store the answer. */
  unstored?: boolean;
  /** The conversation's id. */
  conversation?: string;
  /** What refusals taught of targets. */
  lessons?: Pick<Lessons, 'traitsFor'>;
}

/** `room`: tokens of output that fit beside the input, where the provider refused what was asked for; of a translation. */
export function buildRequest(
  given: Inbound,
  target: Target,
  options: BuildOptions,
  room?: number,
): BuiltRequest {
  const { protocol: own, endpoint, kept, needs } = given;
  if (endpoint.does === 'relay' && endpoint.carrier !== undefined)
    return buildCarried(given, target, endpoint, endpoint.carrier, options);
  const mayCross = endpoint.does === 'generate' && kept === undefined;
  const name = protocolFor(target, own.spoken, mayCross ? needs : undefined);
  const protocol = protocols[name];
  const crossing = name !== given.protocol.name;
  if (!crossing) return buildRelay(given, target, protocol, options);
  const { strict, recalled, references, conversation, lessons } = options;
  const traits = lessons?.traitsFor(target, name) ?? target.traits;
  const inbound = references?.translated ?? given;
  const url = urlOf(target, name);
  const headers = translationHeaders(target, name, inbound.stream);
  const decoded = inbound.decode();
  const { withoutThinking } = target;
  let asked = decoded;
  if (withoutThinking !== undefined) asked = cutThinking(decoded, withoutThinking);
  else if (recalled !== undefined) asked = withRecalledThinking(decoded, recalled, target);
  const { maxOutputTokens: limit = Infinity } = asked;
  const fitting = room === undefined ? asked : { ...asked, maxOutputTokens: Math.min(limit, room) };
  const keyed = traits.cacheKey ? withCacheKey(fitting, conversation) : fitting;
  const repaired = repairHistory(keyed, { rules: protocol.provider.historyRules, traits });
  const encoded = protocol.provider.encodeRequest(repaired.request, target.upstream, traits);
  const warnings = [
    ...thinkingWarnings(target, asked !== decoded),
    ...(room === undefined ? [] : [outputCut(room)]),
    ...repaired.warnings,
    ...encoded.warnings,
  ];
  if (strict) refuseLosses(warnings, inbound.protocol.client, target);
  const dropped = pathsOf(warnings, NAMED, inbound.protocol.client);
  const bytes = requestBytes(encoded.body, inbound.bytes.length);
  // Counted now: the parsed body is freed before the answer begins.
  if (given.stream && given.protocol.client.needsInputEstimate) given.estimate();
  const { restore } = encoded;
  const pausing = inbound.needs.serverTools ? protocol.provider.pausing : undefined;
  const changed = changesOf(warnings, inbound.protocol.client);
  return {
    target,
    protocol,
    url,
    headers,
    bytes,
    crossing,
    dropped,
    changed,
    restore,
    steps: mayNeedSteps(target, inbound) ? eventSteps(decoded, restore) : undefined,
    pausing,
  };
}

/** For an endpoint that providers have in the form of another protocol. */
function buildCarried(
  given: Inbound,
  target: Target,
  endpoint: Relayed,
  carrier: Carrier,
  { strict }: BuildOptions,
): BuiltRequest {
  const { protocol: name } = carrier;
  const { client } = given.protocol;
  const { body, left } = carrier.encode(given.value, target);
  const detail = `${servedPath(endpoint)} has no such member at providers`;
  const warnings = left.map((path): Warning => ({ effect: 'dropped', field: { path }, detail }));
  if (strict) refuseLosses(warnings, client, target);
  return {
    target,
    protocol: carriedBy(protocols[name], carrier, endpoint),
    url: urlOf(target, name, endpoint),
    headers: translationHeaders(target, name, given.stream),
    bytes: requestBytes(body, given.bytes.length),
    crossing: true,
    dropped: pathsOf(warnings, NAMED, client),
    changed: NOTHING,
    restore: NO_MAPPING,
  };
}

/** The client's bytes, but for the model's name and what this provider must not get or cannot read. */
function buildRelay(
  given: Inbound,
  target: Target,
  protocol: Protocol,
  { forwarded, strict, references, unstored = false, conversation, lessons }: BuildOptions,
): BuiltRequest {
  const { provider } = target;
  const { client } = given.protocol;
  const { inbound, lost } = references?.relayedTo(provider) ?? { inbound: given, lost: false };
  if (inbound.kept !== undefined && !provider.sharedIds) refuseKept(inbound.kept, provider);
  const url = urlOf(target, protocol.name, given.endpoint) + forwarded.query;
  const traits = lessons?.traitsFor(target, protocol.name) ?? target.traits;
  const options = given.endpoint.does === 'generate' ? { unstored, conversation } : undefined;
  const isTaught = traits !== target.traits;
  const isExact =
    provider.exactRelay === true ||
    given.endpoint.does !== 'generate' ||
    !(isTaught || (target.made.refuses ??= refusesSomething(traits)));
  const ownHeaders = clientHeaders(forwarded, target);
  const passed = (isExact ? undefined : protocol.relay.fitHeaders?.(ownHeaders, traits)) ?? {
    headers: ownHeaders,
  };
  const headers = relayHeaders(target, protocol.name, inbound.stream, passed.headers);
  const fitted = isExact
    ? undefined
    : fitBody(inbound, { traits, isKnown: provider.preset !== undefined }, protocol.relay.rules);
  const { bytes, thinkingCut } = protocol.relay.rewrite(
    fitted?.body ?? inbound,
    isTaught ? { ...target, traits } : target,
    options,
  );
  let warnings = thinkingCut ? thinkingWarnings(target) : NO_WARNINGS;
  if (fitted !== undefined) warnings = [...warnings, ...fitted.warnings];
  if (passed.warning !== undefined) warnings = [...warnings, passed.warning];
  if (lost) warnings = [...warnings, NOT_STORED];
  if (strict) refuseLosses(warnings, client, target);
  const dropped = pathsOf(warnings, NAMED, client);
  const changed = changesOf(warnings, client);
  return {
    target,
    protocol,
    url,
    headers,
    bytes,
    crossing: false,
    dropped,
    changed,
    restore: NO_MAPPING,
    steps: mayNeedSteps(target, inbound) ? relayedSteps(inbound, protocol.relay) : undefined,
    relayed: given.endpoint.does === 'relay' ? given.endpoint : undefined,
  };
}

/** Of the client's headers, those that this target gets. A provider's own of the same name stand in place of further ones. */
function clientHeaders(
  { headers, untagged = headers, further }: ForwardedHeaders,
  { provider, traits }: Target,
): readonly string[] {
  const usual = traits.requestTags ? headers : untagged;
  if (further === undefined) return usual;
  const own = new Set(Object.keys(provider.headers).map((name) => name.toLowerCase()));
  return [...usual, ...further.filter((_, at) => !own.has(further[at - (at % 2)] ?? ''))];
}

const NOT_STORED: Warning = {
  effect: 'dropped',
  field: 'messages.reasoning',
  detail: 'it is not stored for this account: left out',
};

function refuseKept(path: string, { name }: ProviderConfig): never {
  const message = `${path}: it names what ${name} keeps for everyone who uses its key, so it is not passed on; send the content itself (where one account alone uses ${name}: shared_ids: true in its entry)`;
  throw new GatewayError('invalid_request', message, { param: path });
}

function mayNeedSteps({ provider }: Target, { needs }: Inbound): boolean {
  return provider.repairTools && needs.tools;
}

const NONE_REFUSED: readonly PassedOver[] = [];

/** For the first target, in order, that can take the request; throws the first one's refusal if none can. */
export function buildFirst(
  targets: readonly Target[],
  inbound: Inbound,
  options: BuildOptions,
): { first: BuiltRequest; rest: readonly Target[]; refused: readonly PassedOver[] } {
  let refusal: GatewayError | undefined;
  let refused = NONE_REFUSED;
  for (const [index, target] of targets.entries()) {
    try {
      return { first: buildRequest(inbound, target, options), rest: targets.slice(index + 1), refused };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      refusal ??= error;
      refused = [...refused, { target, why: error.message }];
    }
  }
  throw refusal ?? new GatewayError('unavailable', 'no target can be tried', { retryAfter: 1 });
}

const THINKING_CUTS: Readonly<Record<ThinkingCut, string>> = {
  foreign:
    'the open tool turn was thought by a model of another family: its thinking is left out, thinking is off for this call',
  refused: 'the provider refused thinking of earlier turns: it is left out',
};

/** `own`: the client itself sent the thinking. What the gateway had added is no loss that a client could avoid. */
function thinkingWarnings({ withoutThinking }: Target, own = true): readonly Warning[] {
  if (withoutThinking === undefined || (withoutThinking === 'foreign' && !own)) return NO_WARNINGS;
  const effect = own ? 'dropped' : 'suspended';
  return [{ effect, field: 'messages.reasoning', detail: THINKING_CUTS[withoutThinking] }];
}

function outputCut(room: number): Warning {
  const detail = `input and output were more than the model's window: sent again with ${room} tokens of output`;
  return { effect: 'changed', field: 'maxOutputTokens', detail };
}

/** The same object where there is no thinking in it. Whether a model can think on after a refusal, its encoder knows. */
function cutThinking(request: GenerationRequest, why: ThinkingCut): GenerationRequest {
  const thinks = request.messages.some(({ parts }) => parts.some(({ type }) => type === 'reasoning'));
  if (!thinks) return request;
  const messages = request.messages.map((message) => ({
    ...message,
    parts: message.parts.filter(({ type }) => type !== 'reasoning'),
  }));
  return why === 'refused' ? { ...request, messages } : { ...request, messages, reasoning: { mode: 'off' } };
}

/** The client's own key stays; without one, or in place of what its body alone says, it is made of the conversation. */
function withCacheKey(request: GenerationRequest, conversation: string | undefined): GenerationRequest {
  const { cacheKey } = request;
  if (conversation === undefined || (cacheKey !== undefined && cacheKey.from !== 'session')) return request;
  return { ...request, cacheKey: { value: conversation, from: 'session' } };
}

type Effects = ReadonlySet<Warning['effect']>;

const LOST: Effects = new Set(['dropped']);
const NAMED: Effects = new Set(['dropped', 'suspended']);

function pathsOf(warnings: readonly Warning[], effects: Effects, client: ClientSide): readonly string[] {
  if (warnings.length === 0) return NOTHING;
  const paths = new Set<string>();
  for (const { effect, field } of warnings) {
    if (effects.has(effect))
      paths.add(shownPath(typeof field === 'string' ? client.wirePath(field) : field.path));
  }
  return [...paths].sort();
}

function changesOf(warnings: readonly Warning[], client: ClientSide): readonly string[] {
  const changed = warnings.filter(({ effect }) => effect === 'changed');
  if (changed.length === 0) return NOTHING;
  return changed.map(({ field, detail }) => {
    const path = typeof field === 'string' ? client.wirePath(field) : field.path;
    return `${path}: ${detail}`;
  });
}

/** Characters of a path: names of fields are the client's. */
const LONGEST_PATH = 256;

function shownPath(path: string): string {
  return path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path;
}

/** Paths that a refusal names. */
const MOST_NAMED = 20;

function refuseLosses(warnings: readonly Warning[], client: ClientSide, target: Target): void {
  const refused = pathsOf(warnings, LOST, client);
  if (refused.length === 0) return;
  const more = refused.length > MOST_NAMED ? ` and ${refused.length - MOST_NAMED} more` : '';
  const named = refused.slice(0, MOST_NAMED).join(', ') + more;
  const message = `${target.key} does not support ${named}; with strict: true the gateway refuses the request instead of leaving it out`;
  throw new GatewayError('invalid_request', message, { param: refused[0] });
}

/** `endpoint`: of a relayed request. */
function urlOf(
  { provider, made, traits }: Target,
  name: ProtocolName,
  endpoint?: Inbound['endpoint'],
): string {
  if (endpoint !== undefined && endpoint.does !== 'generate') {
    const at = endpoint.does === 'relay' ? endpoint.at?.pathOf(traits) : undefined;
    return providerUrl(provider, { protocol: name, path: at ?? endpoint.path });
  }
  return (made.urls[name] ??= providerUrl(provider, { protocol: name, path: protocols[name].provider.path }));
}

/** `forwarded`: the client's headers, whose protocol is the provider's. */
function relayHeaders(
  { provider, made }: Target,
  name: ProtocolName,
  stream: boolean,
  forwarded: readonly string[],
): HeaderList {
  const kinds = (made.forRelays[name] ??= {});
  const usual = (kinds[stream ? 'stream' : 'whole'] ??= makeHeaders(provider, name, stream));
  return forwarded.length === 0 ? usual : [...usual, ...forwarded];
}

function translationHeaders({ provider, made }: Target, name: ProtocolName, stream: boolean): HeaderList {
  const kinds = (made.forTranslations[name] ??= {});
  return (kinds[stream ? 'stream' : 'whole'] ??= headersFor(provider, name, stream));
}

/** Of a request that the gateway writes itself: with the headers that the protocol demands. */
export function headersFor(provider: ProviderConfig, name: ProtocolName, stream: boolean): HeaderList {
  return [...makeHeaders(provider, name, stream), ...protocols[name].provider.requestHeaders];
}

function makeHeaders(provider: ProviderConfig, protocol: ProtocolName, stream: boolean): HeaderList {
  const headers: HeaderList = [
    'content-type',
    'application/json',
    'accept',
    stream ? framings[protocols[protocol].provider.framing].mediaType : 'application/json',
    'accept-encoding',
    'identity',
    'user-agent',
    'local-llm-gateway',
  ];
  headers.push(...authHeaders(provider, protocol));
  for (const [name, value] of Object.entries(provider.headers)) headers.push(name, value);
  return headers;
}
