// Cuts a text that comes in pieces at the first stop sequence that is complete in it. Each character is looked at once, however
// long the sequences are: they are the client's.

/** A sequence, and for each of its beginnings the length of the longest shorter one that this ends with. */
interface Sequence {
  text: string;
  borders: Uint32Array;
}

type Sequences = readonly Sequence[];

export function sequencesOf(texts: readonly string[]): Sequences {
  return texts.filter((text) => text !== '').map((text) => ({ text, borders: bordersOf(text) }));
}

function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  for (let at = 1; at < text.length; at++) {
    borders[at] = advance({ text, borders }, borders[at - 1] ?? 0, text.charCodeAt(at));
  }
  return borders;
}

/** How much of the sequence is met behind a further character, where `met` of it were met before. */
function advance({ text, borders }: Sequence, met: number, code: number): number {
  let length = met;
  while (length > 0 && text.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
  return text.charCodeAt(length) === code ? length + 1 : length;
}

export class StopCutter {
  readonly #sequences: Sequences;
  readonly #met: number[];
  /** Text that is held back, since it may be the start of a sequence: from `#offset` of the piece `#first` on. */
  #pieces: string[] = [];
  #first = 0;
  #offset = 0;
  #length = 0;

  constructor(sequences: Sequences) {
    this.#sequences = sequences;
    this.#met = sequences.map(() => 0);
  }

  /** What may go out; with `stop` it is the last: the sequence that is complete first, so that pieces make no difference. */
  push(piece: string): { text: string; stop?: string } {
    for (let at = 0; at < piece.length; at++) {
      const stop = this.#next(piece.charCodeAt(at));
      if (stop === undefined) continue;
      this.#add(piece.slice(0, at + 1));
      return { text: this.#take(this.#length - stop.length), stop };
    }
    this.#add(piece);
    return { text: this.#take(this.#length - this.#met.reduce((most, met) => Math.max(most, met), 0)) };
  }

  /** The rest: no sequence became of it. */
  finish(): string {
    return this.#take(this.#length);
  }

  /** The longest sequence that ends with this character. */
  #next(code: number): string | undefined {
    let found: string | undefined;
    for (const [index, sequence] of this.#sequences.entries()) {
      const met = advance(sequence, this.#met[index] ?? 0, code);
      this.#met[index] = met;
      if (met === sequence.text.length && met > (found?.length ?? 0)) found = sequence.text;
    }
    return found;
  }

  #add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  #take(length: number): string {
    let text = '';
    while (text.length < length) {
      const piece = this.#pieces[this.#first] ?? '';
      const part = piece.slice(this.#offset, this.#offset + length - text.length);
      text += part;
      this.#offset += part.length;
      if (this.#offset < piece.length) continue;
      this.#first++;
      this.#offset = 0;
    }
    this.#length -= length;
    if (this.#first === this.#pieces.length) {
      this.#pieces = [];
      this.#first = 0;
    } else if (this.#first > 1000 && 2 * this.#first > this.#pieces.length) {
      this.#pieces.splice(0, this.#first);
      this.#first = 0;
    }
    return text;
  }
}
