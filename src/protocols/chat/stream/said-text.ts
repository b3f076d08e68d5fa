// Compares the text of a stream with the explanation that a refusal gives at its end: some providers refuse in their text and explain
// it in the same words, which a client should get once.

/** Characters: explanations are a few sentences, and a long answer is not to be kept for the sake of one. */
const MOST = 16_384;

export class SaidText {
  #text = '';
  #isLong = false;

  add(text: string): void {
    if (this.#isLong) return;
    this.#text += text;
    this.#isLong = this.#text.length > MOST;
    if (this.#isLong) this.#text = '';
  }

  is(words: string): boolean {
    return !this.#isLong && this.#text === words;
  }
}
