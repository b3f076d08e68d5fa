// What agents say that they did in a conversation: commits, pull requests, lines. Counts alone, by account and conversation.

export interface Work {
  commits: number;
  pullRequests: number;
  linesAdded: number;
  linesRemoved: number;
}

/** `series`: '' for counts that are added; else a series that counts from a start of its own, of which the largest counts stay. */
export interface WorkRow extends Work {
  conversation: string;
  series: string;
}

export interface WorkStore {
  /** Nothing of an account that was removed. One transaction. */
  countWork(accountId: number, rows: readonly WorkRow[], at: number): Promise<void>;
  /** The sum of all series. */
  workOf(accountId: number, conversation: string): Promise<Work>;
}

/** The largest count of a row: sums of some rows are still exact. */
export const MOST_WORK = 1_000_000_000;

export const NO_WORK: Work = { commits: 0, pullRequests: 0, linesAdded: 0, linesRemoved: 0 };

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

/** A store whose code is loaded when it is first asked. */
export function workLater(load: () => Promise<WorkStore>): WorkStore {
  let loading: Promise<WorkStore> | undefined;
  const store = (): Promise<WorkStore> => (loading ??= load());
  return {
    countWork: async (accountId, rows, at) => (await store()).countWork(accountId, rows, at),
    workOf: async (accountId, conversation) => (await store()).workOf(accountId, conversation),
  };
}
