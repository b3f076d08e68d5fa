// Halves of surrogate pairs, which JSON can spell and strict parsers of providers refuse.
import type { JsonValue } from './json.ts';
import type { DocumentPart, Part } from './request.ts';

/** Part of every Node that is supported; the language's library of this compiler target does not declare it. */
interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

export function wellFormed(text: string): string {
  const own = text as unknown as WellFormed;
  return own.isWellFormed() ? text : own.toWellFormed();
}

const ESCAPES = /\\(?:ud[0-9a-f]{3}|.)/g;

/** What JSON.stringify wrote: it escapes halves of surrogate pairs by `\ud`, and nothing else so. */
export function wellFormedJson(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(ESCAPES, (escape) => (escape.startsWith('\\ud') ? '\ufffd' : escape));
}

/** A JSON value with every string and name in it well-formed. */
export function wellFormedValue<T extends JsonValue>(value: T): T {
  return JSON.parse(wellFormedJson(JSON.stringify(value))) as T;
}

/** The part itself where there is nothing to replace. */
export function wellFormedPart(part: Part): Part {
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

/** JSON.stringify escapes halves alone by `\ud`; text that says so itself is no harm, only a walk in vain. */
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
  const same = named.title === part.title && named.context === part.context && isSame(source, named.source);
  return same ? part : named;
}

function isSame(one: DocumentPart['source'], other: DocumentPart['source']): boolean {
  if (one.kind === 'text' && other.kind === 'text') return one.text === other.text;
  if (one.kind === 'parts' && other.kind === 'parts') return one.parts === other.parts;
  return one === other;
}

function wellFormedParts(parts: Part[]): Part[] {
  const whole = parts.map(wellFormedPart);
  return whole.every((part, at) => part === parts[at]) ? parts : whole;
}
