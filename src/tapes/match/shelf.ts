// The recorded answers of a tape, found by what a request means. The same request again gets the next answer that was recorded for it,
// and after the last one the first: every run of a program gets the same.
import { meaningOf, type Asked, type Item, type Meaning } from './meaning.ts';
import { readIgnore, ALWAYS_IGNORED } from './ignore.ts';
import { protocols } from '../../protocols/registry.ts';
import type { ProtocolName } from '../../canonical/request.ts';
import type { Tape, TapedAttempt, TapedExchange } from '../read.ts';

export interface Shelf {
  /** The recorded request to a provider, or what the tape has instead. */
  find(asked: Asked): TapedAttempt | { missing: string };
}

interface Kept {
  exchange: TapedExchange;
  attempt: TapedAttempt;
  kind: string;
  meaning: Meaning;
}

/** Throws CliError for a tape that can't be read. */
export function createShelf(tape: Tape): Shelf {
  const ignoring = readIgnore(tape.head.ignore ?? ALWAYS_IGNORED, tape.folder);
  const all = tape.exchanges.flatMap((exchange): Kept[] => {
    // Of several attempts the last one answered.
    const attempt = exchange.attempts.at(-1);
    const body = attempt?.request();
    if (attempt === undefined || body === undefined) return [];
    const { protocol, url } = attempt.head;
    const kind = kindOf(protocol, url);
    return [{ exchange, attempt, kind, meaning: meaningOf({ protocol, kind, body }, ignoring) }];
  });
  const byKey = grouped(all);
  const played = new Map<string, number>();
  return {
    find(asked) {
      const meaning = meaningOf(asked, ignoring);
      const same = byKey.get(meaning.key) ?? [];
      const turn = played.get(meaning.key) ?? 0;
      const found = same[turn % Math.max(same.length, 1)];
      if (found === undefined)
        return {
          missing: difference(
            meaning,
            all.filter(({ kind }) => kind === asked.kind),
            tape,
          ),
        };
      played.set(meaning.key, turn + 1);
      return found.attempt;
    },
  };
}

/** What a URL of a provider of this protocol asks for. */
export function kindOf(protocol: ProtocolName, url: string): string {
  const path = url.replace(/[?#].*$/s, '');
  const rows = protocols[protocol].client.endpoints.filter((row) => path.endsWith(row.path));
  const [row] = rows.sort((a, b) => b.path.length - a.path.length);
  if (row === undefined) return path.replace(/^.*?\/\/[^/]*/, '');
  return row.does === 'generate' ? 'generate' : row.path;
}

function grouped(all: readonly Kept[]): Map<string, Kept[]> {
  const groups = new Map<string, Kept[]>();
  for (const kept of all) groups.set(kept.meaning.key, [...(groups.get(kept.meaning.key) ?? []), kept]);
  return groups;
}

/** The recorded request that is most like it, and the first thing in which it is another. */
function difference({ items }: Meaning, all: readonly Kept[], { folder }: Tape): string {
  const name = folder.replace(/^.*[/\\]/, '');
  let nearest: { kept: Kept; same: number; at: number } | undefined;
  for (const kept of all) {
    const { same, at } = likeness(items, kept.meaning.items);
    if (nearest === undefined || same > nearest.same) nearest = { kept, same, at };
  }
  if (nearest === undefined) return `the tape ${name} has no request of this kind`;
  const { kept, at } = nearest;
  const [asked, recorded] = [items[at], kept.meaning.items[at]];
  const what = asked?.at ?? recorded?.at ?? 'nothing';
  return `the tape ${name} has no such request; the nearest is ${kept.exchange.number}, and the first difference is in its ${what}: ${shownPair(asked, recorded)}`;
}

/** How many things are the same, and the first that is not. */
function likeness(a: readonly Item[], b: readonly Item[]): { same: number; at: number } {
  const length = Math.max(a.length, b.length);
  let same = 0;
  let first = -1;
  for (let at = 0; at < length; at++) {
    if (a[at]?.at === b[at]?.at && a[at]?.text === b[at]?.text) same++;
    else if (first < 0) first = at;
  }
  return { same: same - Math.abs(a.length - b.length), at: Math.max(first, 0) };
}

const SHOWN = 60;
const BEFORE = 20;

function shownPair(asked: Item | undefined, recorded: Item | undefined): string {
  if (asked === undefined)
    return `the request ends before it, on the tape it says ${excerpt(recorded?.text ?? '', 0)}`;
  if (recorded === undefined) return `the tape ends before it, the request says ${excerpt(asked.text, 0)}`;
  if (asked.at !== recorded.at) return `on the tape there is ${recorded.at} at this place`;
  let at = 0;
  while (at < asked.text.length && asked.text[at] === recorded.text[at]) at++;
  return `it says ${excerpt(asked.text, at)}, on the tape ${excerpt(recorded.text, at)}`;
}

function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - BEFORE);
  const to = Math.min(text.length, from + SHOWN);
  return `“${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}”`;
}
