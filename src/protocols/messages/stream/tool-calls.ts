// Encodes the arguments of a call in pieces. Readers of this protocol parse them at the block's end and throw if they are not an object,
// so the encoder always sends an object.
import { rawJson } from '../../json/raw-json.ts';
import { PartialObject } from '../../json/partial-object.ts';
import { argumentsToObject, rawObject } from '../../shared/tool-names.ts';

export class CallInput {
  readonly #prefix = new PartialObject();
  #text = '';
  /** How much of the text was given out. */
  #told = 0;

  /** What may be written now: the piece, while all of it can still become an object. */
  push(piece: string): string {
    this.#text += piece;
    if (this.#prefix.state === 'broken' || !this.#prefix.push(piece) || this.#prefix.state === 'blank') {
      return '';
    }
    this.#told = this.#text.length;
    return piece;
  }

  /** The text is the beginning of an object: cut off or broken, which the stop reason shows. */
  get isOpen(): boolean {
    return this.#prefix.state === 'open';
  }

  /** Whether it is known that the text becomes no object, whatever follows. */
  get isBroken(): boolean {
    return this.#prefix.state === 'broken';
  }

  /** Nothing of what was given out has left: all of it is given again, with the rest. */
  takeBack(): void {
    this.#told = 0;
  }

  /**
   * The last piece; '' where nothing is missing. Arguments that are no object are wrapped as in a whole reply, if nothing of
   * them was told. Else what was told is made an object: its members are taken back, each with a null of the same name (readers
   * take the last), so that no client runs a tool with half of its arguments; then comes all that the model wrote, as `_raw`.
   * An error would throw the whole answer away, where a tool that refuses its input lets the model try again. An object with
   * something behind it stays that object.
   */
  rest(): string {
    const { state } = this.#prefix;
    if (state === 'whole' || state === 'blank') return '';
    if (this.#told === 0) {
      const whole = rawJson(argumentsToObject(this.#text).value);
      return whole === '{}' ? '' : whole;
    }
    const told = this.#text.slice(0, this.#told);
    const prefix = new PartialObject();
    prefix.push(told);
    if (prefix.state === 'whole') return '';
    const { text, empty } = prefix.completion();
    const names = Object.keys(JSON.parse(`${told}${text}}`) as object);
    const taken = Object.fromEntries(names.map((name) => [name, null]));
    const members = rawJson({ ...taken, ...rawObject(this.#text) }).slice(1);
    return `${text}${empty ? '' : ','}${members}`;
  }
}
