// Hashes of the items of a prompt: tools by name and definition, blocks, messages. Two forms of one message have one hash: agents write
// its text as a list where they mark it, and as a text where they do not.
import { itemsAt, type JsonSource, type Member, type Range } from '../json/splice.ts';
import type { Hasher } from './runs.ts';

const TEXT = '"text"';
/** Roles of system text at the beginning of the messages, in every protocol. */
const SYSTEM_ROLES: ReadonlySet<string> = new Set(['"system"', '"developer"']);

export class ItemHasher {
  readonly #bytes: Buffer;
  readonly #source: JsonSource;
  readonly #hasher: Hasher;
  /** Names of members that are no part of the prompt. */
  readonly #marks: readonly string[];

  constructor(source: JsonSource, hasher: Hasher, marks: readonly string[]) {
    this.#bytes = source.bytes;
    this.#source = source;
    this.#hasher = hasher;
    this.#marks = marks;
  }

  /** The hashes of its name and of its definition. */
  tool(tool: Range): number[] {
    const members = itemsAt(this.#source, tool.start);
    const inner = members.find(({ name }) => name === 'function' || name === 'custom');
    const own = inner === undefined ? members : itemsAt(this.#source, inner.start);
    const named = member(own, 'name') ?? member(members, 'type') ?? tool;
    return [this.#hasher.hash(named.start, named.end), this.#hasher.hash(tool.start, tool.end)];
  }

  block({ start, end }: Range): number[] {
    return [this.#hasher.hash(start, end)];
  }

  message(message: Range): number[] {
    const members = itemsAt(this.#source, message.start);
    if (members.length === 0) return this.block(message);
    let hash = 0;
    for (const each of members) {
      if (each.name === 'content') hash = this.#content(each, hash);
      else if (!this.#marks.includes(each.name)) hash = this.#hasher.hash(each.nameStart, each.end, hash);
    }
    return [hash];
  }

  isSystem(message: Range): boolean {
    const role = member(itemsAt(this.#source, message.start), 'role');
    return role !== undefined && SYSTEM_ROLES.has(this.#text(role));
  }

  #content(content: Member, seed: number): number {
    const [only, ...more] = itemsAt(this.#source, content.start);
    const whole = more.length > 0 || only === undefined ? undefined : this.#textOf(only);
    const { start, end } = whole ?? content;
    return this.#hasher.hash(start, end, seed);
  }

  /** Of a block that is nothing but a text. */
  #textOf(block: Range): Range | undefined {
    const members = itemsAt(this.#source, block.start);
    const type = member(members, 'type');
    const text = member(members, 'text');
    if (type === undefined || text === undefined || this.#text(type) !== TEXT) return undefined;
    const isPlain = members.every(
      (each) => each === type || each === text || this.#marks.includes(each.name),
    );
    return isPlain ? text : undefined;
  }

  #text({ start, end }: Range): string {
    return end - start > 32 ? '' : this.#bytes.toString('latin1', start, end);
  }
}

function member(members: readonly Member[], name: string): Member | undefined {
  return members.find((each) => each.name === name);
}

/** Of the first `most` items, in one list. */
export function hashesOf(
  items: readonly Range[],
  most: number,
  hash: (item: Range) => readonly number[],
): Uint32Array {
  return Uint32Array.from(items.slice(0, most).flatMap(hash));
}
