// The history of Ollama's clients as canonical messages. Most of them know no ids of calls: a result belongs to the call of its name
// that waits for one, else to the first that waits.
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type { Message, NativeField, Part, ToolCallPart, ToolResultPart } from '../../../canonical/request.ts';
import { argumentsText } from '../../json/raw-json.ts';
import { refuse } from '../../shared/client.ts';
import { detectMediaType, mediaSource } from '../../shared/media.ts';
import { addNativeFields } from '../fields.ts';

const READ_MEMBERS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'thinking',
  'images',
  'tool_calls',
  'tool_name',
  'tool_call_id',
  'name',
]);

export function decodeMessages(messages: readonly JsonValue[]): Message[] {
  const calls = new OpenCalls();
  return messages.map((source, at) => {
    if (!isObject(source)) refuse(`messages[${at}]`, 'must be an object');
    const message = decodeMessage(source, at, calls);
    const native: NativeField[] = [];
    addNativeFields(native, source, 'messages[].', READ_MEMBERS);
    return native.length === 0 ? message : { ...message, native };
  });
}

function decodeMessage(source: JsonObject, at: number, calls: OpenCalls): Message {
  const { role } = source;
  const text = stringOf(source.content);
  const images = imageParts(source.images, `messages[${at}].images`);
  if (role === 'system') return { role, parts: [{ type: 'text', text }] };
  if (role === 'assistant') return { role, parts: assistantParts(source, at, calls) };
  if (role === 'tool') return { role: 'user', parts: [resultOf(source, text, images, calls)] };
  return { role: 'user', parts: withText(images, text) };
}

/** Text that is empty beside images is none. */
export function withText(images: readonly Part[], text: string): Part[] {
  return images.length > 0 && text === '' ? [...images] : [...images, { type: 'text', text }];
}

/** Base64 as a rule; some clients write the URL of data. `path`: of the list. */
export function imageParts(images: JsonValue | undefined, path: string): Part[] {
  if (!Array.isArray(images)) return [];
  return images.map((image, index) => {
    const at = `${path}[${index}]`;
    if (typeof image !== 'string' || image === '') refuse(at, 'must be a text in base64');
    if (/^(?:data:|https?:)/i.test(image)) return { type: 'image', source: mediaSource(image), at };
    const mediaType = detectMediaType(image) ?? 'image/png';
    return { type: 'image', source: { kind: 'base64', mediaType, data: image }, at };
  });
}

function assistantParts(source: JsonObject, at: number, calls: OpenCalls): Part[] {
  const parts: Part[] = [];
  const { thinking, content, tool_calls: called } = source;
  if (typeof thinking === 'string' && thinking !== '') parts.push({ type: 'reasoning', text: thinking });
  if (typeof content === 'string' && content !== '') parts.push({ type: 'text', text: content });
  if (!Array.isArray(called) || called.length === 0) return parts;
  calls.begin();
  for (const [index, call] of called.entries()) {
    parts.push(calls.add(readCall(call, `messages[${at}].tool_calls[${index}]`)));
  }
  return parts;
}

function readCall(value: JsonValue, path: string): ToolCallPart {
  if (!isObject(value)) refuse(path, 'must be an object');
  const { id, function: called } = value;
  if (!isObject(called)) refuse(`${path}.function`, 'must be an object');
  const { name, arguments: given } = called;
  if (typeof name !== 'string' || name === '') refuse(`${path}.function.name`, 'must be a non-empty string');
  return { type: 'tool_call', id: stringOf(id), name, arguments: argumentsText(given) || '{}' };
}

function resultOf(source: JsonObject, text: string, images: Part[], calls: OpenCalls): ToolResultPart {
  const { tool_name: tool, name, tool_call_id: id } = source;
  const callId = calls.answered(stringOf(id), stringOf(tool) || stringOf(name));
  return { type: 'tool_result', callId, content: images.length === 0 ? text : withText(images, text) };
}

interface NamedCall {
  id: string;
  name: string;
}

interface Waiting extends NamedCall {
  isAnswered: boolean;
}

/** The calls of the last turn with any. Ids are counted, so that the same history gives the same ones. */
export class OpenCalls {
  #byId = new Map<string, Queue>();
  #byName = new Map<string, Queue>();
  #all = new Queue();
  #count = 0;

  begin(): void {
    this.#byId = new Map();
    this.#byName = new Map();
    this.#all = new Queue();
  }

  /** With an id, if it has none. */
  add<Call extends NamedCall>(call: Call): Call {
    this.#count++;
    const named = call.id === '' ? { ...call, id: `call_${this.#count}` } : call;
    const waiting = { id: named.id, name: named.name, isAnswered: false };
    this.#all.push(waiting);
    queueIn(this.#byId, named.id).push(waiting);
    queueIn(this.#byName, named.name).push(waiting);
    return named;
  }

  /** The id of the call that a result is of: the one with its id, else the first of its name, else the first. */
  answered(id: string, name: string): string {
    const call =
      (id === '' ? undefined : this.#byId.get(id)?.first()) ??
      this.#byName.get(name)?.first() ??
      this.#all.first();
    if (call !== undefined) call.isAnswered = true;
    return call?.id ?? (id || 'call_unknown');
  }
}

function queueIn(queues: Map<string, Queue>, key: string): Queue {
  let queue = queues.get(key);
  if (queue === undefined) queues.set(key, (queue = new Queue()));
  return queue;
}

/** Calls in their order. Each is passed over once: a turn may have thousands. */
class Queue {
  readonly #calls: Waiting[] = [];
  #next = 0;

  push(call: Waiting): void {
    this.#calls.push(call);
  }

  /** The first that waits for its result. */
  first(): Waiting | undefined {
    while (this.#calls[this.#next]?.isAnswered === true) this.#next += 1;
    return this.#calls[this.#next];
  }
}
