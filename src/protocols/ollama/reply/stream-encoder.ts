// Canonical events as Ollama's stream: one JSON object a line. A call is a line of its own, since some readers take the first of a line
// alone.
import { append, type JsonObject } from '../../../canonical/json.ts';
import type { StreamEvent } from '../../../canonical/reply.ts';
import type { ReplyContext } from '../../interface/answer.ts';
import type { StreamEncoder } from '../../interface/stream.ts';
import { rawJson } from '../../json/raw-json.ts';
import { gatewayErrorOf } from '../../shared/client.ts';
import { createSourceList } from '../../shared/texts/source-list.ts';
import { encodeStreamError } from '../errors.ts';
import { encodeCall } from './encode.ts';
import { ending } from './ending.ts';
import type { Form, Said } from './forms.ts';

type EventOf<T extends StreamEvent['type']> = Extract<StreamEvent, { type: T }>;

interface OpenCall {
  id: string;
  name: string;
  arguments: string[];
}

const NOTHING_SAID: Said = { content: '' };

export function createStreamEncoder(context: ReplyContext, form: Form): StreamEncoder {
  return new LineWriter(context, form);
}

class LineWriter implements StreamEncoder {
  readonly #context: ReplyContext;
  readonly #form: Form;
  /** The model that answers; before that is known the one that was asked for. */
  #model: string;
  /** Of the first content: milliseconds since the request arrived. */
  #firstAt: number | undefined;
  readonly #calls = new Map<number, OpenCall>();
  #callCount = 0;
  #hasText = false;
  readonly #sources: ReturnType<typeof createSourceList>;
  /** Log probabilities of the text that comes next. */
  readonly #tokens: JsonObject[] = [];

  constructor(context: ReplyContext, form: Form) {
    const { model } = context.request.asked ?? {};
    this.#context = context;
    this.#form = form;
    this.#model = typeof model === 'string' ? model : '';
    this.#sources = createSourceList(context.request);
  }

  push(event: StreamEvent): string {
    switch (event.type) {
      case 'text_delta':
        return this.#text(event.text);
      case 'reasoning_delta':
        return event.text === '' ? '' : this.#line({ content: '', thinking: event.text });
      case 'tool_delta':
        this.#calls.get(event.index)?.arguments.push(event.text);
        return '';
      case 'start':
        this.#model = event.model;
        return '';
      case 'logprobs':
        append(this.#tokens, event.tokens);
        return '';
      case 'citation':
        this.#sources.add(event.citation);
        return '';
      case 'text_end':
        return this.#text(this.#sources.take());
      case 'tool_start':
        this.#firstAt ??= this.#context.elapsed();
        this.#calls.set(event.index, { id: event.id, name: event.name, arguments: [] });
        return '';
      case 'tool_end':
        return this.#call(event.index);
      case 'end':
        return this.#end(event);
      case 'error':
        return encodeStreamError(gatewayErrorOf(event.failure));
      // What these hold beside their deltas has no place here; the log reports what is left out.
      case 'text_start':
      case 'reasoning_start':
      case 'reasoning_end':
      case 'redacted':
      case 'native':
        return '';
    }
  }

  /** A line that says nothing: every reader takes it. */
  keepAlive(): string {
    return this.#written(this.#form.members(NOTHING_SAID));
  }

  /** Answers have no id. */
  replyIds(): undefined {
    return undefined;
  }

  #text(text: string): string {
    if (text === '') return '';
    this.#hasText = true;
    return this.#line({ content: text });
  }

  #call(index: number): string {
    const call = this.#calls.get(index);
    if (call === undefined) return '';
    this.#calls.delete(index);
    const written = { ...call, arguments: call.arguments.join('') };
    return this.#line({ content: '', calls: [encodeCall(written, this.#callCount++, this.#context.ids)] });
  }

  #line(said: Said): string {
    this.#firstAt ??= this.#context.elapsed();
    const members = this.#form.members(said);
    if (this.#tokens.length === 0 || said.content === '') return this.#written(members);
    return this.#written({ ...members, logprobs: this.#tokens.splice(0) });
  }

  #written(members: JsonObject): string {
    const created = new Date(this.#context.now()).toISOString();
    return `${rawJson({ model: this.#model, created_at: created, ...members, done: false })}\n`;
  }

  #end({ stop, usage }: EventOf<'end'>): string {
    let lines = '';
    for (const index of [...this.#calls.keys()]) lines += this.#call(index);
    if (!this.#hasText) lines += this.#text(stop.explanation ?? '');
    const last = this.#context.elapsed();
    const line = {
      model: this.#model,
      created_at: new Date(this.#context.now()).toISOString(),
      ...this.#form.members(NOTHING_SAID),
      ...(this.#tokens.length > 0 && { logprobs: this.#tokens.splice(0) }),
      ...ending(stop, usage, { first: this.#firstAt ?? last, last }),
    };
    return `${lines}${JSON.stringify(line)}\n`;
  }
}
