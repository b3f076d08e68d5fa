// The gap between a prompt and a suffix, and prompts that are sent raw: completions of bare texts, which providers have at an endpoint of
// their own.
import { isObject, type JsonObject, stringOf } from '../../../canonical/json.ts';
import type { Reply, StreamEvent } from '../../../canonical/reply.ts';
import { BROKEN_OFF } from '../../../failures.ts';
import type { Carrier, Relayed } from '../../interface/endpoint.ts';
import type { StreamClassifier, StreamDecoder } from '../../interface/stream.ts';
import type { Frame } from '../../sse/splitter.ts';
import { BELOW } from '../outline.ts';
import { isStream, limitIn, modelIn, optionsIn, readGenerate } from '../request/envelope.ts';

/** Whether a body asks for one. */
export function isBareText({ suffix, raw }: JsonObject): boolean {
  return raw === true || (typeof suffix === 'string' && suffix !== '');
}

/** `completions`: the endpoint of providers. */
export function fillIn(completions: Relayed): Relayed {
  return {
    ...completions,
    path: '/generate',
    below: BELOW,
    keyless: true,
    readEnvelope(body) {
      const { value } = body;
      const envelope = readGenerate(body);
      if (envelope.readyAnswer === undefined || stringOf(value.suffix) === '') return envelope;
      // Nothing stands before the gap.
      return { model: modelIn(value), stream: isStream(value), needs: envelope.needs };
    },
    carrier: carrierOf(completions),
  };
}

const READ: ReadonlySet<string> = new Set([
  ...['model', 'name', 'prompt', 'suffix', 'raw'],
  ...['stream', 'keep_alive', 'options'],
]);
/** Options that the endpoint has under the same name. */
const OPTIONS = ['temperature', 'top_p', 'stop', 'seed', 'presence_penalty', 'frequency_penalty'] as const;

function carrierOf(completions: Relayed): Carrier {
  return {
    protocol: 'chat',
    encode(value, { upstream, traits }) {
      const { num_predict: _, top_k: topK, ...options } = optionsIn(value);
      const body: JsonObject = { model: upstream, prompt: stringOf(value.prompt) };
      const suffix = stringOf(value.suffix);
      if (suffix !== '') body.suffix = suffix;
      const limit = limitIn(optionsIn(value));
      if (limit !== undefined) body.max_tokens = limit;
      if (topK !== undefined && topK !== null && traits.topK) body.top_k = topK;
      const left = Object.keys(value).filter((name) => !READ.has(name) && isSaid(value[name]));
      for (const name of Object.keys(options)) {
        if (OPTIONS.some((known) => known === name)) body[name] = options[name];
        else left.push(`options.${name}`);
      }
      if (topK !== undefined && topK !== null && !traits.topK) left.push('options.top_k');
      if (isStream(value)) {
        body.stream = true;
        if (traits.streamUsage) body.stream_options = { include_usage: true };
      }
      return { body, left };
    },
    decodeReply(value) {
      const { usage, value: other } = completions.inspectReply(value);
      const answer = other ?? (isObject(value) ? value : {});
      const { text, finish } = choiceIn(answer);
      const reply: Reply = {
        id: '',
        model: stringOf(answer.model),
        parts: text === '' ? [] : [{ type: 'text', text }],
        stop: { reason: finish === 'length' ? 'length' : 'end', raw: finish },
      };
      return usage === undefined ? reply : { ...reply, usage };
    },
    createStreamDecoder() {
      const classifier = completions.createClassifier?.({ usageAsked: true });
      if (classifier === undefined) throw new Error('completions are not streamed');
      return new FillDecoder(classifier);
    },
  };
}

function isSaid(value: JsonObject[string]): boolean {
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return value !== undefined && value !== null && value !== '' && value !== false && !isEmpty;
}

/** Some servers answer in the form of a chat. */
function choiceIn({ choices }: JsonObject): { text: string; finish: string } {
  const [choice] = Array.isArray(choices) ? choices : [];
  if (!isObject(choice)) return { text: '', finish: '' };
  const { text, delta, message, finish_reason: finish } = choice;
  const said = isObject(delta) ? delta : isObject(message) ? message : {};
  return { text: stringOf(text) || stringOf(said.content), finish: stringOf(finish) };
}

/** One text block. */
class FillDecoder implements StreamDecoder {
  readonly #classifier: StreamClassifier;
  #isStarted = false;
  #finish = '';
  #isOver = false;

  constructor(classifier: StreamClassifier) {
    this.#classifier = classifier;
  }

  push(frame: Frame): StreamEvent[] {
    if (this.#isOver) return [];
    const seen = this.#classifier.classify(frame);
    if (seen.kind === 'error') {
      this.#isOver = true;
      return [{ type: 'error', failure: seen.failure }];
    }
    if (seen.kind === 'end') return this.#end('');
    const { value } = frame;
    if (!isObject(value)) return [];
    const { text, finish } = choiceIn(value);
    if (finish !== '') this.#finish = finish;
    const events = this.#start(stringOf(value.model));
    if (text !== '') events.push({ type: 'text_delta', index: 0, text });
    return events;
  }

  finish(clean: boolean): StreamEvent[] {
    if (this.#isOver) return [];
    if (clean && this.stopped()) return this.#end('');
    this.#isOver = true;
    return [{ type: 'error', failure: BROKEN_OFF }];
  }

  stopped(): boolean {
    return this.#finish !== '';
  }

  usage() {
    return this.#classifier.usage();
  }

  #start(model: string): StreamEvent[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    return [
      { type: 'start', id: '', model },
      { type: 'text_start', index: 0 },
    ];
  }

  #end(model: string): StreamEvent[] {
    const start = this.#start(model);
    this.#isOver = true;
    const usage = this.usage();
    const reason = this.#finish === 'length' ? 'length' : 'end';
    return [
      ...start,
      { type: 'text_end', index: 0 },
      { type: 'end', stop: { reason, raw: this.#finish }, ...(usage && { usage }) },
    ];
  }
}
