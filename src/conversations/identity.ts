// Which conversation a request belongs to, and whose part of it. Agents say so in headers or in the body; of others the beginning of
// the conversation tells. All of it is a client's text: bounded, never content, and told apart by account.
import { hash } from 'node:crypto';
import type { BodyNames } from '../canonical/body-names.ts';
import { nonEmpty } from '../canonical/json.ts';
import { withoutKeys } from '../ids.ts';
import type { Beginnings } from './beginnings.ts';
import { ID_PREFIX, labelOf } from './names.ts';

/** null: the client says nothing of it. */
export interface Identity {
  /** `conv_` and base62: the same for all requests of a conversation, and for no other account's. null: the request belongs to none. */
  readonly conversation: string | null;
  /** Nothing but how it begins names the conversation: another that begins alike soon is taken for it. */
  readonly begun: boolean;
  /** The part of a conversation that another agent than the first one does. */
  readonly agent: string | null;
  readonly parentAgent: string | null;
  readonly agentType: string | null;
  /** The kind of work. */
  readonly class: string | null;
  /** The task of a person. */
  readonly prompt: string | null;
  readonly label: string | null;
  /** The program, by its user agent. */
  readonly client: string | null;
  /** How long its last tools took, in milliseconds. */
  readonly tools: readonly ToolTime[] | null;
}

interface ToolTime {
  name: string;
  ms: number;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** What a request says of itself. */
interface Introduction {
  headers: Headers;
  body: BodyNames;
  /** The text of the conversation's beginning; read only where nothing else names the conversation. undefined: only a name makes the
   *  request a part of one. */
  beginning: (() => string) | undefined;
  /** The account's row, which a rename keeps; and the label of its key. */
  accountId: number;
  keyLabel: string | null;
}

export function identify(introduction: Introduction, beginnings: Beginnings, now: number): Identity {
  const { headers, body, keyLabel } = introduction;
  const told = toldBy(headers, body);
  const label = nonEmpty(headers['x-gateway-label']);
  return {
    conversation: conversationOf(introduction, told.conversation, beginnings, now),
    begun: told.conversation === undefined,
    agent: idOf(told.agent),
    parentAgent: idOf(told.parentAgent),
    agentType: wordOf(told.agentType),
    class: wordOf(told.class),
    prompt: idOf(told.prompt),
    label: label === undefined ? keyLabel : (labelOf(label) ?? keyLabel),
    tools: toolTimes(nonEmpty(headers['x-claude-code-prev-tool-durations'])),
    client: clientNamed(headers),
  };
}

/** As the client wrote it, so far unchecked. */
interface Told {
  conversation?: string | undefined;
  agent?: string | undefined;
  parentAgent?: string | undefined;
  agentType?: string | undefined;
  class?: string | undefined;
  prompt?: string | undefined;
}

/** In the order of trust: what a person set, headers of agents, ids in the body. */
function toldBy(headers: Headers, body: BodyNames): Told {
  const told = toldByAgent(headers, body);
  const set = nonEmpty(headers['x-gateway-conversation']);
  return set === undefined ? told : { ...told, conversation: set };
}

const NOTHING: Told = {};

function toldByAgent(headers: Headers, body: BodyNames): Told {
  if (nonEmpty(headers['x-claude-code-session-id']) !== undefined) return claudeCode(headers);
  const session = nonEmpty(headers['session-id']) ?? nonEmpty(headers['thread-id']);
  if (session !== undefined) {
    return codex(session, {
      thread: nonEmpty(headers['thread-id']),
      parent: nonEmpty(headers['x-codex-parent-thread-id']) ?? body.parentThread,
      kind: kindOf(headers) ?? body.subagent,
      prompt: body.turn,
    });
  }
  if (nonEmpty(headers['x-session-id']) !== undefined) return opencode(headers);
  if (body.session === undefined) return NOTHING;
  const { thread, parentThread: parent, subagent: kind, turn: prompt } = body;
  return codex(body.session, { thread, parent, kind, prompt });
}

function claudeCode(headers: Headers): Told {
  const kind = nonEmpty(headers['x-claude-code-request-class']);
  return {
    conversation: nonEmpty(headers['x-claude-code-session-id']),
    agent: nonEmpty(headers['x-claude-code-agent-id']),
    parentAgent: nonEmpty(headers['x-claude-code-parent-agent-id']),
    agentType: nonEmpty(headers['x-claude-code-agent-type']),
    class: kind ?? (nonEmpty(headers['x-claude-code-compaction']) === undefined ? undefined : 'compaction'),
    prompt: nonEmpty(headers['x-claude-code-prompt-id']),
  };
}

/** A session of Codex has a thread for each agent; that of the first one has the session's id. */
interface Thread {
  thread: string | undefined;
  parent: string | undefined;
  kind: string | undefined;
  prompt: string | undefined;
}

/** The word of its own header; without one, only compactions are recognised. */
function kindOf(headers: Headers): string | undefined {
  const kind = nonEmpty(headers['x-openai-subagent']);
  if (kind !== undefined) return kind;
  const turn = nonEmpty(headers['x-codex-turn-metadata']);
  return turn?.includes('"request_kind":"compaction"') === true ? 'compact' : undefined;
}

const CODEX_CLASSES: Readonly<Record<string, string>> = {
  compact: 'compaction',
  memory_consolidation: 'auxiliary',
};

function codex(session: string, { thread, parent, kind, prompt }: Thread): Told {
  const isOther = thread !== undefined && thread !== session;
  return {
    conversation: session,
    agent: isOther ? thread : undefined,
    parentAgent: isOther && parent !== session ? parent : undefined,
    agentType: isOther ? kind : undefined,
    class: kind === undefined ? undefined : (CODEX_CLASSES[kind] ?? 'subagent'),
    prompt,
  };
}

/** A sub-agent of opencode has a session of its own, and names that of its parent. */
function opencode(headers: Headers): Told {
  const own = nonEmpty(headers['x-session-id']);
  const parent = nonEmpty(headers['x-parent-session-id']);
  return parent === undefined ? { conversation: own } : { conversation: parent, agent: own };
}

const NAMED = 'named';
const BEGUN = 'begun';

/** An agent names its conversation in each request: to look its id up takes a tenth of the time of making it. */
const keptIds = new Map<string, string>();
const MOST_KEPT = 1000;
const LONGEST_KEPT = 256;

function keptId(accountId: number, named: string): string {
  const name = `${accountId} ${named}`;
  let id = keptIds.get(name);
  if (id === undefined) {
    if (keptIds.size >= MOST_KEPT) keptIds.clear();
    keptIds.set(name, (id = idOfName(accountId, named)));
  }
  return id;
}

/** The conversation that an agent of the account names by its own id. */
export function conversationNamed(accountId: number, named: string): string {
  return idOfName(accountId, named);
}

function idOfName(accountId: number, named: string): string {
  return ID_PREFIX + digest(`${accountId} ${NAMED} ${named}`);
}

function conversationOf(
  { accountId, body, beginning }: Introduction,
  named: string | undefined,
  beginnings: Beginnings,
  now: number,
): string | null {
  if (named !== undefined)
    return named.length > LONGEST_KEPT ? idOfName(accountId, named) : keptId(accountId, named);
  if (beginning === undefined) return null;
  // Applications give one key to all their conversations.
  const begun = digest(`${accountId} ${BEGUN} ${body.cacheKey ?? ''}\n${beginning()}`);
  return ID_PREFIX + beginnings.slotOf(begun, now) + begun;
}

/** Characters of a conversation's digest: 95 bits. */
const DIGEST_DIGITS = 16;

/** In base62; two characters of base64url count double. */
function digest(given: string): string {
  const text = hash('sha256', given, 'base64url').slice(0, DIGEST_DIGITS);
  return text.includes('-') || text.includes('_') ? text.replaceAll('-', 'x').replaceAll('_', 'y') : text;
}

/** Ids of agents are stored as they are where they have no more than these characters. */
const PLAIN_ID = /^[\w.:/@+-]{1,128}$/;

/** Another text is hashed: long ones, and those that may be more than an id. */
function idOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  return PLAIN_ID.test(given) && withoutKeys(given) === given ? given : `hash_${digest(given)}`;
}

/** Of one request. */
const MOST_TOOLS = 20;

/** `Bash=742;Read=9` */
function toolTimes(given: string | undefined): readonly ToolTime[] | null {
  if (given === undefined) return null;
  const times: ToolTime[] = [];
  for (const part of given.split(';', MOST_TOOLS)) {
    const [, word, ms] = /^\s*([^=]{1,64})=(\d{1,9})\s*$/.exec(part) ?? [];
    const name = wordOf(word);
    if (name !== null) times.push({ name, ms: Number(ms) });
  }
  return times.length === 0 ? null : times;
}

const WORD = /^[\w.:/@+-]{1,64}$/;

/** A kind of agent or of work; undefined for any other text. */
function wordOf(given: string | undefined): string | null {
  return given !== undefined && WORD.test(given) && withoutKeys(given) === given ? given : null;
}

/** The first product of a user agent, and the program; where the two are one name, no row is needed. */
const PROGRAMS: ReadonlyMap<string, string> = new Map([
  ['claude-cli', 'claude-code'],
  ['codex_exec', 'codex'],
  ['codex_cli_rs', 'codex'],
  ['codex_vscode', 'codex'],
  ['codex-tui', 'codex'],
  ['qwencode', 'qwen-code'],
]);

/** Some name their library first, and themselves behind it. */
const BEHIND: readonly (readonly [text: string, program: string])[] = [['agent-sdk/', 'claude-agent-sdk']];

/** Requests of one program follow each other. */
let lastAgent: string | undefined;
let lastClient: string | null = null;

const PRODUCT = /^[\w.+-]{1,64}/;

/** The program behind a request, as it names itself. */
export function clientNamed(headers: Headers): string | null {
  return clientOf(nonEmpty(headers['user-agent']) ?? nonEmpty(headers['originator']));
}

function clientOf(userAgent: string | undefined): string | null {
  if (userAgent === undefined) return null;
  if (userAgent === lastAgent) return lastClient;
  const client = programOf(userAgent);
  lastAgent = userAgent;
  lastClient = client;
  return client;
}

function programOf(userAgent: string): string | null {
  for (const [text, program] of BEHIND) if (userAgent.includes(text)) return program;
  const [product] = PRODUCT.exec(userAgent) ?? [];
  if (product === undefined) return null;
  const name = product.toLowerCase();
  return PROGRAMS.get(name) ?? name;
}
