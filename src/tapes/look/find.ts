// Finds the tape that holds a request, by the id that its client got.
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { HEAD_FILE } from '../format.ts';
import { readTape, type Tape, type TapedExchange } from '../read.ts';

export interface OnTape {
  tape: Tape;
  exchange: TapedExchange;
}

/** Of one folder. */
const MOST_ENTRIES = 2000;
const MOST_TAPES = 200;
/** The folder in which people keep their tapes. */
const USUAL = 'tapes';

/** Tapes in this folder and in its folder `tapes`, and the folder itself if it is one. */
export function tapesNear(folder: string): string[] {
  const below = [folder, path.join(folder, USUAL)].flatMap(foldersIn);
  return [folder, path.join(folder, USUAL), ...below].filter(isTape).slice(0, MOST_TAPES);
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).slice(0, MOST_ENTRIES);
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(folder, name));
  } catch {
    return [];
  }
}

const isTape = (folder: string): boolean =>
  statSync(path.join(folder, HEAD_FILE), { throwIfNoEntry: false })?.isFile() === true;

/** The requests whose ids begin so, not those that are only shapes; and the tapes that could not be read, each with the reason. */
export function findOnTapes(
  prefix: string,
  tapes: readonly string[],
): { found: OnTape[]; unread: { tape: string; why: unknown }[] } {
  const found: OnTape[] = [];
  const unread: { tape: string; why: unknown }[] = [];
  for (const folder of tapes) {
    try {
      const tape = readTape(folder);
      if (tape.head.shape === true) continue;
      const own = tape.exchanges.filter(({ head }) => head.request.startsWith(prefix));
      found.push(...own.map((exchange) => ({ tape, exchange })));
    } catch (why) {
      unread.push({ tape: folder, why });
    }
  }
  return { found, unread };
}
