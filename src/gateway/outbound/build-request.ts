// The bytes for one target: the client's own with the model's name spliced in, or the request translated. Pure.
import { repairHistory } from '../../canonical/history.ts';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { ProtocolName, GenerationRequest, Warning } from '../../canonical/request.ts';
import type { ProviderConfig } from '../../config/config.ts';
import { GatewayError } from '../../errors.ts';
import { scanMembers, splice, type Edit, type Members } from '../../protocols/json/splice.ts';
import type { PauseTurn, Protocol, ReverseMapping } from '../../protocols/protocol.ts';
import { protocols } from '../../protocols/registry.ts';
import { protocolFor, type Target } from '../../routing/catalog.ts';
import type { HeaderList } from '../exchange.ts';
import { requestBytes } from './request-bytes.ts';
import type { Inbound } from '../inbound/read-request.ts';

export interface BuiltRequest {
  target: Target;
  /** What the target is spoken to in. */
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
  /** Its turns may be paused, and the client knows no such thing. */
  pausing?: PauseTurn;
}

/** What of the client's own headers goes on to a provider of the same protocol. */
export interface ForwardedHeaders {
  version: string | undefined;
  beta: string | undefined;
  query: string;
}

const NOTHING: readonly string[] = [];
const NO_MAPPING: ReverseMapping = { toolNames: new Map(), customTools: new Set(), stop: [] };
const DEFAULT_VERSION = '2023-06-01';

/** `room`: tokens of output that fit beside the input, where the provider refused what was asked for; of a translation. */
export function buildRequest(
  inbound: Inbound,
  target: Target,
  passed: ForwardedHeaders,
  strict: boolean,
  room?: number,
): BuiltRequest {
  const name = protocolFor(target, inbound.protocol.name);
  const protocol = protocols[name];
  const crossing = name !== inbound.protocol.name;
  const url = urlOf(target.provider, name) + (crossing ? '' : passed.query);
  const headers = headersFor(target.provider, name, inbound.stream, crossing ? undefined : passed);
  if (!crossing) {
    const { bytes, warnings } = spliced(inbound, target);
    if (strict) refuseLosses(warnings, inbound.protocol, target);
    const dropped = pathsOf(warnings, NAMED, inbound.protocol);
    const changed = changesOf(warnings, inbound.protocol);
    return { target, protocol, url, headers, bytes, crossing, dropped, changed, restore: NO_MAPPING };
  }
  const asked = target.withoutThinking === true ? withoutThinking(inbound.decode()) : inbound.decode();
  const { maxOutputTokens: limit = Infinity } = asked;
  const fitting = room === undefined ? asked : { ...asked, maxOutputTokens: Math.min(limit, room) };
  const repaired = repairHistory(fitting, { target: name, traits: target.traits });
  const encoded = protocol.encodeRequest(repaired.request, target.upstream, target.traits);
  const warnings = [
    ...(asked === inbound.decode() ? [] : [FOREIGN_THINKING]),
    ...(room === undefined ? [] : [outputCut(room)]),
    ...repaired.warnings,
    ...encoded.warnings,
  ];
  if (strict) refuseLosses(warnings, inbound.protocol, target);
  const dropped = pathsOf(warnings, NAMED, inbound.protocol);
  const bytes = requestBytes(encoded.body, inbound.bytes.length);
  const { restore } = encoded;
  const pausing = inbound.needs.serverTools ? protocol.pausing : undefined;
  const changed = changesOf(warnings, inbound.protocol);
  return { target, protocol, url, headers, bytes, crossing, dropped, changed, restore, pausing };
}

/** For the first target, in order, that can take the request; throws the first one's refusal if none can. */
export function buildFirst(
  targets: readonly Target[],
  inbound: Inbound,
  forwarded: ForwardedHeaders,
  strict: boolean,
): { first: BuiltRequest; rest: readonly Target[] } {
  let refusal: GatewayError | undefined;
  for (const [index, target] of targets.entries()) {
    try {
      return { first: buildRequest(inbound, target, forwarded, strict), rest: targets.slice(index + 1) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      refusal ??= error;
    }
  }
  throw refusal ?? new GatewayError('unavailable', 'no target can be tried', { retryAfter: 1 });
}

const FOREIGN_THINKING: Warning = {
  effect: 'dropped',
  field: 'messages.reasoning',
  detail:
    'the open tool turn was thought by a model of another family: its thinking is left out, thinking is off for this call',
};

function outputCut(room: number): Warning {
  const detail = `input and output were more than the model's window: sent again with ${room} tokens of output`;
  return { effect: 'changed', field: 'maxOutputTokens', detail };
}

/** The same object where there is no thinking in it. */
function withoutThinking(request: GenerationRequest): GenerationRequest {
  const thinks = request.messages.some(({ parts }) => parts.some(({ type }) => type === 'reasoning'));
  if (!thinks) return request;
  const messages = request.messages.map((message) => ({
    ...message,
    parts: message.parts.filter(({ type }) => type !== 'reasoning'),
  }));
  return { ...request, messages, reasoning: { mode: 'off' } };
}

type Effects = ReadonlySet<Warning['effect']>;

const LOST: Effects = new Set(['dropped']);
const NAMED: Effects = new Set(['dropped', 'suspended']);

function pathsOf(warnings: readonly Warning[], effects: Effects, client: Protocol): readonly string[] {
  if (warnings.length === 0) return NOTHING;
  const paths = new Set<string>();
  for (const { effect, field } of warnings) {
    if (effects.has(effect))
      paths.add(shownPath(typeof field === 'string' ? client.wirePath(field) : field.path));
  }
  return [...paths].sort();
}

function changesOf(warnings: readonly Warning[], client: Protocol): readonly string[] {
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

function refuseLosses(warnings: readonly Warning[], client: Protocol, target: Target): void {
  const lost = pathsOf(warnings, LOST, client);
  if (lost.length === 0) return;
  const more = lost.length > MOST_NAMED ? ` and ${lost.length - MOST_NAMED} more` : '';
  const named = lost.slice(0, MOST_NAMED).join(', ') + more;
  const message = `${target.key} has no notion of ${named} (strict: true refuses what would be left out)`;
  throw new GatewayError('invalid_request', message, { param: lost[0] });
}

/** The client's bytes, unchanged but for the model's name, the question for usage and thinking blocks that no provider signed. */
function spliced(inbound: Inbound, target: Target): { bytes: Buffer; warnings: readonly Warning[] } {
  const cut = target.withoutThinking === true ? 'all' : 'unsigned';
  const bytes = inbound.protocol.cleanBody(inbound.bytes, inbound.value, cut);
  const members = bytes === inbound.bytes ? inbound.members : scanMembers(bytes, Infinity);
  const edits: Edit[] = [];
  const model = members.get('model');
  if (model !== undefined && inbound.value.model !== target.upstream) {
    edits.push({ start: model.start, end: model.end, text: JSON.stringify(target.upstream) });
  }
  if (inbound.stream && inbound.protocol.name === 'chat' && target.traits.streamUsage) {
    const edit = usageQuestion(inbound, members);
    if (edit !== undefined) edits.push(edit);
  }
  // A turn that begins without thinking can't go on with it, where it can be switched off.
  const thinking =
    cut === 'all' && asksForThinking(inbound.value, target) ? members.get('thinking') : undefined;
  if (thinking !== undefined) {
    edits.push({ start: thinking.start, end: thinking.end, text: '{"type":"disabled"}' });
  }
  const foreign = thinking !== undefined || (cut === 'all' && bytes !== inbound.bytes);
  return {
    bytes: edits.length === 0 ? bytes : splice(bytes, edits),
    warnings: foreign ? [FOREIGN_THINKING] : NO_WARNINGS,
  };
}

const NO_WARNINGS: readonly Warning[] = [];

/** Whether it asks for thinking that can be switched off: some models take that only up to an effort, some never. */
function asksForThinking({ thinking, output_config: output }: JsonObject, { traits }: Target): boolean {
  if (!isObject(thinking) || thinking.type === 'disabled') return false;
  if (traits.thinkingOff !== 'up_to_high') return traits.thinkingOff === 'always';
  return !isObject(output) || (output.effort !== 'xhigh' && output.effort !== 'max');
}

function usageQuestion(inbound: Inbound, members: Members): Edit | undefined {
  if (inbound.usageAsked) return undefined;
  const given = inbound.value.stream_options;
  const asked = JSON.stringify({ ...(isObject(given) ? given : {}), include_usage: true });
  const member = members.get('stream_options');
  if (member !== undefined) return { start: member.start, end: member.end, text: asked };
  return { start: members.close, end: members.close, text: `,"stream_options":${asked}` };
}

export function headersFor(
  provider: ProviderConfig,
  protocol: ProtocolName,
  stream: boolean,
  passed: ForwardedHeaders | undefined,
): HeaderList {
  const usual = usualHeaders(provider, protocol, stream);
  if (protocol !== 'messages') return usual;
  const headers = [...usual, 'anthropic-version', passed?.version ?? DEFAULT_VERSION];
  if (passed?.beta !== undefined) headers.push('anthropic-beta', passed.beta);
  return headers;
}

/** The same string each time: what is looked up by it need not be hashed again. */
const urls = new WeakMap<ProviderConfig, Partial<Record<ProtocolName, string>>>();

function urlOf(provider: ProviderConfig, name: ProtocolName): string {
  let known = urls.get(provider);
  if (known === undefined) urls.set(provider, (known = {}));
  return (known[name] ??= makeUrl(provider, name));
}

function makeUrl(provider: ProviderConfig, name: ProtocolName): string {
  const base = provider.baseUrls[name];
  if (base === undefined) throw new Error(`${provider.name} has no base URL for ${name}`);
  return base + protocols[name].path;
}

/** The same for every request to a provider, so made once. */
const usualLists = new WeakMap<ProviderConfig, Map<string, HeaderList>>();

function usualHeaders(provider: ProviderConfig, protocol: ProtocolName, stream: boolean): HeaderList {
  let lists = usualLists.get(provider);
  if (lists === undefined) usualLists.set(provider, (lists = new Map<string, HeaderList>()));
  const kind = stream ? STREAMED[protocol] : protocol;
  let list = lists.get(kind);
  if (list === undefined) lists.set(kind, (list = makeHeaders(provider, protocol, stream)));
  return list;
}

const STREAMED = { chat: 'chat stream', messages: 'messages stream' } as const;

function makeHeaders(provider: ProviderConfig, protocol: ProtocolName, stream: boolean): HeaderList {
  const headers: HeaderList = [
    'content-type',
    'application/json',
    'accept',
    stream ? 'text/event-stream' : 'application/json',
    'accept-encoding',
    'identity',
    'user-agent',
    'local-llm-gateway',
  ];
  headers.push(...credential(provider, protocol));
  for (const [name, value] of Object.entries(provider.headers)) headers.push(name, value);
  return headers;
}

function credential(provider: ProviderConfig, protocol: ProtocolName): HeaderList {
  const { apiKey, auth } = provider;
  if (apiKey === undefined) return [];
  const custom = auth === 'protocol' ? (protocol === 'messages' ? 'x-api-key' : 'bearer') : auth;
  return custom === 'bearer' ? ['authorization', `Bearer ${apiKey}`] : [custom, apiKey];
}
