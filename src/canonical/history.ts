// Repairs a conversation before it is encoded, so that encoders meet only whole turns and providers refuse nothing for how a
// client kept its history. What needs a model's own rules stays with the encoders: where system text goes, prefills, the first
// turn, blank text, wrapped arguments, the form of ids and names, and whether thinking must be off (a tool turn that came back
// without its thinking, a last turn with thinking that is off). A pure function of the request, and append-only: all before the
// last assistant turn stays the same when the conversation grows, since prompt caches and signatures go by it.
import { pairCalls, type Warn } from './tool-pairing.ts';
import type { DocumentPart, Message, Part, ReasoningPart, GenerationRequest, Warning } from './request.ts';
import type { Traits } from './traits.ts';
import type { JsonValue } from './json.ts';
import { append, wellFormed, wellFormedValue } from './json.ts';

/** Rules of the protocol that a history is encoded for. */
export interface HistoryRules {
  /** Whether its providers take this reasoning back. */
  takesBack(part: ReasoningPart, traits: Traits): boolean;
  /** A user turn that has only blank text counts as empty. */
  blankIsSilent: boolean;
  /** The arguments of a call as its servers parse them; undefined: they are in order. */
  mendArguments(text: string): string | undefined;
}

/** Returns the same request if its history needs no repair. */
export function repairHistory(
  request: GenerationRequest,
  { rules, traits }: { rules: HistoryRules; traits: Traits },
): { request: GenerationRequest; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const warn: Warn = (effect, field, detail) => {
    if (!warnings.some((known) => known.detail === detail)) warnings.push({ effect, field, detail });
  };
  const returns = (part: ReasoningPart): boolean => rules.takesBack(part, traits);
  const tidy: Message[] = [];
  const mend = (part: Part): Part => mendCall(part, rules, warn);
  const all = request.messages.map((message) => tidyMessage(message, returns, mend, warn));
  const last = all.findLast(
    ({ role, parts }) => role === 'user' || (role === 'assistant' && parts.length > 0),
  );
  for (const message of all) {
    if (message === last && isSilentAnswer(message, tidy, rules)) tidy.push(fullStop(message, warn));
    else if (!isEmpty(message, warn)) tidy.push(message);
  }
  const merged = mergeNeighbours(tidy);
  const paired = merged.some(isOfTools) ? pairCalls(merged, warn) : merged;
  // Most conversations are in order: then nothing was moved, and no new neighbours can have come of it.
  const messages = paired === merged ? merged : mergeNeighbours(paired);
  return { request: isSame(messages, request.messages) ? request : { ...request, messages }, warnings };
}

function isOfTools({ parts }: Message): boolean {
  return parts.some(({ type }) => type === 'tool_call' || type === 'tool_result');
}

function isSame(messages: readonly Message[], before: readonly Message[]): boolean {
  return messages.length === before.length && messages.every((message, at) => message === before[at]);
}

/** Whether the provider takes this reasoning back. */
type Returns = (part: ReasoningPart) => boolean;

/** The same message where all of it stays: no list is made for it. */
function tidyMessage(message: Message, returns: Returns, mend: (part: Part) => Part, warn: Warn): Message {
  const { parts } = message;
  let kept: Part[] | undefined;
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    if (part === undefined) continue;
    const whole = tidyPart(part, returns, warn);
    const tidy = whole && mend(whole);
    if (tidy === part) {
      kept?.push(part);
      continue;
    }
    kept ??= parts.slice(0, at);
    if (tidy !== undefined) kept.push(tidy);
  }
  return kept === undefined ? message : { ...message, parts: kept };
}

/** Undefined: it is left out. */
function tidyPart(part: Part, returns: Returns, warn: Warn): Part | undefined {
  if (part.type === 'reasoning' && !returns(part)) {
    if (part.fate === 'report')
      warn('dropped', 'messages.reasoning', 'reasoning that another provider encrypted was left out');
    else warn('quiet', 'messages.reasoning', 'reasoning that this provider does not take back was left out');
    return undefined;
  }
  if (part.type === 'text' && part.text === '') return undefined;
  const whole = wellFormedPart(part);
  if (whole !== part) warn('quiet', 'messages', 'halves of surrogate pairs were replaced');
  return whole;
}

/** What a model wrote as arguments, and nobody could parse, would end every later request of the conversation. */
function mendCall(part: Part, rules: HistoryRules, warn: Warn): Part {
  if (part.type !== 'tool_call' || part.custom === true) return part;
  const mended = rules.mendArguments(part.arguments);
  if (mended === undefined) return part;
  warn('changed', 'messages.toolCall', 'arguments that are no JSON object were made one');
  return { ...part, arguments: mended };
}

/** A user's turn without a word. */
function isSilent({ role, parts }: Message, { blankIsSilent }: HistoryRules): boolean {
  if (role !== 'user') return false;
  return parts.every((part) => blankIsSilent && part.type === 'text' && part.text.trim() === '');
}

/** Without it the model would continue its own finished turn, or there would be no turn at all. */
function isSilentAnswer(message: Message, before: readonly Message[], rules: HistoryRules): boolean {
  if (!isSilent(message, rules)) return false;
  const last = before.findLast((one) => one.role !== 'system' && !isSilent(one, rules));
  return last === undefined || last.role === 'assistant';
}

function fullStop(message: Message, warn: Warn): Message {
  warn('changed', 'messages', 'a last turn of the user that says nothing was sent as a full stop');
  return { ...message, parts: [{ type: 'text', text: '.' }] };
}

function isEmpty(message: Message, warn: Warn): boolean {
  if (message.parts.length > 0) return false;
  warn('quiet', 'messages', 'messages without content were left out');
  return true;
}

/** One turn is one message: some clients send a turn's text and calls apart. Never across system text, nor of other authors. */
function mergeNeighbours(messages: readonly Message[]): Message[] {
  const merged: Message[] = [];
  let last: Message | undefined;
  /** `last` was made here, so that its parts may grow: a turn of a thousand results is not copied a thousand times. */
  let own = false;
  for (const message of messages) {
    if (
      last === undefined ||
      last.role !== message.role ||
      last.role === 'system' ||
      last.name !== message.name
    ) {
      merged.push(message);
      last = message;
      own = false;
      continue;
    }
    if (!own) merged[merged.length - 1] = last = ownCopy(last);
    own = true;
    for (const part of message.parts) last.parts.push(part);
    if (message.prefix === true) last.prefix = true;
    if (message.native !== undefined) append((last.native ??= []), message.native);
  }
  return merged;
}

/** Its lists may grow. */
function ownCopy(message: Message): Message {
  const { parts, native } = message;
  return { ...message, parts: [...parts], ...(native && { native: [...native] }) };
}

// -- halves of surrogate pairs, which JSON can spell and strict parsers of providers refuse --

/** The part itself where there is nothing to replace. */
function wellFormedPart(part: Part): Part {
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      const text = wellFormed(part.text);
      return text === part.text ? part : { ...part, text };
    }
    case 'tool_call': {
      const text = wellFormed(part.arguments);
      const id = wellFormed(part.id);
      return text === part.arguments && id === part.id ? part : { ...part, id, arguments: text };
    }
    case 'tool_result': {
      const content =
        typeof part.content === 'string' ? wellFormed(part.content) : wellFormedParts(part.content);
      const callId = wellFormed(part.callId);
      return content === part.content && callId === part.callId ? part : { ...part, callId, content };
    }
    case 'document':
      return wellFormedDocument(part);
    case 'native':
      return hasHalf(part.value) ? { ...part, value: wellFormedValue(part.value) } : part;
    case 'image':
    case 'audio':
      return part;
  }
}

/** JSON.stringify writes `\ud` only for such halves. A text that contains these characters itself costs only an unneeded check. */
function hasHalf(value: JsonValue): boolean {
  return JSON.stringify(value).includes('\\ud');
}

function wellFormedDocument(part: DocumentPart): DocumentPart {
  const named = { ...part };
  if (part.title !== undefined) named.title = wellFormed(part.title);
  if (part.context !== undefined) named.context = wellFormed(part.context);
  const { source } = part;
  if (source.kind === 'text') named.source = { kind: 'text', text: wellFormed(source.text) };
  if (source.kind === 'parts') named.source = { kind: 'parts', parts: wellFormedParts(source.parts) };
  const same =
    named.title === part.title && named.context === part.context && isSameSource(source, named.source);
  return same ? part : named;
}

function isSameSource(one: DocumentPart['source'], other: DocumentPart['source']): boolean {
  if (one.kind === 'text' && other.kind === 'text') return one.text === other.text;
  if (one.kind === 'parts' && other.kind === 'parts') return one.parts === other.parts;
  return one === other;
}

function wellFormedParts(parts: Part[]): Part[] {
  const whole = parts.map(wellFormedPart);
  return whole.every((part, at) => part === parts[at]) ? parts : whole;
}
