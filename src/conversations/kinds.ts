// The kind of work of a request, by words of a fixed number: for metrics and traces, whose labels must not grow with what clients send.
import type { Identity } from './identity.ts';

const CLASSES: ReadonlySet<string> = new Set(['main', 'subagent', 'workflow', 'compaction', 'auxiliary']);
/** Those of Claude Code and Codex. */
const AGENT_TYPES: ReadonlySet<string> = new Set([
  'Explore',
  'Plan',
  'general-purpose',
  'custom',
  'teammate',
  'fork',
  'collab_spawn',
  'review',
]);

const OTHER = 'other';

/** null: the client says nothing of it. */
export interface Kind {
  class: string | null;
  agentType: string | null;
}

export function kindOf({ class: kind, agentType }: Identity): Kind {
  return { class: within(CLASSES, kind), agentType: within(AGENT_TYPES, agentType) };
}

function within(known: ReadonlySet<string>, word: string | null): string | null {
  return word === null || known.has(word) ? word : OTHER;
}
