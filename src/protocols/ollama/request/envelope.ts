// What the gateway reads of every request of Ollama's clients: the model, whether it is to be streamed (it is, unless they say otherwise),
// what it needs, and whether anything is asked at all: a request without a question only loads the model.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { NO_NEEDS, type Needs } from '../../../canonical/traits.ts';
import type { BodyReading, Envelope } from '../../interface/bodies.ts';
import { readModelName, refuse } from '../../shared/client.ts';
import { isEffort } from '../../shared/effort.ts';
import { chatForm, generateForm, type Form } from '../reply/forms.ts';

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool']);

/** Older clients write `name`. */
export function modelIn({ model, name }: JsonObject): string {
  return readModelName({ model: model === undefined || model === null || model === '' ? name : model });
}

export function isStream({ stream }: JsonObject): boolean {
  if (stream === undefined || stream === null) return true;
  if (typeof stream !== 'boolean') refuse('stream', 'must be true or false');
  return stream;
}

/** An object; absent and null are an empty one. */
export function optionsIn({ options }: JsonObject): JsonObject {
  if (options === undefined || options === null) return {};
  if (!isObject(options)) refuse('options', 'must be an object');
  return options;
}

export function readChat({ value }: BodyReading): Envelope {
  const model = modelIn(value);
  const needs = needsOf(value);
  const { messages } = value;
  if (messages === undefined || messages === null || (Array.isArray(messages) && messages.length === 0))
    return ready(model, value, chatForm);
  if (!Array.isArray(messages)) refuse('messages', 'must be an array');
  for (const [at, message] of messages.entries()) {
    readMessage(message, at);
    needs.image ||= isObject(message) && isFilled(message.images);
  }
  return { model, stream: isStream(value), needs, ...limitOf(value) };
}

export function readGenerate({ value }: BodyReading): Envelope {
  const model = modelIn(value);
  const needs = needsOf(value);
  const { prompt, system, images } = value;
  for (const [name, text] of Object.entries({ prompt, system })) {
    if (text !== undefined && text !== null && typeof text !== 'string') refuse(name, 'must be a text');
  }
  checkImages(images, 'images');
  needs.image = isFilled(images);
  if ((prompt === undefined || prompt === null || prompt === '') && !needs.image)
    return ready(model, value, generateForm);
  return { model, stream: isStream(value), needs, ...limitOf(value) };
}

function readMessage(message: JsonValue, at: number): void {
  const path = `messages[${at}]`;
  if (!isObject(message)) refuse(path, 'must be an object');
  const { role, content, images, tool_calls: calls } = message;
  if (!ROLES.has(role)) refuse(`${path}.role`, `must be one of ${[...ROLES].join(', ')}`);
  if (content !== undefined && content !== null && typeof content !== 'string')
    refuse(`${path}.content`, 'must be a text');
  checkImages(images, `${path}.images`);
  if (calls !== undefined && calls !== null && !Array.isArray(calls))
    refuse(`${path}.tool_calls`, 'must be an array');
}

function checkImages(images: JsonValue | undefined, path: string): void {
  if (images === undefined || images === null) return;
  if (!Array.isArray(images) || images.some((image) => typeof image !== 'string'))
    refuse(path, 'must be an array of texts in base64');
}

function isFilled(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0;
}

function needsOf(value: JsonObject): Needs {
  const { tools, think, format } = value;
  if (tools !== undefined && tools !== null && !Array.isArray(tools)) refuse('tools', 'must be an array');
  checkOptions(optionsIn(value));
  return {
    ...NO_NEEDS,
    tools: isFilled(tools),
    thinking: asksToThink(think),
    structuredOutput: asksForStructure(format),
  };
}

function asksToThink(think: JsonValue | undefined): boolean {
  if (think === undefined || think === null || typeof think === 'boolean') return think === true;
  if (!isEffort(think)) refuse('think', 'must be true, false, or one of low, medium, high, max');
  return think !== 'none';
}

function asksForStructure(format: JsonValue | undefined): boolean {
  if (format === undefined || format === null || format === '') return false;
  if (format !== 'json' && !isObject(format)) refuse('format', 'must be "json" or a JSON schema');
  return true;
}

const NUMBERS = ['temperature', 'top_p', 'top_k', 'num_predict', 'seed'] as const;

function checkOptions(options: JsonObject): void {
  for (const name of NUMBERS) {
    const option = options[name];
    if (option !== undefined && option !== null && typeof option !== 'number')
      refuse(`options.${name}`, 'must be a number');
  }
  const { stop } = options;
  const isStop = stop === undefined || stop === null || typeof stop === 'string' || isTexts(stop);
  if (!isStop) refuse('options.stop', 'must be a text or an array of texts');
}

function isTexts(value: JsonValue): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

/** -1 is no limit, -2 the rest of the window. */
export function limitIn(options: JsonObject): number | undefined {
  const { num_predict: limit } = options;
  return typeof limit === 'number' && limit >= 1 ? Math.floor(limit) : undefined;
}

function limitOf(value: JsonObject): Pick<Envelope, 'outputLimit'> {
  const outputLimit = limitIn(optionsIn(value));
  return outputLimit === undefined ? {} : { outputLimit };
}

/** `keep_alive: 0` unloads: at a gateway both are the same. */
function ready(model: string, { keep_alive: keep }: JsonObject, form: Form): Envelope {
  const reason = keep === 0 || keep === '0' ? 'unload' : 'load';
  const readyAnswer = (now: number): JsonObject => ({
    model,
    created_at: new Date(now).toISOString(),
    ...form.members({ content: '' }),
    done: true,
    done_reason: reason,
  });
  return { model, stream: false, needs: NO_NEEDS, readyAnswer };
}
