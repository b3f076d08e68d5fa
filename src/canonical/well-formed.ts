// Halves of surrogate pairs, which JSON can spell and strict parsers of providers refuse.
import type { JsonValue } from './json.ts';
import type { Part } from './request.ts';

/** Part of every Node that is supported; the language's library of this compiler target does not declare it. */
interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

export function wellFormed(text: string): string {
  const own = text as unknown as WellFormed;
  return own.isWellFormed() ? text : own.toWellFormed();
}

/** A JSON value with every string in it well-formed. Walks all of it: for values whose text holds such an escape. */
export function wellFormedValue<T extends JsonValue>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_, inner: JsonValue) =>
    typeof inner === 'string' ? wellFormed(inner) : inner,
  ) as T;
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
      return text === part.arguments ? part : { ...part, arguments: text };
    }
    case 'tool_result': {
      const content =
        typeof part.content === 'string' ? wellFormed(part.content) : wellFormedParts(part.content);
      return content === part.content ? part : { ...part, content };
    }
    case 'document': {
      const { source } = part;
      if (source.kind === 'text') {
        const text = wellFormed(source.text);
        return text === source.text ? part : { ...part, source: { kind: 'text', text } };
      }
      if (source.kind !== 'parts') return part;
      const parts = wellFormedParts(source.parts);
      return parts === source.parts ? part : { ...part, source: { kind: 'parts', parts } };
    }
    case 'image':
    case 'audio':
    case 'native':
      return part;
  }
}

function wellFormedParts(parts: Part[]): Part[] {
  const whole = parts.map(wellFormedPart);
  return whole.every((part, at) => part === parts[at]) ? parts : whole;
}
