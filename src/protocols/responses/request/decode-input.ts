// The input as a conversation. What the model gave in one go (reasoning, texts, calls) is one turn, the results of its calls follow
// it, and what comes after those is the next turn: signed thinking depends on it.
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type { Message, NativeField, Part, ReasoningPart, ToolCallPart } from '../../../canonical/request.ts';
import { signatureOfEncrypted } from '../../../canonical/thinking-signature.ts';
import { rawObjectJson } from '../../json/raw-json.ts';
import { refuse } from '../../shared/client.ts';
import { addNativeFields, nativeField } from '../fields.ts';
import { openReasoning, SEAL_MARK } from '../reply/items.ts';
import { decodeParts } from './decode-content.ts';
import { isMessage } from './envelope.ts';
import type { BuiltIn, ToolDirectory } from './tools.ts';

interface Conversation {
  messages: Message[];
  tools: ToolDirectory;
  native: NativeField[];
  /** Ids of items -> ids of their calls: some results name the item. */
  calls?: Map<string, string>;
  /** Calls of tools that the request does not list, which stand as text. */
  asText?: Set<string>;
}

export function decodeInput({ input }: JsonObject, tools: ToolDirectory, native: NativeField[]): Message[] {
  if (typeof input === 'string') return [{ role: 'user', parts: [{ type: 'text', text: input }] }];
  const into: Conversation = { messages: [], tools, native, calls: undefined, asText: undefined };
  (Array.isArray(input) ? input : []).forEach((item, index) => {
    if (isObject(item)) decodeItem(item, `input[${index}]`, into);
  });
  return into.messages;
}

type ItemReader = (item: JsonObject, at: string, into: Conversation) => void;

function decodeItem(item: JsonObject, at: string, into: Conversation): void {
  if (isMessage(item)) {
    readMessage(item, at, into);
    return;
  }
  const type = stringOf(item.type) || 'item_reference';
  const read = READERS.get(type);
  if (read === undefined) {
    addNative(item, type, at, into);
    return;
  }
  addNativeFields(into.native, item, 'input[].');
  read(item, at, into);
}

// -- turns --

/** Continues the model's turn, or begins one. */
function addOutput(part: Part, { messages }: Conversation): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant') last.parts.push(part);
  else messages.push({ role: 'assistant', parts: [part] });
}

/** Results stand together, apart from what a user says. */
function addResult(part: Part, { messages }: Conversation): void {
  const last = messages.at(-1);
  // All parts of a message are results, or none: only here are they added to one.
  if (last?.role === 'user' && (last.parts[0]?.type ?? part.type) === 'tool_result') last.parts.push(part);
  else messages.push({ role: 'user', parts: [part] });
}

const readMessage: ItemReader = (item, at, into) => {
  addNativeFields(into.native, item, 'input[].');
  const parts = decodeParts(item.content, `${at}.content`, into.native);
  const { role } = item;
  if (role === 'assistant') for (const part of parts) addOutput(part, into);
  else if (role === 'developer') into.messages.push({ role: 'system', parts, developer: true });
  else into.messages.push({ role: role === 'system' ? 'system' : 'user', parts });
};

/** Items of tools that a provider ran, and those that nobody knows: kept for a provider of this protocol. */
function addNative(value: JsonObject, kind: string, at: string, into: Conversation): void {
  const part: Part = { type: 'native', protocol: 'responses', kind, value, fate: 'report', at };
  const isResult = kind.endsWith('_output') || kind.endsWith('_response');
  if (isResult) into.messages.push({ role: 'user', parts: [part] });
  else addOutput(part, into);
}

// -- reasoning --

function joinedText(list: JsonValue | undefined): string {
  if (!Array.isArray(list)) return '';
  return list
    .map((part) => (isObject(part) ? stringOf(part.text) : ''))
    .filter((text) => text !== '')
    .join('\n\n');
}

function decodeReasoning(item: JsonObject): ReasoningPart | 'unreadable' | undefined {
  const { summary, content, encrypted_content: blob } = item;
  const text = joinedText(content) || joinedText(summary);
  // Of another account, or older than the key: nobody can read it. Raw text beside it needs no key.
  if (typeof blob === 'string' && blob.startsWith(SEAL_MARK)) {
    const raw = joinedText(content);
    return raw === '' ? 'unreadable' : { type: 'reasoning', text: raw };
  }
  if (typeof blob === 'string' && blob !== '') {
    const signature = signatureOfEncrypted({ id: stringOf(item.id), content: blob });
    return openReasoning(blob) ?? { type: 'reasoning', text, signature, fate: 'report' };
  }
  return text === '' ? undefined : { type: 'reasoning', text };
}

const readReasoning: ItemReader = (item, _at, into) => {
  const part = decodeReasoning(item);
  if (part === 'unreadable') into.native.push(nativeField('input[]', stringOf(item.id)));
  else if (part !== undefined) addOutput(part, into);
};

// -- calls --

function callIdOf({ call_id: own, id }: JsonObject, at: string): string {
  return stringOf(own) || stringOf(id) || refuse(`${at}.call_id`, 'must be a non-empty string');
}

function addCall(
  call: Omit<ToolCallPart, 'type' | 'id'>,
  item: JsonObject,
  at: string,
  into: Conversation,
): void {
  const id = callIdOf(item, at);
  if (typeof item.id === 'string') (into.calls ??= new Map<string, string>()).set(item.id, id);
  addOutput({ type: 'tool_call', id, ...call }, into);
}

function toolName(item: JsonObject, at: string, { tools }: Conversation): string {
  const { name, namespace } = item;
  if (typeof name !== 'string' || name === '') return refuse(`${at}.name`, 'must be a non-empty string');
  return tools.nameOf(name, stringOf(namespace));
}

function jsonText(value: JsonValue | undefined): string {
  if (isObject(value)) return rawObjectJson(value);
  return typeof value === 'string' ? value : JSON.stringify(value ?? {});
}

const readCall: ItemReader = (item, at, into) => {
  addCall({ name: toolName(item, at, into), arguments: jsonText(item.arguments) }, item, at, into);
};

const readCustomCall: ItemReader = (item, at, into) => {
  addCall({ name: toolName(item, at, into), arguments: stringOf(item.input), custom: true }, item, at, into);
};

/** A call of a kind of its own; `args`: what its function would be called with. */
function builtInCall(kind: BuiltIn, args: (item: JsonObject) => JsonValue | undefined): ItemReader {
  return (item, at, into) => {
    const name = into.tools.nameOfBuiltIn(kind) ?? (kind === 'tool_search' ? kind : undefined);
    const written = jsonText(args(item));
    if (name !== undefined) {
      addCall({ name, arguments: written }, item, at, into);
      return;
    }
    const id = callIdOf(item, at);
    (into.asText ??= new Set()).add(id);
    if (typeof item.id === 'string') (into.calls ??= new Map<string, string>()).set(item.id, id);
    addOutput({ type: 'text', text: `[${kind}_call] ${written}` }, into);
  };
}

const readSearchCall: ItemReader = (item, at, into) => {
  // Without an id the provider searched by itself.
  if (item.execution === 'server' || stringOf(item.call_id) === '')
    addNative(item, 'tool_search_call', at, into);
  else builtInCall('tool_search', ({ arguments: args }) => args)(item, at, into);
};

function operationOf({ action }: JsonObject): JsonValue | undefined {
  if (!isObject(action)) return action;
  const { type: _type, ...args } = action;
  return args;
}

// -- results --

const readResult: ItemReader = (item, at, into) => {
  const { output } = item;
  const parts = Array.isArray(output) ? decodeParts(output, `${at}.output`, into.native) : undefined;
  addCallResult(parts ?? (output === undefined || output === null ? '' : jsonText(output)), item, at, into);
};

function addCallResult(content: string | Part[], item: JsonObject, at: string, into: Conversation): void {
  const named = callIdOf(item, at);
  const callId = into.calls?.get(named) ?? named;
  if (into.asText?.has(callId) === true) {
    const text = typeof content === 'string' ? content : JSON.stringify(item.output);
    into.messages.push({ role: 'user', parts: [{ type: 'text', text: `[${stringOf(item.type)}] ${text}` }] });
  } else if (item.status === 'failed')
    addResult({ type: 'tool_result', callId, content, isError: true }, into);
  else addResult({ type: 'tool_result', callId, content }, into);
}

const readShellResult: ItemReader = (item, at, into) => {
  addCallResult(jsonText(item.output), item, at, into);
};

const readPatchResult: ItemReader = (item, at, into) => {
  addCallResult(stringOf(item.output) || stringOf(item.status), item, at, into);
};

/** The tools themselves have joined the request's. */
const readSearchResult: ItemReader = (item, at, into) => {
  if (item.execution === 'server' || stringOf(item.call_id) === '') {
    addNative(item, 'tool_search_output', at, into);
    return;
  }
  const names = (Array.isArray(item.tools) ? item.tools : []).flatMap((tool) =>
    isObject(tool) ? namesIn(tool, into.tools) : [],
  );
  const text =
    names.length === 0 ? 'No tool was found.' : `These tools can be called now: ${names.join(', ')}`;
  addCallResult(text, item, at, into);
};

function namesIn({ type, name, tools }: JsonObject, directory: ToolDirectory): string[] {
  if (type !== 'namespace') return [directory.nameOf(stringOf(name))];
  return (Array.isArray(tools) ? tools : []).flatMap((tool) =>
    isObject(tool) ? [directory.nameOf(stringOf(tool.name), stringOf(name))] : [],
  );
}

// -- others --

const readAgentMessage: ItemReader = ({ content }, at, into) => {
  const parts = decodeParts(content, `${at}.content`, into.native);
  if (parts.length > 0) into.messages.push({ role: 'system', parts, developer: true });
};

/** What the gateway keeps was put in its place before; a thought that is lost is no reason to stop. */
const readReference: ItemReader = (item, _at, into) => {
  const id = stringOf(item.id);
  if (!id.startsWith('rs_')) {
    const message =
      `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. ` +
      'Try again with `store` set to true, or remove this item from your input.';
    into.native.push({ ...nativeField('input', id), fate: 'reject', message });
  } else into.native.push(nativeField('input[]', id));
};

const readCompaction: ItemReader = (item, at) =>
  refuse(`${at}.type`, `${JSON.stringify(item.type)} cannot be carried to this provider`);

const nothing: ItemReader = () => undefined;

const READERS: ReadonlyMap<string, ItemReader> = new Map([
  ['reasoning', readReasoning],
  ['function_call', readCall],
  ['function_call_output', readResult],
  ['custom_tool_call', readCustomCall],
  ['custom_tool_call_output', readResult],
  ['tool_search_call', readSearchCall],
  ['tool_search_output', readSearchResult],
  ['local_shell_call', builtInCall('local_shell', operationOf)],
  ['local_shell_call_output', readShellResult],
  ['shell_call', builtInCall('shell', operationOf)],
  ['shell_call_output', readShellResult],
  ['apply_patch_call', builtInCall('apply_patch', ({ operation }) => operation)],
  ['apply_patch_call_output', readPatchResult],
  ['additional_tools', nothing],
  ['agent_message', readAgentMessage],
  ['item_reference', readReference],
  ['compaction', readCompaction],
  ['context_compaction', readCompaction],
  ['compaction_trigger', readCompaction],
]);
