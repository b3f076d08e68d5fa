// Why a conversation missed its prompt cache, through the whole gateway, at a provider with a true prefix cache. And that nothing is
// explained where nothing was missed.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { Peers, SharedTopic } from '../../src/app/parts.ts';
import type { StoredRequest } from '../../src/store/store.ts';
import { ask } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { createRepeats } from '../../src/repeats.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startPrefixCache, type PrefixCache } from '../helpers/prefix-cache.ts';
import { begin, bodyOf, goOn, SCRIPTS, tool, words, type State, type World } from './scripts.ts';

const PRICE = { input: 10, output: 30, cache_read: 1 };
const PROTOCOLS = ['chat', 'messages', 'responses'] as const;

const clock = manualClock();
let first: PrefixCache;
let second: PrefixCache;
/** Two workers of one gateway. */
let workers: TestGateway[];
let asked = 0;
let keys = 0;

function members(key = 'sk-first-0123456789'): JsonObject {
  const models = [
    { id: 'm', price: PRICE },
    { id: 's', price: PRICE },
  ];
  return {
    providers: {
      first: provider(first.url, 'messages', models, {
        protocol: [...PROTOCOLS],
        api_key: key,
        prompt_cache: 'off',
      }),
      second: provider(second.url, 'messages', models, { protocol: [...PROTOCOLS], prompt_cache: 'off' }),
    } as JsonObject,
    routes: { auto: ['first/m', 'second/m'], small: ['first/s'] },
    tiers: { enterprise: 100_000 },
  };
}

type Listener = (topic: SharedTopic, key: string, value: unknown) => void;

/** What workers told each other, for those that start later. */
const board: Parameters<Listener>[] = [];
const listeners: Listener[] = [];

/** What one worker tells, the other gets, as over the channel between processes. */
function peersOf(own: number): Peers {
  return {
    share(...shared) {
      const copy = structuredClone(shared);
      board.push(copy);
      listeners[1 - own]?.(...copy);
    },
    onShared(listener) {
      listeners[own] = listener;
      for (const shared of board) listener(...shared);
    },
    leads: own === 0,
    onLead: () => undefined,
    live: { recent: () => [], follow: () => () => undefined, watch: () => () => undefined } as never,
    sessions: undefined as never,
    repeats: createRepeats(clock),
    readMetrics: () => Promise.resolve(''),
    resetTargets: async () => ({ targets: [] }),
  };
}

async function startWorkers(key?: string): Promise<TestGateway[]> {
  const config = members(key);
  return Promise.all([0, 1].map((own) => startGateway({ config, clock, peers: peersOf(own) })));
}

const stopWorkers = (): Promise<unknown> => Promise.all(workers.map((worker) => worker.stop()));

beforeAll(async () => {
  [first, second] = [await startPrefixCache(clock), await startPrefixCache(clock)];
  workers = await startWorkers();
});
afterAll(async () => {
  await stopWorkers();
  await Promise.all([first.close(), second.close()]);
});
beforeEach(() => first.fail(500, 0));

const world: World = {
  wait: (ms) => clock.advance(ms),
  evict: () => first.evict(),
  outage: () => first.fail(503),
  // As a reload does with workers: others take their place.
  async newKey() {
    await stopWorkers();
    keys += 1;
    workers = await startWorkers(`sk-other-${keys}-0123456789`);
  },
};

/** Sends what the agent would send; `by`: the worker that gets it. */
async function send(protocol: ProtocolName, state: State, by = 0): Promise<StoredRequest> {
  clock.advance(3000);
  const worker = workers[by];
  if (worker === undefined) throw new Error('no such worker');
  asked += 1;
  const seen = await ask(worker, {
    protocol,
    model: state.model,
    stream: asked % 2 === 0,
    body: bodyOf(protocol, state),
    headers: state.headers,
  });
  expect(seen.status, seen.text).toBe(200);
  return lastRow(worker, seen.headers.get('x-request-id') ?? '');
}

async function lastRow({ store }: TestGateway, id: string): Promise<StoredRequest> {
  for (;;) {
    const row = (await store.listRequests({ limit: 5 })).find(({ requestId }) => requestId === id);
    if (row !== undefined) return row;
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1);
  }
}

describe.each([
  ['one worker', false],
  ['two workers in turn', true],
])('%s', (_, isShared) => {
  it.each(SCRIPTS)(
    '$protocol: $name is $cause',
    async ({ name, protocol, turns = 3, happens, cause, detail }) => {
      const state = begin(protocol, `${isShared ? 'two' : 'one'} ${name}`);
      if (name.includes('hour')) state.ttl = '1h';
      let had = 0;
      for (let turn = 0; turn < turns; turn++) {
        const row = await send(protocol, state, isShared ? turn % 2 : 0);
        expect(row).toMatchObject({ cacheMiss: null, cacheMissTokens: null, cacheMissCostUsd: null });
        had = (row.cacheRead ?? 0) + (row.cacheWrite ?? 0);
        goOn(state);
      }
      await happens(state, world);
      const missed = await send(protocol, state, isShared ? turns % 2 : 0);
      expect(missed).toMatchObject({
        cacheMiss: cause,
        cacheMissDetail: typeof detail === 'string' ? detail : (expect.stringMatching(detail) as string),
      });
      const tokens = missed.cacheMissTokens ?? 0;
      expect(tokens).toBeGreaterThanOrEqual(1024);
      expect(tokens).toBeLessThanOrEqual(had - (missed.cacheRead ?? 0));
      expect(missed.cacheMissCostUsd).toBeCloseTo((tokens * (PRICE.input - PRICE.cache_read)) / 1e6, 10);
      // And it is over then.
      goOn(state);
      expect(await send(protocol, state, isShared ? (turns + 1) % 2 : 0)).toMatchObject({ cacheMiss: null });
    },
  );
});

describe('nothing is explained where nothing was missed', () => {
  const none = async (protocol: ProtocolName, state: State, by = 0): Promise<void> => {
    expect(await send(protocol, state, by)).toMatchObject({ cacheMiss: null, cacheMissDetail: null });
  };

  it.each(PROTOCOLS)('while a conversation grows (%s)', async (protocol) => {
    const state = begin(protocol, `grows ${protocol}`);
    for (let turn = 0; turn < 12; turn++) {
      await none(protocol, state, turn % 2);
      goOn(state);
    }
  });

  it('where titles, sub-agents and the main part take turns', async () => {
    const main = begin('messages', 'turns');
    const title: State = {
      ...begin('messages', 'title'),
      tools: [],
      system: [words('title-', 900)],
      headers: main.headers,
    };
    const agent = begin('messages', 'agent');
    agent.headers = { ...main.headers, 'x-claude-code-agent-id': 'a1' };
    for (let turn = 0; turn < 5; turn++) {
      for (const part of [main, agent, title]) await none('messages', part, turn % 2);
      title.turns = [{ role: 'user', text: `title of ${turn}` }];
      goOn(main);
      goOn(agent, 'agent');
    }
  });

  it('where the user takes back turns', async () => {
    const state = begin('messages', 'undo');
    for (let turn = 0; turn < 4; turn++) {
      await none('messages', state);
      goOn(state);
    }
    state.turns.length = 3;
    await none('messages', state);
  });

  it('where a message is a text now, and a list before', async () => {
    const state = begin('messages', 'forms');
    for (let turn = 0; turn < 4; turn++) {
      await none('messages', state);
      goOn(state);
    }
    first.evict();
    const body = bodyOf('messages', state);
    const seen = await ask(workers[0] as TestGateway, {
      protocol: 'messages',
      model: 'auto',
      body: {
        ...body,
        messages: (body.messages as { role: string; content: { text: string }[] }[]).map(
          ({ role, content }) => ({
            role,
            content: content[0]?.text,
          }),
        ),
      },
      headers: state.headers,
    });
    const row = await lastRow(workers[0] as TestGateway, seen.headers.get('x-request-id') ?? '');
    expect(row).toMatchObject({ cacheMiss: 'evicted' });
  });

  it('where a line of the system text changes that the provider leaves out', async () => {
    const state = begin('messages', 'line');
    for (let turn = 0; turn < 4; turn++) {
      state.system[0] = `x-anthropic-billing-header: cc_version=2.1.332; cch=${turn}abc;`;
      await none('messages', state);
      goOn(state);
    }
    first.evict();
    state.system[0] = 'x-anthropic-billing-header: cc_version=2.1.332; cch=zzz;';
    expect(await send('messages', state)).toMatchObject({ cacheMiss: 'evicted' });
  });

  it('where the prompt is short', async () => {
    const state = begin('messages', 'short');
    state.system = ['Be brief.'];
    state.tools = [tool('Read')];
    state.turns = [{ role: 'user', text: words('w', 200) }];
    await none('messages', state);
    goOn(state);
    first.evict();
    await none('messages', state);
  });

  it('where two requests go on from one at the same time', async () => {
    const state = begin('chat', 'together');
    await none('chat', state);
    goOn(state);
    const other = { ...state, turns: [...state.turns] };
    goOn(other, 'other');
    await Promise.all([none('chat', state), none('chat', other, 1)]);
  });
});
