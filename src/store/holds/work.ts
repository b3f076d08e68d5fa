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

export const NO_WORK: Work = { commits: 0, pullRequests: 0, linesAdded: 0, linesRemoved: 0 };

/** A store whose code is loaded when it is first asked. */
export const workLater = (store: () => Promise<WorkStore>): WorkStore => ({
  countWork: async (...counted) => (await store()).countWork(...counted),
  workOf: async (...named) => (await store()).workOf(...named),
});
