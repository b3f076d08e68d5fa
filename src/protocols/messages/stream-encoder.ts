// Canonical events as this protocol's stream. Only one block may be open, with indexes 0, 1, 2 … and no gap (readers look
// blocks up by position): the open one streams live, what belongs to others waits until it closes. Nothing is lost.
import type { Event } from '../../canonical/events.ts';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { NativePart } from '../../canonical/request.ts';
import type { Usage } from '../../canonical/usage.ts';
import type { ReplyContext, StreamEncoder } from '../protocol.ts';
import { fitToolId } from '../tool-calls.ts';
import { encodeStreamFailure } from './errors.ts';
import { messageId } from './reply.ts';
import type { WireMessage } from './schema.ts';
import { encodeStop } from './stop.ts';
import { encodeDeltaUsage, encodeUsage, estimateUsage } from './usage.ts';

export const PING = 'event: ping\ndata: {"type":"ping"}\n\n';
const MESSAGE_STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

type StartEvent = Extract<Event, { type: 'start' }>;
type EndEvent = Extract<Event, { type: 'end' }>;

/** A canonical block on its way out. Its frames without the index, which is known only when its turn comes. */
interface Pending {
  kind: 'text' | 'reasoning' | 'tool' | 'native';
  /** The `content_block` of its start; '' while nothing is worth a start. */
  start: string;
  /** Text (or the call's arguments) that waits: written as one delta. */
  held: string;
  /** Further `delta`s that wait: a signature, citations. */
  deltas: string[];
  ended: boolean;
  /** Free text of a custom call, which is one JSON string in the end. */
  free?: string;
}

const DELTA = {
  text: ['{"type":"text_delta","text":', '}'],
  reasoning: ['{"type":"thinking_delta","thinking":', '}'],
  tool: ['{"type":"input_json_delta","partial_json":', '}'],
  native: ['{"type":"input_json_delta","partial_json":', '}'],
} as const satisfies Record<Pending['kind'], readonly [string, string]>;

const TEXT_START = '{"type":"text","text":"","citations":null}';
const THINKING_START = '{"type":"thinking","thinking":"","signature":""}';

function deltaOf(kind: Pending['kind'], piece: string): string {
  const [before, after] = DELTA[kind];
  return before + JSON.stringify(piece) + after;
}

function startOfCall(event: Extract<Event, { type: 'tool_start' }>): string {
  return JSON.stringify({
    type: 'tool_use',
    id: fitToolId(event.id, 'messages'),
    name: event.name,
    input: {},
    caller: event.extra?.caller ?? { type: 'direct' },
  });
}

function whole(value: JsonObject, held: string): Pending {
  return { kind: 'native', start: JSON.stringify(value), held, deltas: [], ended: true };
}

/** A block of this protocol, whole; the input of a server tool goes as a delta, where readers look for it. */
function nativeBlock(part: NativePart): Pending {
  const { input } = part.value;
  if (!isObject(input) || Object.keys(input).length === 0) return whole(part.value, '');
  return whole({ ...part.value, input: {} }, JSON.stringify(input));
}

export function createStreamEncoder(context: ReplyContext): StreamEncoder {
  const hideThinking = context.request.reasoning?.display === 'omitted';
  const blocks = new Map<number, Pending>();
  const waiting: Pending[] = [];
  let opened: StartEvent | undefined;
  let begun = false;
  let over = false;
  /** The block on the wire, and its index there. */
  let current: Pending | undefined;
  let wireIndex = -1;
  let hasCalls = false;
  let characters = 0;

  function messageStart(): string {
    if (begun) return '';
    begun = true;
    const usage: Usage = opened?.usage ?? estimateUsage(context.estimateInput(), 0);
    const message: WireMessage = {
      id: messageId(opened?.id ?? '', context),
      type: 'message',
      role: 'assistant',
      model: opened?.model ?? '',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: encodeUsage({ ...usage, output: 1, reasoning: undefined }, opened?.serviceTier),
    };
    return `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message })}\n\n${PING}`;
  }

  function deltaFrame(delta: string): string {
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${wireIndex},"delta":${delta}}\n\n`;
  }

  function stopFrame(): string {
    return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${wireIndex}}\n\n`;
  }

  /** Puts the next waiting block on the wire, and the one after it if that one was complete already. */
  function advance(): string {
    let frames = '';
    while (current === undefined) {
      const block = waiting.shift();
      if (block === undefined) break;
      wireIndex++;
      frames += `event: content_block_start\ndata: {"type":"content_block_start","index":${wireIndex},"content_block":${block.start}}\n\n`;
      if (block.held !== '') frames += deltaFrame(deltaOf(block.kind, block.held));
      for (const delta of block.deltas) frames += deltaFrame(delta);
      block.held = '';
      block.deltas = [];
      if (block.ended) frames += stopFrame();
      else current = block;
    }
    return frames;
  }

  function enqueue(block: Pending): string {
    waiting.push(block);
    const start = messageStart();
    return start + advance();
  }

  function write(block: Pending, delta: string): string {
    if (block === current) return deltaFrame(delta);
    block.deltas.push(delta);
    return '';
  }

  function writePiece(block: Pending, text: string): string {
    if (block === current) return deltaFrame(deltaOf(block.kind, text));
    block.held += text;
    return '';
  }

  /** Text and thinking start with their first piece: an empty block would be refused when it comes back in a history. */
  function piece(index: number, kind: 'text' | 'reasoning', start: string, text: string): string {
    const block = blocks.get(index);
    if (block === undefined || text === '') return '';
    characters += text.length;
    let frames = '';
    if (block.start === '') {
      // White space between calls is no text of its own.
      if (kind === 'text' && current?.kind === 'tool' && text.trim() === '') return '';
      block.start = start;
      frames = enqueue(block);
    }
    return kind === 'reasoning' && hideThinking ? frames : frames + writePiece(block, text);
  }

  function end(index: number): string {
    const block = blocks.get(index);
    if (block === undefined) return '';
    blocks.delete(index);
    block.ended = true;
    if (block !== current) return '';
    current = undefined;
    return stopFrame() + advance();
  }

  function endReasoning(index: number, signature: string | undefined): string {
    const block = blocks.get(index);
    if (block === undefined) return '';
    let frames = '';
    if (block.start === '') {
      if (!signature) return end(index);
      block.start = THINKING_START;
      frames = enqueue(block);
    }
    // Strict readers wait for a signature; an empty one is taken out when the client sends it back.
    return (
      frames +
      write(block, `{"type":"signature_delta","signature":${JSON.stringify(signature ?? '')}}`) +
      end(index)
    );
  }

  function startTool(event: Extract<Event, { type: 'tool_start' }>): string {
    hasCalls = true;
    characters += event.name.length;
    const block: Pending = { kind: 'tool', start: startOfCall(event), held: '', deltas: [], ended: false };
    if (event.custom === true) block.free = '';
    blocks.set(event.index, block);
    return enqueue(block);
  }

  function toolDelta(index: number, text: string): string {
    const block = blocks.get(index);
    if (block === undefined || text === '') return '';
    characters += text.length;
    if (block.free === undefined) return writePiece(block, text);
    block.free += text;
    return '';
  }

  function endTool(index: number): string {
    const block = blocks.get(index);
    if (block?.free === undefined) return end(index);
    return writePiece(block, JSON.stringify({ input: block.free })) + end(index);
  }

  function finish(event: EndEvent): string {
    over = true;
    let frames = messageStart();
    for (const index of [...blocks.keys()]) frames += end(index);
    const usage = event.usage ?? estimateUsage(opened?.usage?.input ?? context.estimateInput(), characters);
    const delta = { ...encodeStop(event.stop, hasCalls), container: null };
    const data = JSON.stringify({ type: 'message_delta', delta, usage: encodeDeltaUsage(usage) });
    frames += `event: message_delta\ndata: ${data}\n\n`;
    return frames + MESSAGE_STOP;
  }

  function open(index: number, kind: 'text' | 'reasoning'): string {
    blocks.set(index, { kind, start: '', held: '', deltas: [], ended: false });
    return '';
  }

  function cite(index: number, event: Extract<Event, { type: 'citation' }>): string {
    const block = blocks.get(index);
    if (block === undefined || event.citation.protocol !== 'messages') return '';
    let frames = '';
    if (block.start === '') {
      block.start = TEXT_START;
      frames = enqueue(block);
    }
    return frames + write(block, JSON.stringify({ type: 'citations_delta', citation: event.citation.raw }));
  }

  function push(event: Event): string {
    switch (event.type) {
      case 'text_delta':
        return piece(event.index, 'text', TEXT_START, event.text);
      case 'reasoning_delta':
        return piece(event.index, 'reasoning', THINKING_START, event.text);
      case 'tool_delta':
        return toolDelta(event.index, event.text);
      case 'start':
        opened = event;
        return '';
      case 'text_start':
        return open(event.index, 'text');
      case 'reasoning_start':
        return open(event.index, 'reasoning');
      case 'tool_start':
        return startTool(event);
      case 'citation':
        return cite(event.index, event);
      case 'text_end':
        return end(event.index);
      case 'reasoning_end':
        return endReasoning(event.index, event.signature);
      case 'tool_end':
        return endTool(event.index);
      case 'redacted':
        return enqueue(whole({ type: 'redacted_thinking', data: event.data }, ''));
      case 'native':
        return event.part.protocol === 'messages' ? enqueue(nativeBlock(event.part)) : '';
      case 'end':
        return finish(event);
      case 'error':
        over = true;
        return encodeStreamFailure(event.failure);
    }
  }

  return { push: (event) => (over ? '' : push(event)) };
}
