// What a request needs and a target can do: what it must be able to take, and what would be left out or emulated.
import type { Needs } from '../canonical/traits.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import { plural } from '../plural.ts';
import { outlines } from '../protocols/outlines.ts';
import type { Target } from './targets.ts';

interface Fit {
  fits: boolean;
  /** What it can't take, for the client's error: `images`. */
  lacks: string[];
  /** What would be left out, emulated, or is perhaps too much. */
  weak: string[];
}

type Ability = (target: Target, client: ProtocolName | undefined) => boolean | undefined;

// Undefined: unknown, and taken as possible.
const MUST: readonly [keyof Needs, Ability, string][] = [
  ['image', ({ traits }) => traits.vision, 'images'],
  ['document', ({ traits }) => traits.documents, 'documents'],
  ['audio', ({ traits }) => traits.audio, 'audio'],
  ['tools', ({ traits }) => traits.tools, 'tools'],
];
const SHOULD: readonly [keyof Needs, Ability, string][] = [
  ['thinking', ({ traits }) => traits.thinking, 'thinking'],
  ['structuredOutput', ({ traits }) => traits.structuredOutput, 'structured output'],
  ['serverTools', serverTools, 'server tools'],
];

const NOTHING: string[] = [];
const FIT: Fit = { fits: true, lacks: NOTHING, weak: NOTHING };

/**
 * `estimate`: the request's estimated tokens, undefined if nothing was estimated; too many alone never skip a target. `window`: the
 * tokens that the target takes, if known.
 */
export function checkCapabilities(
  target: Target,
  client: ProtocolName | undefined,
  needs: Needs,
  estimate: number | undefined,
  window = target.traits.contextWindow,
): Fit {
  const lacks = missing(MUST, needs, target, client);
  const weak = missing(SHOULD, needs, target, client);
  const over = estimate !== undefined && window !== undefined && estimate > window;
  if (lacks.length === 0 && weak.length === 0 && !over) return FIT;
  return {
    fits: lacks.length === 0,
    lacks,
    weak: over ? [...weak, `room for about ${plural(estimate, 'token')} (its window is ${window})`] : weak,
  };
}

function missing(
  rows: readonly [keyof Needs, Ability, string][],
  needs: Needs,
  target: Target,
  client: ProtocolName | undefined,
): string[] {
  let found = NOTHING;
  for (const [need, ability, words] of rows)
    if (needs[need] && ability(target, client) === false)
      found = found.length === 0 ? [words] : [...found, words];
  return found;
}

/** Protocols of clients that may offer tools which the provider runs itself, such as a web search: for others, the target goes last
 *  with such a request. */
export const serverToolsOf = (target: Target): ProtocolName[] =>
  PROTOCOL_NAMES.filter((client) => serverTools(target, client) !== false);

/** Unknown, so possible, if the client's protocol has server tools and they are relayed to a provider that states nothing about them. */
function serverTools({ traits, provider }: Target, client: ProtocolName | undefined): boolean | undefined {
  if (traits.serverTools) return true;
  if (client === undefined) return false;
  const isStated = provider.traits.serverTools !== undefined;
  return !isStated && outlines[client].hasServerTools && provider.protocols.includes(client)
    ? undefined
    : false;
}
