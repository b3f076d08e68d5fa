// Reads the print of a prompt from a request's bytes. A conversation repeats all that it said before, so what an earlier print knows is
// only hashed once more as a whole, and what was added is read item by item.
import type { PromptPart, PromptPrint } from '../../canonical/prompt-print.ts';
import { itemsAt, JsonSource, skipValue, type Members, type Range } from '../json/splice.ts';
import { skipSpace } from '../json/spans.ts';
import { hashesOf, ItemHasher } from './items.ts';
import { findMarks, withLists, type Mark } from './marks.ts';
import { behindRun, Hasher, NOTHING } from './runs.ts';
import type { PromptShape } from '../interface/prompt.ts';

interface PromptBody {
  bytes: Buffer;
  members: Members;
  model: string;
}

/** Further tools, blocks and messages are not told apart. */
const MOST_TOOLS = 512;
const MOST_MESSAGES = 2048;
/** Milliseconds that a provider keeps a prompt for, if nothing else is asked. */
const USUAL_LIFE = 5 * 60_000;
const HOUR_LIFE = 60 * 60_000;
const DAY_LIFE = 24 * HOUR_LIFE;
const COMMA = 0x2c;
const QUOTE = 0x22;
const NULL = 0x6e;

const EMPTY: PromptPart = { run: NOTHING, hashes: new Uint32Array(0), life: 0 };

/** `before`: prints of requests that it may go on from, the likeliest first. */
export function readPrompt(
  { bytes, members, model }: PromptBody,
  shape: PromptShape,
  before: readonly PromptPrint[],
): PromptPrint {
  const hashOf = (name: string): number => {
    const member = members.get(name);
    if (member === undefined || bytes[member.start] === NULL) return 0;
    return new Hasher(bytes, []).hash(member.start, member.end);
  };
  const parameters: Record<string, number> = {};
  for (const name of shape.parameters) {
    const hash = hashOf(name);
    if (hash !== 0) parameters[name] = hash;
  }
  const reader = new ListReader(bytes, shape);
  const tools = reader.whole(members.get(shape.tools), before, 'tools');
  const system = reader.whole(
    shape.system === undefined ? undefined : members.get(shape.system),
    before,
    'system',
  );
  const { messages, leading } = reader.messages(members.get(shape.messages), before);
  const retention = shape.retention === undefined ? undefined : members.get(shape.retention);
  const isForADay = retention !== undefined && textAt(bytes, retention) === '"24h"';
  return {
    model,
    cacheKey: shape.cacheKey === undefined ? 0 : hashOf(shape.cacheKey),
    parameters,
    tools,
    system,
    messages,
    leading,
    chained: shape.chains.some((name) => hashOf(name) !== 0),
    life: isForADay ? DAY_LIFE : messages.life || system.life || tools.life || USUAL_LIFE,
  };
}

function textAt(bytes: Buffer, { start, end }: Range): string {
  return end - start > 16 ? '' : bytes.toString('latin1', start, end);
}

class ListReader {
  readonly #bytes: Buffer;
  readonly #shape: PromptShape;

  constructor(bytes: Buffer, shape: PromptShape) {
    this.#bytes = bytes;
    this.#shape = shape;
  }

  /** Tools or system blocks: the same as before, or read anew. */
  whole(list: Range | undefined, before: readonly PromptPrint[], as: 'tools' | 'system'): PromptPart {
    if (list === undefined) return EMPTY;
    for (const { [as]: known } of before) {
      const same = behindRun(this.#bytes, list, known.run, this.#shape.marks);
      if (same?.at === list.end) return same.run === known.run ? known : { ...known, run: same.run };
    }
    const { hasher, items, source, life } = this.#open(list);
    const found = itemsAt(source, list.start);
    const run = hasher.run(list.start, list.end);
    if (as === 'tools') return { run, life, hashes: hashesOf(found, MOST_TOOLS, (tool) => items.tool(tool)) };
    const blocks = this.#bytes[list.start] === QUOTE ? [list] : found;
    return { run, life, hashes: hashesOf(blocks, MOST_MESSAGES, (block) => items.block(block)) };
  }

  messages(
    list: Range | undefined,
    before: readonly PromptPrint[],
  ): { messages: PromptPart; leading: number } {
    if (list === undefined) return { messages: EMPTY, leading: 0 };
    const start = skipSpace(this.#bytes, list.start + 1);
    for (const { messages: known, leading } of before) {
      const grown = known.run.bytes === 0 ? undefined : this.#grown({ start, end: list.end }, known);
      if (grown !== undefined) return { messages: grown, leading };
    }
    const { hasher, items, source, life, marks } = this.#open(list);
    const found = itemsAt(source, list.start);
    const last = found.at(-1);
    if (last === undefined) {
      // A text alone is one message.
      return {
        messages: { ...EMPTY, hashes: Uint32Array.of(hasher.hash(list.start, list.end)) },
        leading: 0,
      };
    }
    const hashes = hashesOf(found, MOST_MESSAGES, (message) => items.message(message));
    const leading = found.findIndex((message) => !items.isSystem(message));
    const run = new Hasher(this.#bytes, withLists(this.#bytes, start, marks)).run(start, last.end);
    return { messages: { run, life, hashes }, leading: leading === -1 ? found.length : leading };
  }

  /** `known` with the messages behind it. Undefined: the list does not go on from it. */
  #grown(list: Range, known: PromptPart): PromptPart | undefined {
    const bytes = this.#bytes;
    const same = behindRun(bytes, list, known.run, this.#shape.marks);
    if (same === undefined) return undefined;
    const next = skipSpace(bytes, same.at);
    if (next === list.end - 1) return same.run === known.run ? known : { ...known, run: same.run };
    if (bytes[next] !== COMMA) return undefined;
    const tail = { start: same.at, end: list.end };
    const { items, source, life, marks } = this.#open(tail);
    const added: Range[] = [];
    let at = next;
    while (bytes[at] === COMMA && at < list.end) {
      const start = skipSpace(bytes, at + 1);
      const end = skipValue(source, start, Infinity);
      added.push({ start, end });
      at = skipSpace(bytes, end);
    }
    const room = MOST_MESSAGES - known.hashes.length;
    const more = hashesOf(added, room, (message) => items.message(message));
    const hashes = new Uint32Array(known.hashes.length + more.length);
    hashes.set(known.hashes);
    hashes.set(more, known.hashes.length);
    return {
      run: new Hasher(bytes, withLists(bytes, same.at, marks)).run(
        same.at,
        added.at(-1)?.end ?? same.at,
        same.run,
      ),
      hashes,
      life: life || known.life,
    };
  }

  #open(range: Range): {
    hasher: Hasher;
    items: ItemHasher;
    source: JsonSource;
    life: number;
    marks: readonly Mark[];
  } {
    const bytes = this.#bytes;
    const marks = findMarks(bytes, range, this.#shape.marks);
    const hasher = new Hasher(bytes, marks);
    const source = new JsonSource(bytes.subarray(0, range.end));
    const last = marks.at(-1);
    const isForAnHour = last !== undefined && bytes.subarray(last.start, last.end).includes('"1h"');
    const life = last === undefined ? 0 : isForAnHour ? HOUR_LIFE : USUAL_LIFE;
    return { hasher, items: new ItemHasher(source, hasher, this.#shape.marks.names), source, life, marks };
  }
}
