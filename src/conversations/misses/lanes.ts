// The last request of each line of work in a conversation: its main part, each sub-agent, its titles. A request is compared with the last
// one of its own line: requests of different lines have different prompts, which is no miss.
import type { PromptPrint } from '../../canonical/prompt-print.ts';
import type { Identity } from '../identity.ts';
import { firstDifference, type CachedRequest, type MissCause } from './cause.ts';

/** The last request of a line. */
export interface LastRequest extends CachedRequest {
  /** Tokens that the provider had in its cache then: those read, and those written if it reports them. */
  readonly had: number;
}

/** Whose work a request is. */
export interface Lane {
  readonly name: string;
  /** All requests of the name are one line: the client tells its lines apart. Else what two requests share tells. */
  readonly isOne: boolean;
}

/** For the other workers of a gateway. */
export interface SharedRequest {
  lane: Lane;
  request: LastRequest;
  missed?: MissCause | undefined;
}

export interface Lanes {
  /** The last requests of its lines, the latest first. */
  lastOf(lane: Lane): readonly LastRequest[];
  /** The last request of the line that this print continues. */
  find(lane: Lane, print: PromptPrint): LastRequest | undefined;
  /** It takes the place of the one before it. `missed`: returns how often the lane has missed for this cause. */
  keep(lane: Lane, request: LastRequest, missed?: MissCause): number;
  adopt(shared: SharedRequest): void;
  /** What is in memory. */
  readonly size: { lanes: number; bytes: number };
}

const MOST_LANES = 10_000;
const MOST_BYTES = 16 * 1024 * 1024;
/** Lines of a conversation whose client does not tell them apart. */
const MOST_LINES = 4;
/** What JavaScript takes for a request beside its hashes. */
const BYTES_A_REQUEST = 1500;
const BYTES_A_CUT = 8;

/** Kinds of work that are one line each; what agents call auxiliary is several. */
const SINGLE_CLASSES: ReadonlySet<string> = new Set(['main', 'subagent', 'compaction']);

export function laneOf({
  conversation,
  agent,
  class: kind,
}: Pick<Identity, 'conversation' | 'agent' | 'class'>): Lane {
  return {
    name: `${conversation} ${agent ?? ''} ${kind ?? ''}`,
    isOne: kind === null ? agent !== null : SINGLE_CLASSES.has(kind),
  };
}

interface Kept {
  /** The latest first. */
  lines: readonly LastRequest[];
  bytes: number;
  missed: Partial<Record<MissCause, number>>;
}

/** `share`: called for each request that is kept. */
export function createLanes(
  share?: (shared: SharedRequest) => void,
  { lanes: mostLanes = MOST_LANES, bytes: mostBytes = MOST_BYTES } = {},
): Lanes {
  // In order of last use: the first is forgotten first.
  const known = new Map<string, Kept>();
  let bytes = 0;

  function forget(name: string): void {
    bytes -= known.get(name)?.bytes ?? 0;
    known.delete(name);
  }

  function makeRoom(): void {
    for (const oldest of known.keys()) {
      if (known.size <= mostLanes && bytes <= mostBytes) return;
      forget(oldest);
    }
  }

  function keep({ lane, request, missed }: SharedRequest): number {
    const before = known.get(lane.name);
    const old = before === undefined ? undefined : lineOf(lane, before.lines, request.print);
    const others = before?.lines.filter((line) => line !== old) ?? [];
    const lines = [request, ...others].slice(0, lane.isOne ? 1 : MOST_LINES);
    const counts = { ...before?.missed };
    const times = missed === undefined ? 0 : (counts[missed] ?? 0) + 1;
    if (missed !== undefined) counts[missed] = times;
    const size = lines.reduce((sum, line) => sum + bytesOf(line.print), 0);
    forget(lane.name);
    known.set(lane.name, { lines, bytes: size, missed: counts });
    bytes += size;
    makeRoom();
    return times;
  }

  return {
    lastOf: ({ name }) => known.get(name)?.lines ?? [],
    find: (lane, print) => lineOf(lane, known.get(lane.name)?.lines ?? [], print),
    keep(lane, request, missed) {
      share?.({ lane, request, missed });
      return keep({ lane, request, missed });
    },
    adopt(shared) {
      const last = known.get(shared.lane.name)?.lines[0];
      if (last === undefined || last.answeredAt <= shared.request.answeredAt) keep(shared);
    },
    get size() {
      return { lanes: known.size, bytes };
    },
  };
}

function bytesOf({ tools, system, messages }: PromptPrint): number {
  return [tools, system, messages].reduce(
    (sum, { hashes, run }) => sum + hashes.byteLength + run.cuts.length * BYTES_A_CUT,
    BYTES_A_REQUEST,
  );
}

function lineOf({ isOne }: Lane, lines: readonly LastRequest[], print: PromptPrint): LastRequest | undefined {
  if (isOne) return lines[0];
  let best: LastRequest | undefined;
  let most = LEAST_SHARED - 1;
  for (const line of lines) {
    const shared = sharedBy(line.print, print);
    if (shared > most) [best, most] = [line, shared];
  }
  return best;
}

/** Two requests of one line share as much: two of tools, system text and beginning. */
const LEAST_SHARED = 4;

/** How much two prompts have in common. */
function sharedBy(old: PromptPrint, print: PromptPrint): number {
  return (
    (old.model === print.model ? 1 : 0) +
    sharedTools(old.tools.hashes, print.tools.hashes) +
    sharedList(old.system.hashes, print.system.hashes) +
    sharedMessages(old, print)
  );
}

/** By their names. No tools at all say little; titles have none beside a main part with tools. */
function sharedTools(old: Uint32Array, tools: Uint32Array): number {
  if (old.length === 0 || tools.length === 0) return old.length === tools.length ? 1 : -1;
  const names = new Set(old.filter((_, index) => index % 2 === 0));
  const common = tools.filter((hash, index) => index % 2 === 0 && names.has(hash)).length;
  return common * 4 >= Math.max(old.length, tools.length) ? 2 : 0;
}

function sharedList(old: Uint32Array, now: Uint32Array): number {
  if (old.length === 0 || now.length === 0) return 0;
  if (old.length === now.length && firstDifference(old, now) === undefined) return 2;
  const known = new Set(old);
  return now.some((hash) => known.has(hash)) ? 1 : 0;
}

function sharedMessages({ messages: old }: PromptPrint, { messages }: PromptPrint): number {
  if (old.hashes.length === 0 || messages.hashes.length === 0) return 0;
  const at = firstDifference(old.hashes, messages.hashes);
  if (at === undefined) return 3;
  const known = new Set(old.hashes);
  const common = messages.hashes.filter((hash) => known.has(hash)).length;
  return at > 0 || common * 2 >= old.hashes.length ? 2 : 0;
}
