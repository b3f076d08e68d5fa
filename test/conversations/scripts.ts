// Conversations of agents, one request after the other, with one cause each for which a prompt cache loses what it had.
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { MissCause } from '../../src/conversations/misses/cause.ts';

/** What an agent would send next. */
export interface State {
  model: string;
  members: JsonObject;
  tools: JsonObject[];
  /** Texts: the system text of every protocol. */
  system: string[];
  turns: { role: 'user' | 'assistant'; text: string }[];
  /** Of the marks of a messages client. */
  ttl?: '1h';
  headers: Record<string, string>;
}

/** What happens beside the conversation. */
export interface World {
  wait: (ms: number) => void;
  evict: () => void;
  /** The provider that answers first is down for one request. */
  outage: () => void;
  /** The provider's key is another one from now on. */
  newKey: () => Promise<void>;
}

export interface Script {
  name: string;
  protocol: ProtocolName;
  /** Turns before it happens. */
  turns?: number;
  happens: (state: State, world: World) => void | Promise<void>;
  cause: MissCause;
  detail: string | RegExp;
}

const MINUTE = 60_000;

export const words = (seed: string, count: number): string =>
  Array.from({ length: count }, (_, at) => `${seed}${at}`).join(' ');

export function tool(name: string): JsonObject {
  const description = words(`about-${name}-`, 40);
  return { name, description, input_schema: { type: 'object', properties: { path: { type: 'string' } } } };
}

export function begin(protocol: ProtocolName, name: string): State {
  return {
    model: 'auto',
    members: {},
    tools: ['Read', 'Write', 'Bash', 'Grep', 'Edit'].map(tool),
    system: [words(`${name}-rules-`, 500), words(`${name}-place-`, 100)],
    turns: [{ role: 'user', text: words(`${name}-task-`, 300) }],
    headers: protocol === 'chat' ? { 'x-session-id': name } : { 'x-claude-code-session-id': name },
  };
}

/** The model answered, and the user (or a tool) goes on. */
export function goOn(state: State, name = 'turn'): void {
  const at = state.turns.length;
  state.turns.push(
    { role: 'assistant', text: `answer ${at} ${words(`${name}${at}-a-`, 60)}` },
    { role: 'user', text: `result ${at} ${words(`${name}${at}-r-`, 120)}` },
  );
}

const block = (text: string, mark?: JsonObject): JsonObject =>
  mark === undefined ? { type: 'text', text } : { type: 'text', text, cache_control: mark };

export function bodyOf(protocol: ProtocolName, { members, tools, system, turns, ttl }: State): JsonObject {
  const mark: JsonObject = ttl === undefined ? { type: 'ephemeral' } : { type: 'ephemeral', ttl };
  if (protocol === 'messages') {
    return {
      max_tokens: 1000,
      // As agents write it: the messages first, and the mark on the last message alone.
      messages: turns.map(({ role, text }, at) => ({
        role,
        content: [at === turns.length - 1 ? block(text, mark) : block(text)],
      })),
      system: system.map((text, at) => (at === system.length - 1 ? block(text, mark) : block(text))),
      tools,
      ...members,
    };
  }
  const functions = tools.map(({ name, description, input_schema: parameters }) => ({
    name,
    description,
    parameters,
  }));
  if (protocol === 'chat') {
    return {
      messages: [
        ...system.map((content) => ({ role: 'system', content })),
        ...turns.map(({ role, text }) => ({ role, content: text })),
      ],
      tools: functions.map((own) => ({ type: 'function', function: own })),
      ...members,
    };
  }
  return {
    store: false,
    instructions: system.join('\n'),
    input: turns.map(({ role, text }) => ({ type: 'message', role, content: text })),
    tools: functions.map((own) => ({ type: 'function', ...own })),
    ...members,
  };
}

const later =
  (ms: number) =>
  (_: State, { wait }: World) =>
    wait(ms);
const set = (members: JsonObject) => (state: State) => void Object.assign(state.members, members);

export const SCRIPTS: readonly Script[] = [
  // Messages: marks.
  {
    name: 'another model',
    protocol: 'messages',
    happens: (state) => void (state.model = 'small'),
    cause: 'model',
    detail: 'auto → small',
  },
  {
    name: 'thinking is switched on',
    protocol: 'messages',
    happens: set({ thinking: { type: 'enabled', budget_tokens: 2000 } }),
    cause: 'parameters',
    detail: 'thinking added',
  },
  {
    name: 'another effort',
    protocol: 'messages',
    happens: set({ output_config: { effort: 'low' } }),
    cause: 'parameters',
    detail: 'output_config added',
  },
  {
    name: 'a forced call',
    protocol: 'messages',
    happens: set({ tool_choice: { type: 'any' } }),
    cause: 'parameters',
    detail: 'tool_choice added',
  },
  {
    name: 'a server connects at the end',
    protocol: 'messages',
    happens: ({ tools }) => void tools.push(tool('mcp__a')),
    cause: 'tools',
    detail: 'tool 6 added',
  },
  {
    name: 'a tool is found in the middle',
    protocol: 'messages',
    happens: ({ tools }) => void tools.splice(2, 0, tool('mcp__b')),
    cause: 'tools',
    detail: 'tool 3 added',
  },
  {
    name: 'a server disconnects',
    protocol: 'messages',
    happens: ({ tools }) => void tools.splice(1, 1),
    cause: 'tools',
    detail: 'tool 2 removed',
  },
  {
    name: 'the description of a tool changes',
    protocol: 'messages',
    happens: ({ tools }) => void (tools[3] = { ...tool('Grep'), description: 'new' }),
    cause: 'tools',
    detail: 'tool 4 changed',
  },
  {
    name: 'tools in another order',
    protocol: 'messages',
    happens: ({ tools }) => void tools.reverse(),
    cause: 'tools',
    detail: 'tool 1 moved',
  },
  {
    name: 'a date in the system text',
    protocol: 'messages',
    happens: ({ system }) => void (system[0] += ' Today is Tuesday.'),
    cause: 'system',
    detail: 'system block 1 changed',
  },
  {
    name: 'a further block of system text',
    protocol: 'messages',
    happens: ({ system }) => void system.splice(1, 0, 'Be quick.'),
    cause: 'system',
    detail: 'system block 2 added',
  },
  {
    name: 'a block of system text goes',
    protocol: 'messages',
    happens: ({ system }) => void system.shift(),
    cause: 'system',
    detail: 'system block 1 removed',
  },
  {
    name: 'a result is cut short',
    protocol: 'messages',
    turns: 6,
    happens: ({ turns }) => void (turns[2] = { role: 'user', text: '[removed]' }),
    cause: 'messages',
    detail: 'message 3 rewritten',
  },
  {
    name: 'a turn is taken out',
    protocol: 'messages',
    turns: 6,
    happens: ({ turns }) => void turns.splice(1, 2),
    cause: 'messages',
    detail: /^message 2 (rewritten|removed)$/,
  },
  {
    name: 'a compaction',
    protocol: 'messages',
    turns: 8,
    happens: (state) => void (state.turns = [{ role: 'user', text: words('summary-', 900) }]),
    cause: 'messages',
    detail: 'message 1 rewritten',
  },
  {
    name: 'a coffee',
    protocol: 'messages',
    happens: later(7 * MINUTE),
    cause: 'pause',
    detail: /^7m\d\ds without a request$/,
  },
  {
    name: 'a lunch, with marks for an hour',
    protocol: 'messages',
    happens: (state, world) => {
      state.ttl = '1h';
      world.wait(90 * MINUTE);
    },
    cause: 'pause',
    detail: /^90m\d\ds without a request$/,
  },
  {
    name: 'another target',
    protocol: 'messages',
    happens: (_, { outage }) => outage(),
    cause: 'target',
    detail: 'first/m → second/m',
  },
  {
    name: 'another key of the provider',
    protocol: 'messages',
    happens: (_, { newKey }) => newKey(),
    cause: 'key',
    detail: 'another key of the provider',
  },
  {
    name: 'the provider forgot',
    protocol: 'messages',
    happens: (_, { evict }) => evict(),
    cause: 'evicted',
    detail: /nothing differs/,
  },
  // Chat: automatic, from the beginning.
  {
    name: 'a tool is added',
    protocol: 'chat',
    happens: ({ tools }) => void tools.unshift(tool('new')),
    cause: 'tools',
    detail: 'tool 1 added',
  },
  {
    name: 'a system message changes',
    protocol: 'chat',
    happens: ({ system }) => void (system[0] = `Now. ${system[0]}`),
    cause: 'system',
    detail: 'system block 1 changed',
  },
  {
    name: 'the first message is rewritten',
    protocol: 'chat',
    turns: 4,
    happens: ({ turns }) => void (turns[0] = { role: 'user', text: 'else' }),
    cause: 'messages',
    detail: 'message 3 rewritten',
  },
  {
    name: 'another effort of reasoning',
    protocol: 'chat',
    happens: set({ reasoning_effort: 'high' }),
    cause: 'parameters',
    detail: 'reasoning_effort added',
  },
  {
    name: 'a meeting',
    protocol: 'chat',
    happens: later(40 * MINUTE),
    cause: 'pause',
    detail: /^\d+m\d\ds without a request$/,
  },
  {
    name: 'another cache key',
    protocol: 'chat',
    happens: set({ prompt_cache_key: 'other' }),
    cause: 'key',
    detail: 'another prompt cache key',
  },
  {
    name: 'another model name',
    protocol: 'chat',
    happens: (state) => void (state.model = 'small'),
    cause: 'model',
    detail: 'auto → small',
  },
  // Responses.
  {
    name: 'instructions change',
    protocol: 'responses',
    happens: ({ system }) => void (system[0] = `Now. ${system[0]}`),
    cause: 'system',
    detail: 'system block 1 changed',
  },
  {
    name: 'an item of the input is rewritten',
    protocol: 'responses',
    turns: 4,
    happens: ({ turns }) => void (turns[0] = { role: 'user', text: 'else' }),
    cause: 'messages',
    detail: 'message 1 rewritten',
  },
  {
    name: 'the provider forgot a response',
    protocol: 'responses',
    happens: (_, { evict }) => evict(),
    cause: 'evicted',
    detail: /nothing differs/,
  },
];
