// The statements about counts of work that both engines share: loaded with the first of them.
import type { Work } from './work.ts';

/** The largest count of a row: sums of some rows are still exact. */
export const MOST_WORK = 1_000_000_000;

/** Column by count. */
const WORK_COLUMNS = {
  commits: 'commits',
  pullRequests: 'pull_requests',
  linesAdded: 'lines_added',
  linesRemoved: 'lines_removed',
} as const satisfies Record<keyof Work, string>;

const columns = Object.entries(WORK_COLUMNS);

/** Selects a Work; the condition follows. */
export const SUM_OF_WORK = `SELECT ${columns
  .map(([member, column]) => `CAST(coalesce(sum(${column}), 0) AS bigint) AS "${member}"`)
  .join(', ')} FROM conversation_work`;

/** The same engine's words for the smaller and the larger of two. */
export function mergeOfWork(least: string, greatest: string): string {
  const sets = Object.values(WORK_COLUMNS).map(
    (name) =>
      `${name} = CASE WHEN w.series = '' THEN ${least}(w.${name} + excluded.${name}, ${MOST_WORK})
         ELSE ${greatest}(w.${name}, excluded.${name}) END`,
  );
  return `${sets.join(', ')}, at = ${greatest}(w.at, excluded.at)`;
}
