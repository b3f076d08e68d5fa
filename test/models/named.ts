// What a request to a provider lacks, or says otherwise, of what the client's said: each such difference has to be named.
import { isObject, type JsonObject, type JsonValue } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { effortOf } from '../../src/protocols/shared/effort.ts';
import { readStrict, type Reading } from './stubs/reading.ts';

export interface Sent {
  client: ProtocolName;
  asked: JsonObject;
  provider: ProtocolName;
  sent: JsonObject;
  /** Paths of what was left out, and `path: how` of what was changed. */
  names: readonly string[];
  thinksByDefault: boolean;
}

/** Of relayed bodies: every member that is not as the client wrote it, and that no name leads to. */
export function unnamedOfRelay({ asked, sent, names }: Sent): string[] {
  const all = new Set([...Object.keys(asked), ...Object.keys(sent)]);
  return [...all].filter((name) => {
    if (OWN.has(name) || JSON.stringify(asked[name]) === JSON.stringify(sent[name])) return false;
    return !names.some((named) => named.includes(name));
  });
}

/** What the gateway itself asks for. */
const OWN: ReadonlySet<string> = new Set(['model', 'stream_options', 'prompt_cache_key']);

/** Of translated bodies: what the two say, whatever their words. */
export function unnamedOfTranslation(given: Sent): string[] {
  const { client, provider, asked, sent, names, thinksByDefault } = given;
  const before = meaningOf(client, asked);
  const after = meaningOf(provider, sent);
  return Object.keys(before).filter((aspect) => {
    const [wanted, got] = [before[aspect], after[aspect]];
    if (JSON.stringify(wanted) === JSON.stringify(got)) return false;
    // Thinking that is off anyway need not be switched off.
    if (aspect === 'thinking' && wanted === 'none' && got === undefined && !thinksByDefault) return false;
    // What the model does without a word.
    if (wanted === undefined || isNeutral(aspect, wanted)) return false;
    return !names.some((named) => (WORDS[aspect] ?? /^$/).test(named));
  });
}

function isNeutral(aspect: string, wanted: JsonValue): boolean {
  return (SAMPLING.has(aspect) && wanted === 1) || (aspect === 'parallel' && wanted === true);
}

const SAMPLING: ReadonlySet<string> = new Set(['temperature', 'top_p']);

/** The words of the names by which a client finds an aspect. */
const WORDS: Readonly<Record<string, RegExp>> = {
  thinking: /reasoning|thinking|effort/,
  choice: /tool_choice/,
  format: /format/,
  limit: /max_/,
  stop: /stop/,
  temperature: /temperature/,
  top_p: /top_p/,
  penalties: /penalty/,
  seed: /seed/,
  user: /user|safety_identifier/,
  metadata: /metadata/,
  parallel: /parallel|tool_choice/,
  tools: /tools/,
  schemas: /tools/,
  images: /image|messages|input/,
  details: /detail/,
  late: /messages|input|system/,
  names: /name/,
};

function meaningOf(protocol: ProtocolName, body: JsonObject): Record<string, JsonValue | undefined> {
  const reading = readStrict({ path: protocols[protocol].provider.path, headers: {}, body });
  const { choice, format, limit, stop, tools, turns } = reading;
  const parts = turns.flatMap(({ content }) => (Array.isArray(content) ? content.filter(isObject) : []));
  const images = parts.filter(({ type }) => typeof type === 'string' && type.includes('image'));
  const late = turns.findLastIndex(({ role }) => role === 'system' || role === 'developer');
  const first = turns.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return {
    thinking: thinkingOf(reading),
    choice: tools.length === 0 || choice === 'auto' ? undefined : choice,
    format,
    limit,
    stop: stop === 0 ? undefined : stop,
    temperature: body.temperature,
    top_p: body.top_p,
    penalties: body.frequency_penalty || body.presence_penalty || undefined,
    seed: body.seed,
    user: userOf(body),
    metadata: isObject(body.metadata) && 'a' in body.metadata ? body.metadata : undefined,
    parallel: parallelOf(body),
    tools: tools.length === 0 ? undefined : tools.map(({ name }) => name),
    schemas: tools.length === 0 ? undefined : tools.map(({ schema }) => schema ?? null),
    images: images.length === 0 ? undefined : images.length,
    details: detailsOf(images),
    late: late > first && first !== -1 ? true : undefined,
    names: turns.some((turn) => 'name' in turn) ? true : undefined,
  };
}

/** A budget says the effort that stands for it. */
function thinkingOf({ effort, switched, body }: Reading): string | undefined {
  if (switched === 'disabled' || effort === 'none') return 'none';
  if (effort !== undefined) return effort;
  const budget = isObject(body.thinking) ? body.thinking.budget_tokens : body.thinking_budget;
  return typeof budget === 'number' ? effortOf(budget) : undefined;
}

function userOf({ user, safety_identifier: safety, metadata }: JsonObject): JsonValue | undefined {
  return user ?? safety ?? (isObject(metadata) ? metadata.user_id : undefined);
}

function parallelOf({ parallel_tool_calls: parallel, tool_choice: choice }: JsonObject): boolean | undefined {
  if (typeof parallel === 'boolean') return parallel;
  return isObject(choice) && choice.disable_parallel_tool_use === true ? false : undefined;
}

function detailsOf(images: readonly JsonObject[]): string[] | undefined {
  const all = images.flatMap(({ detail, image_url: image }) => {
    const own = detail ?? (isObject(image) ? image.detail : undefined);
    return typeof own === 'string' ? [own] : [];
  });
  return all.length === 0 ? undefined : all;
}
