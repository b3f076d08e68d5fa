// The frames of a relayed stream that goes on with a stream which the gateway itself opened. A second `response.created` is dropped:
// readers take it for a second answer. Numbers go on with those of the opening. The Response has the id of the opening in each
// event, since some readers take the id from the first event (AI SDK, LangChain) and others from the last (Codex, the official
// SDK); an answer that the gateway does not store has the provider's id, which alone can be referred to.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { ReplyContext } from '../../protocol.ts';
import type { Frame } from '../../sse/splitter.ts';
import { listOf, stringOf } from '../reply/decode.ts';
import { isStored, noteReplyIds } from '../reply/response.ts';
import { typeOf } from './decoder.ts';
import type { Numbered } from './open-item.ts';
import { OutputSoFar } from './output-so-far.ts';

/** Not inside a string, where its quotes would be escaped. */
const NUMBER = /"sequence_number": ?\d+/;
const DELTA = '.delta';
const NOTHING = Buffer.alloc(0);

export class AdoptedFrames {
  readonly #frames: Numbered;
  readonly #id: string;
  readonly #context: ReplyContext;
  /** The Response of the last event that had one. */
  #response: JsonObject | undefined;
  /** Some servers leave the output to the items' own events. */
  readonly #output = new OutputSoFar();

  /** `id`: of the Response that was opened. */
  constructor(frames: Numbered, id: string, context: ReplyContext) {
    this.#frames = frames;
    this.#id = id;
    this.#context = context;
  }

  adopt(frame: Frame): Buffer {
    if (frame.event.endsWith(DELTA)) return latin1(this.#numbered(frame.text));
    const { value } = frame;
    if (!isObject(value)) return frame.bytes;
    const type = typeOf(value, frame.event);
    const { response, item, output_index: index } = value;
    if (isObject(response)) this.#response = response;
    if (isObject(item) && typeof index === 'number') this.#output.item(index, item, type.endsWith('.done'));
    if (type === 'response.created') return NOTHING;
    return latin1(this.#named(this.#numbered(frame.text), response));
  }

  answer(): JsonObject | undefined {
    if (this.#response === undefined) return undefined;
    const output = listOf(this.#response.output).length > 0 ? this.#response.output : this.#output.list();
    return { ...this.#response, id: this.#id, output };
  }

  #numbered(text: string): string {
    return text.replace(NUMBER, () => `"sequence_number":${this.#frames.next()}`);
  }

  #named(text: string, response: unknown): string {
    const id = isObject(response) ? stringOf(response.id) : '';
    if (id === '' || id === this.#id || !isStored(this.#context)) return text;
    noteReplyIds(this.#context, id, this.#id);
    return text.replace(`"${id}"`, () => `"${this.#id}"`);
  }
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
