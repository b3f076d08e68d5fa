// Can this target take this request? What it must not lack passes it over; what it should not lack puts it last.
import type { Needs } from '../canonical/needs.ts';
import type { Traits } from '../canonical/traits.ts';

export interface Fit {
  passed: boolean;
  /** What it can't take, in words for the client: `images`. */
  lacks: string[];
  /** What would be left out, emulated, or is perhaps too much. */
  weak: string[];
}

type Ability = (traits: Traits) => boolean | undefined;

// Undefined is not known, and taken as possible.
const MUST: readonly [keyof Needs, Ability, string][] = [
  ['image', (traits) => traits.vision, 'images'],
  ['document', (traits) => traits.documents, 'documents'],
  ['audio', (traits) => traits.audio, 'audio'],
  ['tools', (traits) => traits.tools, 'tools'],
];
const SHOULD: readonly [keyof Needs, Ability, string][] = [
  ['thinking', (traits) => traits.thinking, 'thinking'],
  ['structuredOutput', (traits) => traits.structuredOutput, 'structured output'],
  ['serverTools', (traits) => traits.serverTools, 'server tools'],
];

const NOTHING: string[] = [];
const FIT: Fit = { passed: true, lacks: NOTHING, weak: NOTHING };

/** `estimate`: the request's tokens, roughly; undefined where it was not asked for. It alone never refuses. */
export function fits(target: { traits: Traits }, needs: Needs, estimate: number | undefined): Fit {
  const lacks = missing(MUST, needs, target.traits);
  const weak = missing(SHOULD, needs, target.traits);
  const window = target.traits.contextWindow;
  const over = estimate !== undefined && window !== undefined && estimate > window;
  if (lacks.length === 0 && weak.length === 0 && !over) return FIT;
  return {
    passed: lacks.length === 0,
    lacks,
    weak: over ? [...weak, `room for about ${estimate} tokens (its window is ${window})`] : weak,
  };
}

function missing(rows: readonly [keyof Needs, Ability, string][], needs: Needs, traits: Traits): string[] {
  let found = NOTHING;
  for (const [need, ability, words] of rows)
    if (needs[need] && ability(traits) === false) found = found.length === 0 ? [words] : [...found, words];
  return found;
}
