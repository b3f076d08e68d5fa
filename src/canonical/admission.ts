// What is left of an account's hour: numbers that the accounts count, and each protocol writes as headers of its own.

/** The limit of an account's hour as it stands after this request. */
export interface Admission {
  limit: number;
  used: number;
  /** Milliseconds since the epoch: the next full hour. */
  resetsAt: number;
}
