// Vectors of texts, in Ollama's two forms: a list for a list, and the older one for a single text.
// https://docs.ollama.com/api/embed
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { totalInput, type Reply } from '../../../canonical/reply.ts';
import { NO_NEEDS } from '../../../canonical/traits.ts';
import { faulty } from '../../../failures.ts';
import type { ReplyContext } from '../../interface/answer.ts';
import type { Envelope } from '../../interface/bodies.ts';
import type { Carrier, Relayed } from '../../interface/endpoint.ts';
import { refuse } from '../../shared/client.ts';
import { throwFailure } from '../../shared/failures/provider-error.ts';
import { BELOW } from '../outline.ts';
import { modelIn } from '../request/envelope.ts';
import { nanoseconds } from '../reply/ending.ts';

/** One of the two forms. */
interface EmbedForm {
  path: string;
  /** The member with the texts. */
  input: 'input' | 'prompt';
  answer(vectors: JsonValue[]): JsonObject;
}

export const LIST: EmbedForm = {
  path: '/embed',
  input: 'input',
  answer: (vectors) => ({ embeddings: vectors }),
};

export const SINGLE: EmbedForm = {
  path: '/embeddings',
  input: 'prompt',
  answer: ([vector = []]) => ({ embedding: vector }),
};

/** `embeddings`: the endpoint of providers. */
export function embedAt(embeddings: Relayed, form: EmbedForm): Relayed {
  return {
    ...embeddings,
    path: form.path,
    below: BELOW,
    keyless: true,
    readEnvelope: ({ value }) => readEnvelope(value, form),
    carrier: carrierOf(embeddings, form),
  };
}

function readEnvelope(value: JsonObject, form: EmbedForm): Envelope {
  const model = modelIn(value);
  const input = value[form.input];
  const texts = Array.isArray(input) ? input : [input ?? ''];
  if (texts.some((text) => typeof text !== 'string')) refuse(form.input, 'must be a text or a list of texts');
  const envelope: Envelope = { model, stream: false, needs: NO_NEEDS };
  // Without a text the model is loaded.
  if (texts.some((text) => text !== '')) return envelope;
  return { ...envelope, readyAnswer: () => ({ model, ...form.answer([]) }) };
}

/** Their vectors ride in the canonical reply as a block of this protocol. */
const KIND = 'embeddings';
const NO_VECTORS = faulty('malformed', "the provider's answer has no list of vectors");

function carrierOf(embeddings: Relayed, { input }: EmbedForm): Carrier {
  const read: ReadonlySet<string> = new Set([
    ...['model', 'name', 'stream', 'keep_alive', 'dimensions'],
    input,
  ]);
  return {
    protocol: 'chat',
    encode(value, { upstream }) {
      const body: JsonObject = { model: upstream, input: value[input] };
      const { dimensions } = value;
      if (dimensions !== undefined && dimensions !== null) body.dimensions = dimensions;
      const left = Object.keys(value).filter((name) => !read.has(name) && isSaid(name, value[name]));
      return { body, left };
    },
    decodeReply(value) {
      const { usage } = embeddings.inspectReply(value);
      const reply: Reply = {
        id: '',
        model: isObject(value) && typeof value.model === 'string' ? value.model : '',
        parts: [{ type: 'native', protocol: 'ollama', kind: KIND, value: { vectors: vectorsIn(value) } }],
        stop: { reason: 'end' },
      };
      return usage === undefined ? reply : { ...reply, usage };
    },
  };
}

/** What is too long is cut by most providers, or refused with a word of theirs: `truncate: true` asks for nothing more. */
function isSaid(name: string, value: JsonValue | undefined): boolean {
  if (name === 'truncate') return value === false;
  const isEmpty = isObject(value) && Object.keys(value).length === 0;
  return value !== undefined && value !== null && !isEmpty;
}

/** In the order of the texts. */
function vectorsIn(value: unknown): JsonValue[] {
  const { data } = isObject(value) ? value : {};
  const rows = Array.isArray(data) ? data.filter(isObject) : [];
  const placed = rows.map(({ index, embedding }, at) => ({
    at: typeof index === 'number' ? index : at,
    embedding,
  }));
  return placed
    .sort((a, b) => a.at - b.at)
    .map(({ embedding }) => (Array.isArray(embedding) ? embedding : throwFailure(NO_VECTORS)));
}

export function encodeVectors(
  { model, parts, usage }: Reply,
  context: ReplyContext,
  form: EmbedForm,
): JsonObject {
  const [part] = parts;
  const vectors = part?.type === 'native' && Array.isArray(part.value.vectors) ? part.value.vectors : [];
  return {
    model,
    ...form.answer(vectors),
    total_duration: nanoseconds(context.elapsed()),
    load_duration: 0,
    ...(usage && { prompt_eval_count: totalInput(usage) }),
  };
}
