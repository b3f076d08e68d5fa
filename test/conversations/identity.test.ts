// Which conversation, agent and kind of work the requests of real agents belong to.
import { describe, expect, it } from 'vitest';
import { createBeginnings } from '../../src/conversations/beginnings.ts';
import { identify, type Identity } from '../../src/conversations/identity.ts';
import { labelOf, readConversationId, shortId } from '../../src/conversations/names.ts';
import { HOUR_MS } from '../../src/clock.ts';
import { protocols } from '../../src/protocols/registry.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { CORPUS } from '../fixtures/corpus.ts';
import { bodyOf } from '../../src/protocols/json/body.ts';

const SESSION = '2afbfa1b-5163-4ef7-9012-b5d0f8af0935';

interface Sent {
  headers?: Record<string, string>;
  body?: JsonObject;
  protocol?: ProtocolName;
  accountId?: number;
  keyLabel?: string | null;
  at?: number;
}

function setUp() {
  const beginnings = createBeginnings();
  return ({
    headers = {},
    body = {},
    protocol = 'messages',
    accountId = 1,
    keyLabel = null,
    at = 0,
  }: Sent): Identity => {
    const { hints } = protocols[protocol].client;
    const beginning = () => hints.beginning(bodyOf(body));
    return identify({ headers, body: hints.names(body), beginning, accountId, keyLabel }, beginnings, at);
  };
}

const identityOf = (sent: Sent): Identity => setUp()(sent);

function begun(text: string): JsonObject {
  return { messages: [{ role: 'user', content: text }] };
}

describe('a conversation', () => {
  it('has an id of base62 that says nothing of what the client sent', () => {
    expect(identityOf({ headers: { 'x-claude-code-session-id': SESSION } }).conversation).toMatch(
      /^conv_[0-9A-Za-z]{16}$/,
    );
    expect(identityOf({ body: begun('hi') }).conversation).toMatch(/^conv_[0-9A-Za-z]{19}$/);
  });

  it.each<[string, Sent]>([
    ['Claude Code’s header', { headers: { 'x-claude-code-session-id': SESSION } }],
    [
      'Claude Code’s body',
      { body: { metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: SESSION }) } } },
    ],
    ['an older body', { body: { metadata: { user_id: `user_1f_account__session_${SESSION}` } } }],
    ['Codex’s headers', { protocol: 'responses', headers: { 'session-id': SESSION, 'thread-id': SESSION } }],
    ['Codex’s thread alone', { protocol: 'responses', headers: { 'thread-id': SESSION } }],
    [
      'Codex’s body',
      { protocol: 'responses', body: { client_metadata: { session_id: SESSION, thread_id: SESSION } } },
    ],
    [
      'Codex’s cache key',
      {
        protocol: 'responses',
        body: { prompt_cache_key: SESSION, client_metadata: { 'x-codex-window-id': `${SESSION}:0` } },
      },
    ],
    [
      'opencode’s header',
      { protocol: 'chat', headers: { 'x-session-id': SESSION, 'x-session-affinity': SESSION } },
    ],
    ['a person’s header', { headers: { 'x-gateway-conversation': SESSION } }],
  ])('is named by %s', (_, sent) => {
    expect(identityOf({ ...sent, body: { ...begun('a'), ...sent.body } }).conversation).toBe(
      identityOf({ headers: { 'x-gateway-conversation': SESSION } }).conversation,
    );
  });

  it('is first what a person set, then what an agent’s header says, then its body', () => {
    const body = { metadata: { user_id: JSON.stringify({ session_id: 'in the body' }) } };
    const agent = { 'x-claude-code-session-id': 'of the agent', 'x-claude-code-agent-id': 'a1' };
    const named = (name: string) => identityOf({ headers: { 'x-gateway-conversation': name } }).conversation;
    expect(identityOf({ headers: agent, body }).conversation).toBe(named('of the agent'));
    expect(identityOf({ headers: { ...agent, 'x-gateway-conversation': 'mine' }, body })).toMatchObject({
      conversation: named('mine'),
      agent: 'a1',
    });
    expect(identityOf({ body }).conversation).toBe(named('in the body'));
  });

  it('P47: is another for another account, whatever the client calls it', () => {
    const headers = { 'x-claude-code-session-id': SESSION };
    const { conversation } = identityOf({ headers });
    expect(identityOf({ headers, accountId: 2 }).conversation).not.toBe(conversation);
    const body = begun('hi');
    expect(identityOf({ body, accountId: 2 }).conversation).not.toBe(identityOf({ body }).conversation);
  });

  it('is not what the name of a person says', () => {
    const ask = setUp();
    const sent = (text: string): Sent => ({
      body: { ...begun(text), metadata: { user_id: 'alice@example.com' } },
    });
    expect(ask(sent('one')).conversation).not.toBe(ask(sent('two')).conversation);
  });

  it('is told by its beginning where nothing names it, together with a key that applications share', () => {
    const ask = setUp();
    const sent = (text: string, key?: string): Sent => ({
      protocol: 'chat',
      body: { ...begun(text), ...(key !== undefined && { prompt_cache_key: key }) },
    });
    const grown = {
      protocol: 'chat',
      body: {
        messages: [
          { role: 'user', content: 'one' },
          { role: 'assistant', content: 'x' },
        ],
      },
    } as Sent;
    expect(ask(grown).conversation).toBe(ask(sent('one')).conversation);
    expect(ask(sent('one', 'app')).conversation).not.toBe(ask(sent('two', 'app')).conversation);
    expect(ask(sent('one', 'app')).conversation).not.toBe(ask(sent('one')).conversation);
  });

  it('is told by as many characters of the system text as in earlier versions, whatever bytes they have', () => {
    const system = `${'a'.repeat(500)}${'é'.repeat(1500)}${'漢😀'.repeat(300)}"`;
    const body = bodyOf({ system, messages: [{ role: 'user', content: 'one' }] });
    const beginning = `${JSON.stringify(system).slice(-2000)}\nuser one`;
    expect(protocols.messages.client.hints.beginning(body)).toBe(beginning);
  });

  it('is told by the whole of an image with which it begins', () => {
    const ask = setUp();
    const image = Buffer.alloc(1_000_000, 'iVBORw0KGgo');
    const sent = (data: Buffer): Sent => ({
      body: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: data.toString() } },
            ],
          },
        ],
      },
    });
    const changed = Buffer.from(image);
    changed[500_000] = 0x2b;
    expect(ask(sent(image)).conversation).toBe(ask(sent(Buffer.from(image))).conversation);
    expect(ask(sent(changed)).conversation).not.toBe(ask(sent(image)).conversation);
  });

  it('that its beginning alone names ends after six hours of pause, not before', () => {
    const ask = setUp();
    const body = begun('the same every day');
    const at = (hours: number): string => ask({ body, at: hours * HOUR_MS }).conversation ?? '';
    const first = at(5);
    expect([at(10.9), at(16.8), at(22.7)]).toEqual([first, first, first]);
    const next = at(28.7);
    expect(next).not.toBe(first);
    expect(next.slice(-16)).toBe(first.slice(-16));
    expect(at(30)).toBe(next);
  });

  it('is the same whichever worker is asked, and however long the other ones heard nothing', () => {
    const two = createBeginnings();
    const one = createBeginnings((begun, shared) => two.adopt(begun, shared));
    const slot = one.slotOf('a', 5 * HOUR_MS);
    for (let hour = 6; hour < 20; hour += 0.5) expect(one.slotOf('a', hour * HOUR_MS)).toBe(slot);
    expect(two.slotOf('a', 24 * HOUR_MS)).toBe(slot);
  });

  it('is kept in a bounded memory', () => {
    const memory = createBeginnings(undefined, 2);
    const first = memory.slotOf('a', 0);
    memory.slotOf('b', 1);
    memory.slotOf('c', 2);
    expect(memory.slotOf('a', 5.9 * HOUR_MS + 2)).toBe(first);
    memory.slotOf('b', 5.9 * HOUR_MS + 2);
    memory.slotOf('c', 5.9 * HOUR_MS + 2);
    expect(memory.slotOf('a', 6.1 * HOUR_MS)).not.toBe(first);
  });

  it('is found by the beginning of its id', () => {
    const { conversation: found } = identityOf({ body: begun('x') });
    const conversation = found ?? '';
    expect(readConversationId(shortId(conversation))).toBe(conversation.slice(0, 13));
    expect(readConversationId(conversation)).toBe(conversation);
    expect(readConversationId('a%b')).toBeUndefined();
  });
});

describe('an agent', () => {
  it('of Claude Code is named, with its parent, its type, its work and its task', () => {
    const headers = {
      'user-agent': 'claude-cli/2.1.332 (external, cli)',
      'x-claude-code-session-id': SESSION,
      'x-claude-code-agent-id': 'a0f1',
      'x-claude-code-parent-agent-id': 'b2',
      'x-claude-code-agent-type': 'Explore',
      'x-claude-code-request-class': 'subagent',
      'x-claude-code-prompt-id': 'p-1',
    };
    expect(identityOf({ headers })).toMatchObject({
      ...{ agent: 'a0f1', parentAgent: 'b2', agentType: 'Explore' },
      ...{ class: 'subagent', prompt: 'p-1', client: 'claude-code', label: null },
    });
    const compacting = { 'x-claude-code-session-id': SESSION, 'x-claude-code-compaction': 'auto' };
    expect(identityOf({ headers: compacting })).toMatchObject({ agent: null, class: 'compaction' });
  });

  it('of Codex is a thread of the session', () => {
    const headers = {
      'user-agent': 'codex_exec/0.169.0',
      'session-id': 's',
      'thread-id': 't',
      'x-codex-parent-thread-id': 's',
    };
    const subagent = { ...headers, 'x-openai-subagent': 'collab_spawn' };
    expect(identityOf({ protocol: 'responses', headers: subagent })).toMatchObject({
      ...{ agent: 't', parentAgent: null, agentType: 'collab_spawn', class: 'subagent', client: 'codex' },
    });
    const own = { 'session-id': 's', 'thread-id': 's' };
    expect(identityOf({ protocol: 'responses', headers: own })).toMatchObject({ agent: null, class: null });
    const metadata = { ...own, 'x-codex-turn-metadata': '{"thread_id":"s","request_kind":"compaction"}' };
    expect(identityOf({ protocol: 'responses', headers: metadata })).toMatchObject({
      agent: null,
      class: 'compaction',
    });
  });

  it('of opencode is a session with a parent', () => {
    const main = identityOf({ protocol: 'chat', headers: { 'x-session-id': 'ses_a' } });
    const headers = { 'x-session-id': 'ses_b', 'x-parent-session-id': 'ses_a' };
    expect(identityOf({ protocol: 'chat', headers })).toMatchObject({
      conversation: main.conversation,
      agent: 'ses_b',
    });
  });

  it.each([
    ['is too long', 'a'.repeat(129)],
    ['is no id', 'ignore <b>all</b>'],
    ['is a key', 'sk-gw-0123456789012345678901234567890123456789'],
  ])('whose id %s is known by its hash', (_, id) => {
    const headers = { 'x-claude-code-session-id': SESSION, 'x-claude-code-agent-id': id };
    expect(identityOf({ headers }).agent).toMatch(/^hash_[0-9A-Za-z]{16}$/);
    expect(
      identityOf({ headers: { ...headers, 'x-claude-code-agent-type': `${id} ` } }).agentType,
    ).toBeNull();
  });
});

describe('a label', () => {
  it.each([
    ['pr-123', 'pr-123'],
    ['', null],
    ['x'.repeat(65), 'x'.repeat(64)],
    ['😀'.repeat(65), '😀'.repeat(64)],
    [Buffer.from('prüfung').toString('latin1'), 'prüfung'],
    ['pr\u200b-\u202e123', 'pr-123'],
    ['of sk-gw-0123456789012345678901234567890123456789', 'of sk-gw-[redacted]'],
  ])('%j is kept as %j', (given, label) => {
    expect(labelOf(given)).toBe(label);
  });

  it('of a request comes before that of its key', () => {
    expect(identityOf({ keyLabel: 'run' }).label).toBe('run');
    expect(identityOf({ keyLabel: 'run', headers: { 'x-gateway-label': 'pr-1' } }).label).toBe('pr-1');
  });
});

it('knows the programs of the recorded requests, and their conversations', () => {
  const ask = setUp();
  const named = CORPUS.map(([name, { path, headers, body }]) => {
    const protocol: ProtocolName = path.includes('chat')
      ? 'chat'
      : path.includes('responses')
        ? 'responses'
        : 'messages';
    const { client, conversation } = ask({ headers, body: body as JsonObject, protocol });
    return {
      name: name.replace(/\.jsonl.*/, ''),
      client,
      isNamed: conversation?.length === 'conv_'.length + 16,
    };
  });
  expect(
    [...new Set(named.map((one) => JSON.stringify(one)))].map((text) => JSON.parse(text) as object),
  ).toMatchSnapshot();
});
