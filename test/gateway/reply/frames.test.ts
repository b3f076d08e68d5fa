// The seam round the frames of an answer: who asks sees every event; a relay keeps its bytes until a step changes something.
import { expect, it } from 'vitest';
import { DEFAULT_TRAITS } from '../../../src/canonical/traits.ts';
import type { StreamEvent } from '../../../src/canonical/reply.ts';
import type { BuiltRequest } from '../../../src/gateway/outbound/build-request.ts';
import {
  createStep,
  stepped,
  type CreateEventStep,
  type EventStep,
} from '../../../src/gateway/outbound/event-steps.ts';
import { readUntilCommit } from '../../../src/gateway/outbound/first-frame.ts';
import type { FrameReader } from '../../../src/gateway/outbound/provider-reply.ts';
import { frames } from '../../../src/gateway/reply/frames.ts';
import { createRelay } from '../../../src/gateway/reply/relay.ts';
import { protocols } from '../../../src/protocols/registry.ts';
import { createSplitter } from '../../../src/protocols/sse/splitter.ts';
import { BOTH, context, ids, NOTHING } from '../../translation/pipeline.ts';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { content, FINISH, START, TERMINAL } from '../wire.ts';

const UNCHANGING: Omit<EventStep, 'push'> = {
  isHolding: () => false,
  giveUp: () => [],
  repaired: () => [],
};

/** Sees everything and changes nothing, as a recording does. */
function recorder(seen: StreamEvent[]): CreateEventStep {
  return () => ({
    ...UNCHANGING,
    push(event) {
      seen.push(event);
      return [event];
    },
  });
}

/** Holds each text until its block ends, and writes it in capitals. */
const shouting: CreateEventStep = () => {
  let held: Extract<StreamEvent, { type: 'text_delta' }>[] = [];
  const release = (): StreamEvent[] =>
    held.splice(0).map((event) => ({ ...event, text: event.text.toUpperCase() }));
  let changes: string[] = [];
  return {
    push(event) {
      if (event.type === 'text_delta') {
        held = [...held, event];
        return [];
      }
      if (held.length > 0) changes = ['text: shouted'];
      return [...release(), event];
    },
    isHolding: () => held.length > 0,
    giveUp: release,
    repaired: () => changes,
  };
};

/** The answer of a provider, relayed with these steps. */
async function relayed(protocol: ProtocolName, steps: readonly CreateEventStep[]) {
  const chunks = [START[protocol], content(protocol, 'one') + content(protocol, 'two')];
  const after = content(protocol, 'three') + FINISH[protocol] + TERMINAL[protocol];
  const split = (text: string) => createSplitter({ maxFrame: 1 << 20 }).push(Buffer.from(text));
  const readers: FrameReader[] = [];
  const ignore = (): void => undefined;
  const read = (reader: FrameReader): void => void readers.push(reader);
  const source = { read, hold: ignore, pause: ignore, resume: ignore, abort: ignore, release: ignore };
  const target = { traits: DEFAULT_TRAITS, provider: { headers: {} } };
  const request = { protocol: protocols[protocol], target, crossing: false, restore: NOTHING, steps };
  const opened = readUntilCommit(source, {
    request: request as unknown as BuiltRequest,
    usageAsked: true,
    ids,
  });
  for (const chunk of chunks) readers[0]?.frames(split(chunk));
  const opening = await opened;
  if (opening.kind !== 'stepped') throw new Error('the steps were not asked');
  const { client } = protocols[protocol];
  const relay = createRelay({ kind: 'relayed', ...opening.relayed, rest: [] }, client);
  const writer = frames(relay, opening, createStep(steps, ids), client, context(protocol));
  const moved = [writer.start(), writer.move(split(after))];
  expect(moved.at(-1)).toMatchObject({ complete: true });
  const text = Buffer.concat(moved.map(({ bytes }) => Buffer.from(bytes))).toString();
  return { text, original: chunks.join('') + after, repaired: writer.repaired?.() };
}

it.each(BOTH)(
  'a step that only looks sees all events of a relay of %s, whose bytes stay',
  async (protocol) => {
    const seen: StreamEvent[] = [];
    const { text, original, repaired } = await relayed(protocol, [recorder(seen)]);
    expect(text).toBe(original);
    expect(repaired).toBeUndefined();
    const texts = seen.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));
    expect(texts).toEqual(['one', 'two', 'three']);
    expect(seen.at(-1)?.type).toBe('end');
  },
);

it.each(BOTH)(
  'steps see a relay of %s one after the other, and what one changes is written',
  async (protocol) => {
    const [before, behind]: [StreamEvent[], StreamEvent[]] = [[], []];
    const { text, repaired } = await relayed(protocol, [recorder(before), shouting, recorder(behind)]);
    expect([...text.matchAll(/"(one|two|three)"/gi)].map(([, word]) => word)).toEqual([
      'ONE',
      'TWO',
      'THREE',
    ]);
    expect(repaired).toEqual(['text: shouted']);
    const textOf = (events: readonly StreamEvent[]) =>
      events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : [])).join(' ');
    expect(textOf(before)).toBe('one two three');
    expect(textOf(behind)).toBe('ONE TWO THREE');
  },
);

it('an answer that breaks off gives up what each step holds, through the steps behind it', () => {
  const seen: StreamEvent[] = [];
  const step = createStep([shouting, recorder(seen)], ids);
  expect(step.push({ type: 'text_delta', index: 0, text: 'half' })).toEqual([]);
  expect(step.isHolding()).toBe(true);
  expect(step.giveUp()).toEqual([{ type: 'text_delta', index: 0, text: 'HALF' }]);
  expect(seen).toEqual([{ type: 'text_delta', index: 0, text: 'HALF' }]);
});

it('a whole answer takes the same steps', () => {
  const reply = {
    id: 'a',
    model: 'm',
    parts: [{ type: 'text' as const, text: 'quiet' }],
    stop: { reason: 'end' as const },
    usage: undefined,
  };
  expect(stepped(reply, createStep([shouting], ids)).parts).toEqual([{ type: 'text', text: 'QUIET' }]);
});
