// A canonical conversation as input items: each turn of the model as its reasoning, texts and calls in their order, then the
// results, then what the user says.
import type { HistoryRules } from '../../../canonical/history.ts';
import { stringOf, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type {
  Message,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../canonical/request.ts';
import { encryptedInSignature } from '../../../canonical/thinking-signature.ts';
import { mendArguments } from '../../../repair/damaged-arguments.ts';
import { withoutAttribution } from '../../shared/hints.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { asUsersText, nativeText } from '../../shared/texts/native-text.ts';
import { encodeCitation } from '../reply/citations.ts';
import { encodeParts, lossOf, takesMark } from './encode-content.ts';
import { encodeTool } from './encode-tools.ts';
import { CONTINUE, inOrder, isSystem } from './server-rules.ts';

export const historyRules: HistoryRules = {
  takesBack: ({ signature }) => encryptedInSignature(signature ?? '') !== undefined,
  blankIsSilent: false,
  mendArguments,
};

interface Input {
  items: JsonObject[];
  /** Ids of calls of custom tools: their results are items of another type. */
  custom: Set<string>;
}

interface EncodedInput {
  instructions?: string;
  input: JsonObject[];
}

export function encodeInput(encoding: EncodeContext): EncodedInput {
  const [first, ...rest] = encoding.request.messages;
  const instructions = rest.length > 0 && first !== undefined ? instructionsOf(first, encoding) : undefined;
  const input: Input = { items: [], custom: new Set() };
  for (const message of instructions === undefined ? encoding.request.messages : rest) {
    if (message.name !== undefined) encoding.warn('dropped', 'messages.name', 'messages have no author here');
    encoding.natives(message.native, {}, 'input[].');
    if (message.role !== 'user') addFound(message, input, encoding);
    if (message.role === 'system') encodeSystem(message, input, encoding);
    else if (message.role === 'user') encodeUser(message, input, encoding);
    else encodeTurn(message, input, encoding);
  }
  endWithUser(input, encoding);
  const items = inOrder(input.items, encoding);
  return instructions === undefined ? { input: items } : { instructions, input: items };
}

/** A first text of the system that is nothing but itself. */
function instructionsOf(message: Message, encoding: EncodeContext): string | undefined {
  const [part] = message.parts;
  if (message.role !== 'system' || message.developer || message.parts.length !== 1) return undefined;
  if (part?.type !== 'text' || (part.cache && takesMark(part.cache, encoding))) return undefined;
  if (part.cache !== undefined) encoding.warn('quiet', 'messages.cache', 'the provider takes no cache marks');
  return withoutAttribution(part.text) || undefined;
}

/** One plain text is a string, the form that every server takes. */
function simplest(parts: JsonObject[]): JsonValue {
  const [only] = parts;
  const isPlain =
    parts.length === 1 && only?.type === 'input_text' && only.prompt_cache_breakpoint === undefined;
  return isPlain && typeof only.text === 'string' ? only.text : parts;
}

function encodeSystem(message: Message, { items }: Input, encoding: EncodeContext): void {
  const texts = message.parts.flatMap((part): Part[] => {
    if (part.type === 'native') return [part];
    if (part.type === 'text') {
      const text = withoutAttribution(part.text);
      return text === '' ? [] : [{ ...part, text }];
    }
    encoding.warn('dropped', lossOf(part), `system text holds no ${part.type} here`);
    return [];
  });
  const parts = encodeParts(texts, encoding);
  if (parts.length === 0) return;
  const { strictAlternation, lateSystem } = encoding.traits;
  if ((strictAlternation || lateSystem === 'user') && items.some((item) => !isSystem(item))) {
    const text = parts.map((part) => stringOf(part.text)).join('\n\n');
    items.push({ type: 'message', role: 'user', content: asUsersText(text) });
    encoding.warn('changed', 'messages', 'system text in mid-conversation is sent inside a user message');
    return;
  }
  const role = message.developer ? 'developer' : encoding.traits.systemRole;
  items.push({ type: 'message', role, content: simplest(parts) });
}

/** Tools that the message names for the first time. Nothing before them changes, so that the provider's cache holds. */
function addFound(message: Message, { items }: Input, encoding: EncodeContext): void {
  const tools = encoding.foundAt(message)?.map((tool, index) => encodeTool(tool, index, encoding));
  const known = tools?.filter((tool) => tool !== undefined) ?? [];
  if (known.length > 0) items.push({ type: 'additional_tools', role: 'developer', tools: known });
}

function encodeUser(message: Message, input: Input, encoding: EncodeContext): void {
  const others: Part[] = [];
  for (const part of message.parts) {
    if (part.type === 'tool_result') input.items.push(encodeResult(part, input, encoding));
    else if (part.type === 'native' && part.protocol === 'responses') input.items.push(part.value);
    else others.push(part);
  }
  addFound(message, input, encoding);
  const parts = encodeParts(others, encoding);
  if (parts.length > 0) input.items.push({ type: 'message', role: 'user', content: simplest(parts) });
  else if (others.length > 0 && input.items.at(-1)?.role === 'assistant') {
    input.items.push({ type: 'message', role: 'user', content: '.' });
    encoding.warn('changed', 'messages', 'a turn of the user that lost all it held was sent as a full stop');
  }
}

function encodeResult(part: ToolResultPart, { custom }: Input, encoding: EncodeContext): JsonObject {
  const { callId, content, isError } = part;
  if (part.cache !== undefined) encoding.warn('quiet', 'messages.cache', 'results bear no cache marks');
  const type = custom.has(callId) ? 'custom_tool_call_output' : 'function_call_output';
  const output =
    typeof content === 'string' ? markedError(content, isError) : resultParts(content, isError, encoding);
  return { type, call_id: encoding.toolId(callId), output };
}

function resultParts(
  content: readonly Part[],
  isError: boolean | undefined,
  encoding: EncodeContext,
): JsonValue {
  const parts = encodeParts(content, encoding);
  const [first] = parts;
  if (typeof first?.text === 'string') first.text = markedError(first.text, isError);
  else if (isError === true) parts.unshift({ type: 'input_text', text: 'Error' });
  return parts.length === 0 ? '' : simplest(parts);
}

/** The wire has no mark of an error: the text says it. */
function markedError(text: string, isError: boolean | undefined): string {
  return isError === true && !/^\s*error/i.test(text) ? `Error: ${text}` : text;
}

function encodeTurn(message: Message, input: Input, encoding: EncodeContext): void {
  let texts: JsonObject[] = [];
  const flush = (): void => {
    if (texts.length > 0)
      input.items.push({ type: 'message', role: 'assistant', content: simplestContent(texts) });
    texts = [];
  };
  for (const part of message.parts) {
    if (part.type === 'text') {
      texts.push(encodeText(part, encoding));
      continue;
    }
    const item = encodeOutput(part, input, encoding);
    if (item === undefined) continue;
    if ('text' in item) texts.push(item.text);
    else {
      flush();
      input.items.push(item.item);
    }
  }
  flush();
}

function simplestContent(parts: JsonObject[]): JsonValue {
  const [only] = parts;
  const isPlain = parts.length === 1 && only?.type === 'output_text';
  const isBare = isPlain && Array.isArray(only.annotations) && only.annotations.length === 0;
  return isBare && typeof only.text === 'string' ? only.text : parts;
}

function encodeText(part: TextPart, encoding: EncodeContext): JsonObject {
  if (part.cache !== undefined) encoding.warn('quiet', 'messages.cache', 'answers bear no cache marks');
  if (part.refusal) return { type: 'refusal', refusal: part.text };
  const annotations: JsonObject[] = [];
  for (const citation of part.citations ?? []) {
    const annotation = encodeCitation(citation, 0, part.text.length);
    if (annotation === undefined)
      encoding.warn('dropped', 'messages.citations', 'it cites what the provider does not have');
    else annotations.push(annotation);
  }
  return { type: 'output_text', text: part.text, annotations };
}

/** An item of the turn, or a further text of it; undefined: it is left out. */
function encodeOutput(
  part: Exclude<Part, TextPart>,
  input: Input,
  encoding: EncodeContext,
): { item: JsonObject } | { text: JsonObject } | undefined {
  switch (part.type) {
    case 'reasoning': {
      const item = encodeReasoning(part, encoding);
      return item && { item };
    }
    case 'tool_call':
      return { item: encodeCall(part, input, encoding) };
    case 'native': {
      if (part.protocol === 'responses') return { item: part.value };
      const text = nativeText(part, encoding);
      return text === undefined ? undefined : { text: { type: 'output_text', text, annotations: [] } };
    }
    default:
      encoding.warn('dropped', lossOf(part), `a turn of the assistant holds no ${part.type} here`);
      return undefined;
  }
}

/** What a provider of this protocol encrypted goes back with its id; other thinking is not taken. */
function encodeReasoning(
  { text, signature = '' }: ReasoningPart,
  encoding: EncodeContext,
): JsonObject | undefined {
  const encrypted = encryptedInSignature(signature);
  if (encrypted === undefined) {
    encoding.warn(
      'quiet',
      'messages.reasoning',
      'reasoning that this provider did not encrypt is not sent back',
    );
    return undefined;
  }
  const summary = text === '' ? [] : [{ type: 'summary_text', text }];
  const item: JsonObject = { type: 'reasoning', summary, encrypted_content: encrypted.content };
  return encrypted.id === '' ? item : { ...item, id: encrypted.id };
}

function encodeCall(call: ToolCallPart, { custom }: Input, encoding: EncodeContext): JsonObject {
  const named = { call_id: encoding.toolId(call.id), name: encoding.toolName(call.name) };
  if (call.cache !== undefined) encoding.warn('quiet', 'messages.cache', 'calls bear no cache marks');
  if (call.extra !== undefined)
    encoding.warn('quiet', 'messages.toolCall.extra', 'members of another provider are not sent back');
  if (!call.custom) return { type: 'function_call', ...named, arguments: call.arguments || '{}' };
  custom.add(call.id);
  return { type: 'custom_tool_call', ...named, input: call.arguments };
}

/** A model that can't continue its own turn is asked to continue. */
function endWithUser({ items }: Input, encoding: EncodeContext): void {
  if (encoding.traits.prefill || items.at(-1)?.role !== 'assistant') return;
  items.push({ ...CONTINUE });
  encoding.warn('changed', 'messages', 'this model answers only after a user message');
}
