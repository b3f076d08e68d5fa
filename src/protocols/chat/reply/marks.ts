// What an answer says of itself, and its chunks: its id, its model, why each choice ended.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { AnswerMarks } from '../../interface/answer.ts';

/** A choice with a larger index is not noted: no provider gives as many. */
const MOST_CHOICES = 128;

/** Some servers leave the id and the model of the first chunk empty. */
export class Marks {
  #id = '';
  #model = '';
  /** By the index of the choice. */
  readonly #finish = new Map<number, string>();

  read({ id, model, choices }: JsonObject): void {
    if (typeof id === 'string') this.#id ||= id;
    if (typeof model === 'string') this.#model ||= model;
    if (!Array.isArray(choices)) return;
    for (const choice of choices) {
      if (!isObject(choice) || typeof choice.finish_reason !== 'string') continue;
      const { index = 0 } = choice;
      if (typeof index === 'number' && index < MOST_CHOICES && !this.#finish.has(index))
        this.#finish.set(index, choice.finish_reason);
    }
  }

  list(): AnswerMarks {
    const finish = [...this.#finish].sort(([a], [b]) => a - b).map(([, word]) => word);
    return {
      ...(this.#id !== '' && { id: this.#id }),
      ...(this.#model !== '' && { model: this.#model }),
      ...(finish.length > 0 && { finish }),
    };
  }
}

export function readMarks(reply: JsonObject): AnswerMarks {
  const marks = new Marks();
  marks.read(reply);
  return marks.list();
}
