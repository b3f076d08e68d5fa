// Every field of a request, and what becomes of it for a provider of another protocol. Decoding takes the fate of what has no
// canonical name from here, so that the ledger can't say one thing and the code do another.
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import type { NativeField } from '../../canonical/request.ts';

/**
 * carried: the same notion on the other side · mapped: in another form · left out: and named to the client · quiet: left out
 * without a word, nothing is lost by it · rejected: a 400, since the answer would mean something else.
 */
interface Row {
  fate: 'carried' | 'mapped' | 'left out' | 'quiet' | 'rejected';
  /** With `rejected`: what to say. */
  message?: string;
  /** With `rejected`: members of the error that clients act on. */
  details?: Record<string, unknown>;
}

const CARRIED: Row = { fate: 'carried' };
const MAPPED: Row = { fate: 'mapped' };
const LEFT_OUT: Row = { fate: 'left out' };
const QUIET: Row = { fate: 'quiet' };

function rejected(message: string, details?: Record<string, unknown>): Row {
  return details === undefined ? { fate: 'rejected', message } : { fate: 'rejected', message, details };
}

/** Wire paths without indexes. A field that is not here is left out and named. */
export const MESSAGES_FIELDS = {
  model: CARRIED,
  max_tokens: CARRIED,
  messages: CARRIED,
  stream: CARRIED,
  system: MAPPED,
  temperature: CARRIED,
  top_p: CARRIED,
  top_k: CARRIED,
  stop_sequences: MAPPED,
  tools: MAPPED,
  tool_choice: MAPPED,
  thinking: MAPPED,
  output_config: MAPPED,
  output_format: MAPPED,
  metadata: MAPPED,
  service_tier: MAPPED,
  cache_control: MAPPED,
  context_management: LEFT_OUT,
  fallbacks: LEFT_OUT,
  speed: LEFT_OUT,
  diagnostics: QUIET,
  user_profile_id: QUIET,
  workspace_id: QUIET,
  betas: QUIET,
  container: rejected('a container lives at one provider and cannot be carried to another'),
  inference_geo: rejected('a promise of where the model runs cannot be kept by this provider'),
  compaction: rejected('compaction is not known to this provider'),
  thread: rejected('threads are not known to this provider: send the whole conversation', {
    error_code: 'thread_unsupported_request',
    unsupported: ['thread'],
  }),
  fallback_credit_token: rejected('a credit token is of no use at another provider'),
  billing_policy: rejected('a billing policy cannot be kept by this provider'),
  mcp_servers: rejected('MCP servers are not connected by this provider'),

  'metadata.user_id': CARRIED,
  'thinking.type': MAPPED,
  'thinking.budget_tokens': MAPPED,
  'thinking.display': MAPPED,
  'output_config.effort': MAPPED,
  'output_config.format': MAPPED,
  'output_config.format.type': MAPPED,
  'output_config.format.schema': CARRIED,
  'output_config.format.name': CARRIED,
  'output_config.task_budget': LEFT_OUT,
  'tool_choice.type': MAPPED,
  'tool_choice.name': CARRIED,
  'tool_choice.disable_parallel_tool_use': MAPPED,

  'tools[].type': MAPPED,
  'tools[].name': CARRIED,
  'tools[].description': CARRIED,
  'tools[].input_schema': CARRIED,
  'tools[].strict': CARRIED,
  'tools[].cache_control': MAPPED,
  'tools[].defer_loading': MAPPED,
  'tools[].input_examples': LEFT_OUT,
  'tools[].allowed_callers': LEFT_OUT,
  'tools[].eager_input_streaming': LEFT_OUT,
  'tools[].max_characters': LEFT_OUT,
  'tools[].user_location': MAPPED,
  'tools[].user_location.type': MAPPED,
  'tools[].user_location.city': CARRIED,
  'tools[].user_location.country': CARRIED,
  'tools[].user_location.region': CARRIED,
  'tools[].user_location.timezone': CARRIED,
  'tools[].allowed_domains': LEFT_OUT,
  'tools[].blocked_domains': LEFT_OUT,
  'tools[].max_uses': LEFT_OUT,

  'messages[].role': CARRIED,
  'messages[].content': CARRIED,
  'messages[].clear_at': MAPPED,
  'messages[].output_config': MAPPED,
  'messages[].output_config.effort': MAPPED,
  'messages[].content[].type': MAPPED,
  'messages[].content[].text': CARRIED,
  'messages[].content[].citations': MAPPED,
  'messages[].content[].cache_control': MAPPED,
  'messages[].content[].source': MAPPED,
  'messages[].content[].title': MAPPED,
  'messages[].content[].context': MAPPED,
  'messages[].content[].thinking': MAPPED,
  'messages[].content[].signature': MAPPED,
  'messages[].content[].data': MAPPED,
  'messages[].content[].id': CARRIED,
  'messages[].content[].name': CARRIED,
  'messages[].content[].input': MAPPED,
  'messages[].content[].caller': MAPPED,
  'messages[].content[].toolset_name': MAPPED,
  'messages[].content[].tool_use_id': CARRIED,
  'messages[].content[].content': MAPPED,
  'messages[].content[].is_error': MAPPED,
  'messages[].content[].transformations': LEFT_OUT,
} as const satisfies Record<string, Row>;

/** What is asked of every member of every block: has it a canonical name? By the path up to the last name, then by that name. */
const NAMED: ReadonlyMap<string, ReadonlySet<string>> = namesByPrefix();
const ROWS: ReadonlyMap<string, Row> = new Map(Object.entries(MESSAGES_FIELDS));
const NONE: ReadonlySet<string> = new Set();

function namesByPrefix(): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const [path, { fate }] of Object.entries(MESSAGES_FIELDS)) {
    if (fate !== 'carried' && fate !== 'mapped') continue;
    const cut = path.lastIndexOf('.') + 1;
    const inner = names.get(path.slice(0, cut)) ?? new Set<string>();
    names.set(path.slice(0, cut), inner.add(path.slice(cut)));
  }
  return names;
}

const FATES = { 'left out': 'report', quiet: 'quiet', rejected: 'reject' } as const;

const isEmptyList = (value: JsonValue): boolean => Array.isArray(value) && value.length === 0;

const NEUTRAL: ReadonlyMap<string, (value: JsonValue) => boolean> = new Map([
  ['speed', (value) => value === 'standard'],
  ['mcp_servers', isEmptyList],
  ['tools[].input_examples', isEmptyList],
  ['tools[].eager_input_streaming', (value) => value === false],
  [
    'tools[].allowed_callers',
    (value) => Array.isArray(value) && value.every((caller) => caller === 'direct'),
  ],
]);

/** A value that says nothing: the field might as well not be there. */
function isNeutral(path: string, value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  return NEUTRAL.get(path)?.(value) === true;
}

/** Adds the members of `object` that have no canonical name, with the fate of each. `prefix` ends before the member's name. */
export function addNativeFields(fields: NativeField[], object: JsonObject, prefix: string): void {
  const named = NAMED.get(prefix) ?? NONE;
  for (const name in object) {
    if (named.has(name)) continue;
    const value = object[name];
    const path = prefix + name;
    if (value !== undefined && !isNeutral(path, value)) {
      fields.push(nativeField(path, name, value, ROWS.get(path)));
    }
  }
}

/** One field by its path, where its value, and not its name, has no canonical form. */
export function nativeField(path: string, name: string, value: JsonValue, row: Row = LEFT_OUT): NativeField {
  const fate = row.fate === 'carried' || row.fate === 'mapped' ? 'report' : FATES[row.fate];
  const field: NativeField = { protocol: 'messages', path, name, value, fate };
  if (row.message !== undefined) field.message = row.message;
  if (row.details !== undefined) field.details = row.details;
  return field;
}
