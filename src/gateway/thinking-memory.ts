// Stores signed thinking, and the signatures of calls, for clients whose protocol has no field for them. The key is made of the tool
// calls of the turn; when their results arrive, they are put back, so that a model can continue to think in a tool loop.
import type { JsonObject } from '../canonical/json.ts';
import type { StreamEvent, Reply } from '../canonical/reply.ts';
import type { GenerationRequest, Message, Part, ReasoningPart } from '../canonical/request.ts';
import { isSealed } from '../canonical/thinking-signature.ts';
import type { Logger } from '../log.ts';
import type { ReplyHolds } from '../protocols/interface/answer.ts';
import type { Target } from '../routing/catalog.ts';
import type { NewItem, SealedItems } from '../store/items/sealed-items.ts';
import type { Inbound } from './inbound/read-request.ts';
import { callsOf, turnKey, type TurnCall } from './inbound/turn-key.ts';

/** A part of a turn, with the number of calls that come before it. */
interface PlacedThinking {
  part: ReasoningPart;
  callsBefore: number;
}

/** What stands beside a call; `call`: its place among the calls of the turn. */
interface PlacedExtra {
  call: number;
  extra: JsonObject;
}

/** The stored thinking of a turn. Only the model that signed it accepts it. */
interface StoredTurn {
  family: string;
  model: string;
  thinking: readonly PlacedThinking[];
  extras?: readonly PlacedExtra[];
}

/** Collects what is signed in one answer and has no place in it. */
export class ThinkingCollector {
  readonly #holds: ReplyHolds;
  readonly #calls: TurnCall[] = [];
  readonly #thinking: PlacedThinking[] = [];
  readonly #extras: PlacedExtra[] = [];
  /** Calls by the index of their block. */
  readonly #byBlock = new Map<number, number>();
  #text = '';

  constructor(holds: ReplyHolds) {
    this.#holds = holds;
  }

  push(event: StreamEvent): void {
    switch (event.type) {
      case 'reasoning_start':
        this.#text = '';
        break;
      case 'reasoning_delta':
        this.#text += event.text;
        break;
      case 'reasoning_end':
        this.#add({ type: 'reasoning', text: this.#text, signature: event.signature });
        break;
      case 'redacted':
        this.#add({ type: 'reasoning', text: '', redacted: event.data });
        break;
      case 'tool_start':
        this.#byBlock.set(event.index, this.#calls.length);
        this.#addCall({ id: event.id, name: event.name, arguments: '' }, event.extra);
        break;
      case 'tool_delta': {
        const call = this.#calls[this.#byBlock.get(event.index) ?? -1];
        if (call !== undefined) call.arguments += event.text;
        break;
      }
      case 'tool_end':
        this.#addExtra(this.#byBlock.get(event.index), event.extra);
        break;
      default:
    }
  }

  pushReply({ parts }: Reply): void {
    for (const part of parts) {
      if (part.type === 'reasoning') this.#add(part);
      else if (part.type === 'tool_call') this.#addCall(part, part.extra);
    }
  }

  /** What to store of the turn: clients send all its calls back, in their order. undefined: nothing that a later request needs. */
  item({ family, upstream: model }: Target): NewItem | undefined {
    const id = this.#thinking.length + this.#extras.length === 0 ? undefined : turnKey(this.#calls);
    if (id === undefined) return undefined;
    const turn: StoredTurn = { family, model, thinking: this.#thinking };
    if (this.#extras.length > 0) turn.extras = this.#extras;
    return { kind: 'thinking', id, text: JSON.stringify(turn) };
  }

  #add(part: ReasoningPart): void {
    if (this.#holds.signedThinking || !isSealed(part)) return;
    this.#thinking.push({ part, callsBefore: this.#calls.length });
  }

  #addCall({ id, name, arguments: written }: TurnCall, extra: JsonObject | undefined): void {
    this.#addExtra(this.#calls.length, extra);
    this.#calls.push({ id, name, arguments: written });
  }

  #addExtra(call: number | undefined, extra: JsonObject | undefined): void {
    if (call !== undefined && extra && this.#holds.losesExtras(extra)) this.#extras.push({ call, extra });
  }
}

/** Open turns whose thinking is looked for, the newest first. */
const MOST_TURNS = 1000;

/** Stored turns by their keys. */
export type RecalledThinking = ReadonlyMap<string, StoredTurn>;

/** The stored thinking of the open tool turn. */
export async function recallThinking(
  inbound: Inbound,
  accountId: number,
  deps: { items: SealedItems; log: Logger },
): Promise<RecalledThinking | undefined> {
  const ids = openTurns(inbound.decode()).slice(-MOST_TURNS).map(keyOf);
  const known = ids.filter((id) => id !== undefined);
  if (known.length === 0) return undefined;
  try {
    const texts = await deps.items.find(accountId, 'thinking', known);
    if (texts.size === 0) return undefined;
    return new Map([...texts].map(([id, text]) => [id, JSON.parse(text) as StoredTurn]));
  } catch (error) {
    // The request continues without stored thinking: the model may think less, but nothing fails.
    deps.log.warn('stored thinking could not be read', { reason: String(error) });
    return undefined;
  }
}

/** The assistant turns after the user's last text that have no signed thinking. */
function openTurns({ messages }: GenerationRequest): Message[] {
  const asked = messages.findLastIndex(
    ({ role, parts }) => role === 'user' && parts.some(({ type }) => type !== 'tool_result'),
  );
  return messages
    .slice(asked + 1)
    .filter(
      ({ role, parts }) =>
        role === 'assistant' && !parts.some((part) => part.type === 'reasoning' && isSealed(part)),
    );
}

function keyOf({ parts }: Message): string | undefined {
  return turnKey(callsOf(parts));
}

/** The request with the thinking that this target signed; the same object if it signed none. */
export function withRecalledThinking(
  request: GenerationRequest,
  recalled: RecalledThinking,
  { family, upstream }: Target,
): GenerationRequest {
  const open = new Set(openTurns(request));
  let changed = false;
  const messages = request.messages.map((message) => {
    const id = open.has(message) ? keyOf(message) : undefined;
    const turn = id === undefined ? undefined : recalled.get(id);
    if (turn?.family !== family || turn.model !== upstream) return message;
    changed = true;
    return { ...message, parts: placed(message.parts, turn) };
  });
  return changed ? { ...request, messages } : request;
}

/** Thinking from before the first call becomes the start of the turn. */
function placed(parts: readonly Part[], { thinking, extras = [] }: StoredTurn): Part[] {
  const result: Part[] = [];
  // Both lists are in the order of the calls.
  let next = 0;
  const addUpTo = (calls: number): void => {
    for (; (thinking[next]?.callsBefore ?? Infinity) <= calls; next++) {
      const placed = thinking[next];
      if (placed !== undefined) result.push(placed.part);
    }
  };
  // Of two of one call the first counts.
  const extraOf = new Map([...extras].reverse().map((extra) => [extra.call, extra]));
  addUpTo(0);
  let calls = 0;
  for (const part of parts) {
    if (part.type === 'tool_call') {
      addUpTo(calls);
      const signed = extraOf.get(calls);
      calls++;
      result.push(signed ? { ...part, extra: { ...signed.extra, ...part.extra } } : part);
    } else result.push(part);
  }
  return result;
}
