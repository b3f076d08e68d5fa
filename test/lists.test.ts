// Whoever sends a long list must not take quadratic time: one process answers all. Every list of the three protocols, in requests,
// streams and whole answers, in every order, is measured at 10,000 entries; the slowest of each step then as it grows from 1,000 to
// 100,000.
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../src/errors.ts';
import { ownArrival, readRequest, type Inbound } from '../src/gateway/inbound/read-request.ts';
import { buildRequest } from '../src/gateway/outbound/build-request.ts';
import type { JsonObject } from '../src/canonical/json.ts';
import type { ProtocolName } from '../src/canonical/request.ts';
import { protocols } from '../src/protocols/registry.ts';
import { rawJson } from '../src/protocols/json/raw-json.ts';
import { fasterThanLinear, isDone, processorTime } from './helpers/growth.ts';
import type { Make } from './lists/orders.ts';
import { REPLIES } from './lists/replies.ts';
import { REQUESTS } from './lists/requests.ts';
import { STREAMS } from './lists/streams.ts';
import { provider, target } from './routing/fixtures.ts';
import { ALL, context, mover, send } from './translation/pipeline.ts';

// Processor time is measured: where others load the machine, a test waits long for its own.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const SIZES = [1000, 10_000, 100_000];
const FIRST_LOOK = 10_000;

/** One list: what is done with it, step by step, each on its own. */
type Prepare<Step extends string> = (items: number) => Record<Step, () => unknown>;
type Lists<Step extends string> = readonly (readonly [string, Prepare<Step>])[];

/** For each step the list that takes it longest at 10,000 entries: what is quadratic takes longer than all that is not. */
function slowest<Step extends string>(
  steps: readonly Step[],
  lists: Lists<Step>,
): Record<Step, Lists<Step>[number]> {
  const worst = new Map<Step, { list: Lists<Step>[number]; time: number }>();
  for (const list of [...lists.slice(0, 3), ...lists]) {
    const work = list[1](FIRST_LOOK);
    for (const step of steps) {
      const time = timeOf(work[step]);
      if (time > (worst.get(step)?.time ?? -1)) worst.set(step, { list, time });
    }
    // The code is compiled for what it does most.
    if (list === lists[2]) worst.clear();
  }
  const found = steps.map((step) => [step, worst.get(step)?.list]);
  return Object.fromEntries(found) as Record<Step, Lists<Step>[number]>;
}

/** Infinity: it was ended. */
function timeOf(work: () => unknown): number {
  let done = false;
  const time = processorTime(() => {
    done = isDone(work);
  });
  return done ? time : Infinity;
}

function expectLinear<Step extends string>(step: Step, [name, prepare]: Lists<Step>[number]): void {
  const found = fasterThanLinear((items) => prepare(items)[step], undefined, SIZES);
  expect(found && [name, found]).toBeUndefined();
}

/** As far as it goes: some lists are refused, which takes no longer. */
function tried<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

const QUESTION: Record<ProtocolName, JsonObject> = {
  chat: { messages: [{ role: 'user', content: 'a' }] },
  messages: { max_tokens: 9000, messages: [{ role: 'user', content: 'a' }] },
  responses: { input: 'a' },
};

const bodyOf = (from: ProtocolName, make: Make, items: number): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', ...QUESTION[from], ...make(items) }));

const readAs = (from: ProtocolName, bytes: Buffer): Inbound | undefined =>
  tried(() => readRequest(ownArrival(protocols[from]), bytes));

const STEPS = ['read', 'routed', 'resolved', 'decoded', 'chat', 'messages', 'responses'] as const;

/** What is done with a body, up to the request for a provider of each protocol. */
function requestsOf(from: ProtocolName): Lists<(typeof STEPS)[number]> {
  const { hints, stored } = protocols[from].client;
  const nothing = { texts: new Map<string, string>(), opened: new Map<string, string>() };
  const options = { forwarded: { headers: [], query: '', longContext: false }, strict: false };
  const build = (inbound: Inbound, to: ProtocolName): unknown => {
    const one = provider('p', null, { protocols: [to], baseUrls: { [to]: 'https://p.example/v1' } });
    return buildRequest(inbound, target('p/m', {}, { provider: one }), options);
  };
  return REQUESTS[from].map(([name, make]) => [
    name,
    (items) => {
      const bytes = bodyOf(from, make, items);
      const inbound = readAs(from, bytes);
      /** A body that was not decoded before: each is decoded once. */
      const fresh = readAs(from, bytes);
      tried(() => inbound?.decode());
      const on = (work: (inbound: Inbound) => unknown) => () => inbound && tried(() => work(inbound));
      return {
        read: () => readAs(from, bytes),
        routed: on((body) => [
          hints.estimate(body.value),
          hints.names(body.value),
          hints.beginning(body),
          hints.hasOpenToolTurn(body),
        ]),
        resolved: on((body) => {
          if (stored === undefined) return;
          stored.references(body);
          const resolved = stored.resolve(body, nothing, { maxBody: bytes.length * 2, maxValues: Infinity });
          for (const _ of resolved.prepare());
          return resolved.translated();
        }),
        decoded: () => fresh && tried(() => protocols[from].client.decodeRequest(fresh.value, bytes)),
        chat: on((body) => build(body, 'chat')),
        messages: on((body) => build(body, 'messages')),
        responses: on((body) => build(body, 'responses')),
      };
    },
  ]);
}

describe.each(ALL)('P32: a long list in a request of %s', (from) => {
  let found: ReturnType<typeof slowest<(typeof STEPS)[number]>>;
  beforeAll(() => {
    found = slowest(STEPS, requestsOf(from));
  });

  it.each<[string, (typeof STEPS)[number]]>([
    ['is read', 'read'],
    ['is looked at for its route', 'routed'],
    ['is looked at for what it refers to', 'resolved'],
    ['is decoded', 'decoded'],
    ['is written for a provider of chat', 'chat'],
    ['is written for a provider of messages', 'messages'],
    ['is written for a provider of responses', 'responses'],
  ])('%s in linear time', (_, step) => expectLinear(step, found[step]));
});

function streamsOf(from: ProtocolName): Lists<ProtocolName> {
  return STREAMS[from].map(([name, make]) => [
    name,
    (items) => {
      const bytes = Buffer.from(make(items).join(''));
      const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) =>
        bytes.subarray(at * 65_536, (at + 1) * 65_536),
      );
      const to = (client: ProtocolName) => () => send(chunks, mover(client, from), true, bytes.length);
      return { chat: to('chat'), messages: to('messages'), responses: to('responses') };
    },
  ]);
}

describe.each(ALL)('P32: a long list in a stream of %s', (from) => {
  let found: ReturnType<typeof slowest<ProtocolName>>;
  beforeAll(() => {
    found = slowest(ALL, streamsOf(from));
  });

  it.each(ALL)('reaches a client of %s in linear time', (to) => expectLinear(to, found[to]));
});

function repliesOf(from: ProtocolName): Lists<ProtocolName> {
  const { provider: side, relay } = protocols[from];
  return REPLIES[from].map(([name, make]) => [
    name,
    (items) => {
      const source = Buffer.from(JSON.stringify(make(items)));
      const read = (): unknown => JSON.parse(source.toString());
      const to = (client: ProtocolName) => () =>
        client === from
          ? relay.inspectReply(read())
          : rawJson(protocols[client].client.encodeReply(side.decodeReply(read(), source), context(client)));
      return { chat: to('chat'), messages: to('messages'), responses: to('responses') };
    },
  ]);
}

describe.each(ALL)('P32: a long list in a whole answer of %s', (from) => {
  let found: ReturnType<typeof slowest<ProtocolName>>;
  beforeAll(() => {
    found = slowest(ALL, repliesOf(from));
  });

  it.each(ALL)('reaches a client of %s in linear time', (to) => expectLinear(to, found[to]));
});
