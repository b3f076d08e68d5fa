// Takes what one side answers, in pieces with their times, and makes the file of it.
import { answerFile, type AnswerEnd, type AnswerForm } from '../format.ts';
import { framesOf, lineOf, textOf, type Piece } from '../frames.ts';
import { jsonOf } from '../json.ts';
import { redactFrames } from '../redact/frames.ts';
import type { Redactor } from '../redact/redactor.ts';
import { indented } from './indent.ts';

/** Bytes of an answer that are kept: no client reads more. */
const MOST_BYTES = 64 * 1024 * 1024;

export class TakenAnswer {
  status: number | null = null;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>> = {};
  end: AnswerEnd = 'unreached';
  firstByteMs: number | null = null;
  readonly #pieces: Piece[] = [];
  #bytes = 0;

  begin(status: number, headers: Readonly<Record<string, string>>): void {
    this.status = status;
    this.headers = headers;
    this.end = 'stopped';
  }

  take(bytes: Buffer, ms: number): void {
    this.firstByteMs ??= ms;
    this.#bytes += bytes.length;
    if (this.#bytes <= MOST_BYTES) this.#pieces.push({ ms, bytes: Buffer.from(bytes) });
  }

  /** Its name and its text, without secrets; undefined: nothing came. */
  file(side: string, redactor: Redactor): [name: string, text: string] | undefined {
    if (this.#pieces.length === 0) return undefined;
    const isStream = this.headers['content-type']?.includes('event-stream') === true;
    const [form, text]: [AnswerForm, string] = isStream
      ? ['jsonl', this.#lines(redactor)]
      : this.#whole(redactor);
    return [answerFile(side, form), text];
  }

  #whole(redactor: Redactor): [AnswerForm, string] {
    const text = redactor.text(Buffer.concat(this.#pieces.map(({ bytes }) => bytes)).toString('utf8'));
    return jsonOf(text) === undefined ? ['txt', text] : ['json', indented(text)];
  }

  #lines(redactor: Redactor): string {
    const frames = framesOf(this.#pieces);
    const data = redactFrames(
      frames.map((frame) => (frame.data === '' ? textOf(frame) : frame.data)),
      redactor,
    );
    return frames
      .map((frame, at) => {
        const clean = data[at] ?? '';
        return lineOf(frame.data === '' ? { ...frame, text: clean } : { ...frame, data: clean });
      })
      .map((line) => `${line}\n`)
      .join('');
  }
}
