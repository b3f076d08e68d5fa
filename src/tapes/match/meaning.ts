// What a request means, whatever its protocol: the texts, calls and results of its conversation in their order, what is offered, and the
// form that is asked for. Ids, cache marks and the cut into blocks are no part of it.
import { createHash } from 'node:crypto';
import { isObject, stableJson, type JsonValue } from '../../canonical/json.ts';
import type { GenerationRequest, Message, Part, ProtocolName, Tool } from '../../canonical/request.ts';
import { protocols } from '../../protocols/registry.ts';
import { jsonOf } from '../json.ts';
import type { Ignoring } from './ignore.ts';

/** One thing that a request says. `at` is for people: `user text 2`. */
export interface Item {
  at: string;
  text: string;
}

export interface Meaning {
  items: readonly Item[];
  /** The same for the same meaning. */
  key: string;
}

export interface Asked {
  protocol: ProtocolName;
  /** `generate`, or the path of an endpoint that is only relayed. */
  kind: string;
  /** JSON text. */
  body: string;
}

export function meaningOf({ protocol, kind, body }: Asked, ignoring: Ignoring): Meaning {
  const items = itemsOf({ protocol, kind, body }, ignoring).map(({ at, text }) => ({
    at,
    text: ignoring.clean(text),
  }));
  const key = createHash('sha256')
    .update(JSON.stringify([kind, ...items.map(({ at, text }) => [at, text])]))
    .digest('hex');
  return { items, key };
}

function itemsOf({ protocol, kind, body }: Asked, ignoring: Ignoring): Item[] {
  const value = jsonOf(body);
  if (!isObject(value)) return [{ at: 'body', text: body }];
  if (kind === 'generate') {
    try {
      return requestItems(protocols[protocol].client.decodeRequest(value, body), ignoring);
    } catch {
      // What no other protocol can take is compared as it stands.
    }
  }
  const { model: _model, stream: _stream, ...rest } = value;
  return Object.entries(rest).map(([at, member]) => ({ at, text: stableJson(member ?? null) }));
}

function requestItems(request: GenerationRequest, { parts: ignored }: Ignoring): Item[] {
  const { messages, tools = [], toolChoice, responseFormat } = request;
  const first = messages.findIndex(({ role }) => role !== 'system');
  const begin = first < 0 ? messages.length : first;
  const system = messages
    .slice(0, begin)
    .flatMap(({ parts }) => parts.map(partText))
    .join('\n');
  const items: Item[] = [];
  if (!ignored.has('system') && system !== '') items.push({ at: 'system', text: system });
  items.push(...conversationItems(messages.slice(begin), ignored.has('reasoning')));
  if (!ignored.has('tools')) items.push(...tools.map(toolItem).sort((a, b) => (a.at < b.at ? -1 : 1)));
  if (toolChoice !== undefined && toolChoice.type !== 'auto')
    items.push({ at: 'tool choice', text: stableJson(toolChoice) });
  if (responseFormat !== undefined)
    items.push({ at: 'form of the answer', text: stableJson(responseFormat) });
  if (!ignored.has('parameters')) items.push(...parameterItems(request));
  return items;
}

const ROLE_TEXTS = { user: 'user text', assistant: 'answer text', system: 'system text' } as const;

/** Texts of the same role that follow each other are one. */
function conversationItems(messages: readonly Message[], withoutReasoning: boolean): Item[] {
  const items: Item[] = [];
  const counts = new Map<string, number>();
  let open: { role: Message['role']; item: Item } | undefined;
  const add = (what: string, text: string): Item => {
    const count = (counts.get(what) ?? 0) + 1;
    counts.set(what, count);
    const item = { at: `${what} ${count}`, text };
    items.push(item);
    return item;
  };
  for (const { role, parts } of messages) {
    for (const part of parts) {
      if (part.type === 'reasoning' && withoutReasoning) continue;
      if (part.type === 'text' && part.text.trim() === '') continue;
      if (part.type === 'text' && open?.role === role) {
        open.item.text += `\n${part.text}`;
        continue;
      }
      const what = part.type === 'text' ? ROLE_TEXTS[role] : nameOf(part);
      const item = add(what, partText(part));
      open = part.type === 'text' ? { role, item } : undefined;
    }
  }
  return items;
}

function nameOf(part: Part): string {
  if (part.type === 'tool_call') return `call of ${part.name}`;
  return part.type === 'tool_result' ? 'result' : part.type;
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'tool_call':
      return part.custom === true ? part.arguments : stableJson(jsonOf(part.arguments) ?? part.arguments);
    case 'tool_result':
      return typeof part.content === 'string' ? part.content : part.content.map(partText).join('\n');
    case 'native':
      return stableJson(part.value);
    default: {
      const { cache: _cache, at: _at, ...rest } = part as { cache?: unknown; at?: unknown };
      return `${part.type} ${createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 12)}`;
    }
  }
}

/** Members that translation adds, or leaves to a default. */
const FORMAL = new Set(['additionalProperties', '$schema', 'strict', 'title']);

function toolItem(tool: Tool): Item {
  if (tool.type === 'native') return { at: `tool ${tool.name ?? tool.kind}`, text: stableJson(tool.value) };
  const { name, description = '' } = tool;
  const schema = tool.type === 'function' ? withoutFormal(tool.parameters ?? {}) : (tool.format ?? {});
  const isEmpty = Object.keys(isObject(schema) ? (schema.properties ?? {}) : {}).length === 0;
  return { at: `tool ${name}`, text: `${description}\n${isEmpty ? '' : stableJson(schema)}` };
}

function withoutFormal(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutFormal);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, JsonValue][] =>
      member === undefined || (FORMAL.has(name) && !isObject(member)) ? [] : [[name, withoutFormal(member)]],
    ),
  );
}

function parameterItems(request: GenerationRequest): Item[] {
  const { maxOutputTokens, temperature, topP, topK, stop, reasoning, serviceTier, parallelToolCalls } =
    request;
  const given = { maxOutputTokens, temperature, topP, topK, stop, reasoning, serviceTier, parallelToolCalls };
  return Object.entries(given).flatMap(([at, value]) =>
    value === undefined ? [] : [{ at, text: stableJson(value as JsonValue) }],
  );
}
