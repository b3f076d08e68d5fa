// What must hold for every answer, however its bytes are cut and whichever protocols are on the two sides: over the fixtures
// and over made-up answers.
import { readFileSync, readdirSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamEvent, Reply } from '../../src/canonical/reply.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { StreamClassifier } from '../../src/protocols/interface/stream.ts';
import { protocols } from '../../src/protocols/registry.ts';
import {
  createEventRestorer,
  restoreReply,
  type ReverseMapping,
} from '../../src/canonical/reverse-mapping.ts';
import { createSplitter } from '../../src/protocols/sse/splitter.ts';
import { content } from '../gateway/wire.ts';
import { ALL, collected, context, cutAt, eventsIn, mover, send, written } from './pipeline.ts';

const CASES = new URL('../fixtures/cases/', import.meta.url);
const FIXTURES = readdirSync(CASES).flatMap((name) =>
  ALL.map((protocol): [name: string, protocol: ProtocolName, sse: Buffer, whole: JsonObject] => [
    name,
    protocol,
    readFileSync(new URL(`${name}/${protocol}.sse`, CASES)),
    JSON.parse(readFileSync(new URL(`${name}/${protocol}.response.json`, CASES), 'utf8')) as JsonObject,
  ]),
);

/** What an answer says. Chat has no order of its parts, so that none is compared; ids and times are each answer's own. */
function said({ parts, stop, usage, model }: Reply): object {
  const text = (keep: (part: Reply['parts'][number]) => boolean): string =>
    parts.map((part) => ('text' in part && keep(part) ? part.text : '')).join('');
  const calls = parts.flatMap((part) =>
    part.type === 'tool_call' ? [{ name: part.name, arguments: part.arguments, id: part.id }] : [],
  );
  return {
    text: text((part) => part.type === 'text'),
    reasoning: text((part) => part.type === 'reasoning'),
    calls,
    stop: stop.reason,
    // On the wire, a count of the cache that nobody told is 0.
    usage: usage && { cacheRead: 0, cacheWrite: 0, ...usage },
    model,
  };
}

/** Arguments mean the same in any writing. */
function meant(reply: Reply): object {
  const parts = reply.parts.map((part) =>
    part.type === 'tool_call' && part.custom !== true
      ? { ...part, arguments: JSON.stringify(JSON.parse(part.arguments)) }
      : part,
  );
  return said({ ...reply, parts });
}

/** Every block opens once, gets its pieces and closes once; indexes count up; text and reasoning never overlap. */
function problems(events: readonly StreamEvent[]): string[] {
  const found: string[] = [];
  const open = new Map<number, string>();
  let next = 0;
  events.forEach((event, at) => {
    if ((event.type === 'start') !== (at === 0)) found.push(`${event.type} at ${at}`);
    if ((event.type === 'end' || event.type === 'error') !== (at === events.length - 1))
      found.push(`${event.type} at ${at} of ${events.length}`);
    if (!('index' in event)) return;
    const [kind = '', step = 'whole'] = event.type.split('_');
    if (step === 'start' || step === 'whole') {
      if (event.type === 'citation') {
        if (open.get(event.index) !== 'text') found.push(`citation outside of ${event.index}`);
        return;
      }
      if (event.index !== next++) found.push(`${event.type} has index ${event.index}`);
      if (kind !== 'tool' && [...open.values()].some((other) => other !== 'tool'))
        found.push(`${event.type} overlaps`);
      if (step === 'start') open.set(event.index, kind);
    } else if (open.get(event.index) !== kind) found.push(`${event.type} outside of ${event.index}`);
    else if (step === 'end') open.delete(event.index);
  });
  if (open.size > 0) found.push(`open at the end: ${[...open.keys()].join()}`);
  return found;
}

// -- made-up answers --

const piece = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }),
  fc.constantFrom(
    '\n',
    ' ',
    '🎉',
    '\u2028',
    '\r\n\r\n',
    'data: [DONE]\n\n',
    '"error"',
    '"finish_reason":"stop"',
    '\\',
  ),
);
const pieces = fc.array(piece, { minLength: 1, maxLength: 4 });
const call = fc.record({
  id: fc.stringMatching(/^[a-z]{12}$/),
  name: fc.stringMatching(/^[a-z_]{1,9}$/),
  args: fc.dictionary(piece, fc.oneof(piece, fc.integer(), fc.constant(null))),
  cuts: fc.array(fc.nat(60), { maxLength: 3 }),
});
const block = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), pieces }),
  fc.record({
    kind: fc.constant('reasoning' as const),
    pieces,
    signature: fc.constantFrom<string>('', 'c2ln'),
  }),
  fc.record({
    kind: fc.constant('calls' as const),
    calls: fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
    open: fc.boolean(),
  }),
);
type Block = typeof block extends fc.Arbitrary<infer T> ? T : never;
/** No call twice, no signature twice, no text without a visible character: as models answer. */
const answers = fc.array(block, { maxLength: 5 }).map((blocks) => {
  let count = 0;
  return blocks.map((item): Block =>
    item.kind === 'calls'
      ? { ...item, calls: item.calls.map((one) => ({ ...one, id: `call_${one.id}${count++}` })) }
      : {
          ...item,
          pieces: [...item.pieces, '.'],
          ...('signature' in item && item.signature !== '' && { signature: `${item.signature}${count++}` }),
        },
  );
});

/** `text` in pieces. */
function inPieces(text: string, places: readonly number[]): string[] {
  const sorted = [0, ...places.map((at) => at % (text.length + 1)).sort((a, b) => a - b), text.length];
  return sorted
    .slice(1)
    .map((end, at) => text.slice(sorted[at], end))
    .filter((part) => part !== '');
}

/** Calls side by side, their pieces in turn. */
function callEvents(calls: (Block & { kind: 'calls' })['calls'], first: number): StreamEvent[] {
  const events: StreamEvent[] = calls.map(({ id, name }, at) => ({
    type: 'tool_start',
    index: first + at,
    id,
    name,
  }));
  const texts = calls.map(({ args, cuts: places }) => inPieces(JSON.stringify(args), places));
  for (let round = 0; texts.some((list) => round < list.length); round++) {
    texts.forEach((list, at) => {
      const text = list[round];
      if (text !== undefined) events.push({ type: 'tool_delta', index: first + at, text });
    });
  }
  return events;
}

function eventsOf(blocks: readonly Block[]): StreamEvent[] {
  const events: StreamEvent[] = [
    { type: 'start', id: 'x', model: 'm', created: 1, usage: { input: 3, output: 1 } },
  ];
  const open: number[] = [];
  let index = 0;
  for (const item of blocks) {
    if (item.kind === 'calls') {
      events.push(...callEvents(item.calls, index));
      const ends = item.calls.map((_, at) => index + at);
      if (item.open) open.push(...ends);
      else events.push(...ends.map((at): StreamEvent => ({ type: 'tool_end', index: at })));
      index += ends.length;
      continue;
    }
    events.push({ type: `${item.kind}_start`, index });
    for (const text of item.pieces) events.push({ type: `${item.kind}_delta`, index, text });
    if (item.kind === 'text') events.push({ type: 'text_end', index });
    else events.push({ type: 'reasoning_end', index, signature: item.signature });
    index++;
  }
  events.push(...open.map((at): StreamEvent => ({ type: 'tool_end', index: at })));
  const reason = blocks.some(({ kind }) => kind === 'calls') ? 'tool_calls' : 'end';
  const usage = { input: 3, cacheRead: 2, output: 9, reasoning: 4 };
  return [...events, { type: 'end', stop: { reason }, usage }];
}

const cuts = fc.array(fc.nat(100_000), { maxLength: 12 });

describe.each(ALL)('%s', (protocol) => {
  const wire = protocols[protocol];

  it('reads from a stream what was written to it, with blocks that nest', () => {
    fc.assert(
      fc.property(answers, (blocks) => {
        const events = eventsOf(blocks);
        expect(problems(events)).toEqual([]);
        const again = eventsIn(protocol, written(protocol, events));
        expect(problems(again)).toEqual([]);
        expect(meant(collected(again))).toEqual(meant(collected(events)));
      }),
    );
  });

  it('says in a stream what it says in a whole reply', () => {
    fc.assert(
      fc.property(answers, (blocks) => {
        const reply = collected(eventsOf(blocks));
        const whole = wire.provider.decodeReply(
          JSON.parse(JSON.stringify(wire.client.encodeReply(reply, context(protocol)))),
        );
        expect(meant(whole)).toEqual(meant(reply));
        const streamed = collected(eventsIn(protocol, written(protocol, eventsOf(blocks))));
        expect(meant(streamed)).toEqual(meant(whole));
      }),
    );
  });

  it.each(ALL)('gives a %s client the same bytes however they were cut', (client) => {
    fc.assert(
      fc.property(answers, cuts, (blocks, places) => {
        const bytes = Buffer.from(written(protocol, eventsOf(blocks)));
        const whole = send([bytes], mover(client, protocol));
        expect(whole.complete).toBe(true);
        if (client === protocol) expect(whole.text).toBe(bytes.toString());
        expect(send(cutAt(bytes, places), mover(client, protocol))).toEqual(whole);
      }),
    );
  });

  it('means relayed what it means decoded and encoded again', () => {
    fc.assert(
      fc.property(answers, (blocks) => {
        const bytes = Buffer.from(written(protocol, eventsOf(blocks)));
        const relayed = send([bytes], mover(protocol, protocol)).text;
        const rewritten = written(protocol, eventsIn(protocol, bytes));
        expect(meant(collected(eventsIn(protocol, rewritten)))).toEqual(
          meant(collected(eventsIn(protocol, relayed))),
        );
      }),
    );
  });

  it.each(ALL.filter((name) => name !== protocol))('survives the way through %s and back', (other) => {
    fc.assert(
      fc.property(answers, (blocks) => {
        const events = eventsOf(blocks);
        const there = send([Buffer.from(written(protocol, events))], mover(other, protocol)).text;
        const back = send([Buffer.from(there)], mover(protocol, other)).text;
        expect(meant(collected(eventsIn(protocol, back)))).toEqual(meant(collected(events)));
      }),
    );
  });
});

/** Of a stream whose content has begun. */
function behindContent(protocol: ProtocolName): StreamClassifier {
  const classifier = protocols[protocol].relay.createClassifier({ usageAsked: false });
  const [frame] = createSplitter({ maxFrame: 1 << 20 }).push(Buffer.from(content(protocol, 'a')));
  if (frame === undefined || classifier.classify(frame).kind !== 'content') throw new Error('no content');
  return classifier;
}

describe.each(ALL)('%s frames that are forwarded unsplit', (protocol) => {
  const part = fc.constantFrom(
    '"usage"',
    '"finish_reason"',
    '"stop_reason"',
    '"error"',
    ':',
    ' : ',
    '{',
    '}',
    'null',
    '"stop"',
    '[DONE]',
    'data: ',
    'event: error\n',
    'event:error\n',
    'event: message_stop\n',
    'event: message_delta\n',
    'event: response.output_text.delta\n',
    'event: response.completed\n',
    '"response.failed"',
    '{"type":',
    '"message_stop"',
    '"x"',
    ',',
    '\n',
    '"choices":[]',
    '{"error":null}',
    '{"usage":null}',
  );

  it('are quiet one by one', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 9 }), (parts) => {
        const [frame] = createSplitter({ maxFrame: 1 << 20 }).push(Buffer.from(`${parts.join('')}\n\n`));
        const classifier = behindContent(protocol);
        if (frame === undefined || !classifier.isQuiet(frame.text)) return;
        expect(classifier.classify(frame)).toEqual({ kind: 'quiet' });
        expect(classifier.usage()).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('are most frames of an answer', () => {
    const text = written(
      protocol,
      eventsOf([{ kind: 'text', pieces: Array.from({ length: 20 }, () => 'a') }]),
    );
    const frames = createSplitter({ maxFrame: 1 << 20 }).push(Buffer.from(text));
    const classifier = behindContent(protocol);
    expect(frames.filter((frame) => classifier.isQuiet(frame.text)).length).toBeGreaterThanOrEqual(20);
  });
});

describe.each(FIXTURES)('%s of %s', (_name, protocol, sse, response) => {
  const wire = protocols[protocol];

  it('is the same reply after encoding, and collected from its stream', () => {
    const reply = wire.provider.decodeReply(response);
    const again = wire.provider.decodeReply(
      JSON.parse(JSON.stringify(wire.client.encodeReply(reply, context(protocol)))),
    );
    expect(again.parts).toEqual(reply.parts);
    expect(said(again)).toEqual(said(reply));
    const events = eventsIn(protocol, sse);
    expect(problems(events)).toEqual([]);
    expect(meant(collected(events))).toEqual(meant(reply));
  });

  it.each(ALL)('gives a %s client the same bytes cut at every place', (client) => {
    const whole = send([sse], mover(client, protocol));
    expect(whole.complete).toBe(true);
    if (client === protocol) expect(whole.text).toBe(sse.toString());
    const step = Math.max(1, Math.floor(sse.length / 40));
    for (let at = 1; at < sse.length; at += step)
      expect(send(cutAt(sse, [at]), mover(client, protocol)), `cut at ${at}`).toEqual(whole);
    const bytes = Array.from(sse, (byte) => Buffer.of(byte));
    expect(send(bytes, mover(client, protocol))).toEqual(whole);
    // Other ends of lines, a BOM, comments between: a translation is the same, a relay passes them on.
    for (const [mark, end] of [
      ['', '\r\n'],
      ['\ufeff', '\r'],
      [': waiting\n\n', '\n'],
    ] as const) {
      const other = Buffer.from(mark + sse.toString().replaceAll('\n', end));
      const expected = client === protocol ? { ...whole, text: other.toString() } : whole;
      const halves = cutAt(other, [other.length / 2, other.length / 3].map(Math.floor));
      expect(send(halves, mover(client, protocol))).toEqual(expected);
      expect(
        send(
          Array.from(other, (byte) => Buffer.of(byte)),
          mover(client, protocol),
        ),
      ).toEqual(expected);
    }
  });

  it('means relayed what it means decoded and encoded again', () => {
    const relayed = collected(eventsIn(protocol, send([sse], mover(protocol, protocol)).text));
    const rewritten = collected(eventsIn(protocol, written(protocol, eventsIn(protocol, sse))));
    expect(meant(rewritten)).toEqual(meant(relayed));
  });
});

describe('what is put back into an answer', () => {
  const restore: ReverseMapping = {
    toolNames: new Map([['wire_name', 'a.long.name']]),
    customTools: new Set(['patch']),
    structuredTool: 'answer',
    stop: ['END', 'ND!'],
  };
  const text = fc.oneof(piece, fc.constantFrom('E', 'N', 'D', 'EN', 'ND', '!', 'END'));
  const made = fc.record({
    before: fc.array(text, { maxLength: 6 }),
    kind: fc.constantFrom('wire_name', 'patch', 'answer'),
    input: fc.array(text, { maxLength: 6 }).map((list) => list.join('')),
    pieces: cuts,
  });

  it('is the same streamed, in any pieces, and whole, for either client', () => {
    fc.assert(
      fc.property(made, fc.constantFrom(...ALL), ({ before, kind, input, pieces: places }, provider) => {
        const events = eventsOf([]);
        const end = events.pop();
        if (end === undefined) return;
        const args = JSON.stringify({ input });
        events.push({ type: 'text_start', index: 0 });
        for (const delta of before) events.push({ type: 'text_delta', index: 0, text: delta });
        events.push(
          { type: 'text_end', index: 0 },
          { type: 'tool_start', index: 1, id: 'call_1', name: kind },
        );
        for (const delta of inPieces(args, places))
          events.push({ type: 'tool_delta', index: 1, text: delta });
        events.push({ type: 'tool_end', index: 1 }, {
          ...end,
          stop: { reason: 'tool_calls' },
        } as StreamEvent);
        const bytes = Buffer.from(written(provider, events));
        const plain = collected(eventsIn(provider, bytes));
        const expected = restoreReply(plain, restore);
        const restorer = createEventRestorer(restore);
        const streamed = collected(eventsIn(provider, bytes).flatMap((event) => restorer.push(event)));
        const { usage: _usage, ...rest } = said(expected) as Record<string, unknown>;
        expect(said(streamed)).toMatchObject(rest);
        for (const client of ALL.filter((name) => name !== provider)) {
          const whole = send([bytes], mover(client, provider, restore));
          expect(whole.complete).toBe(true);
          expect(send(cutAt(bytes, places), mover(client, provider, restore))).toEqual(whole);
        }
      }),
    );
  });
});
