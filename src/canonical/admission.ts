// An account's hour as it stands after a request was admitted or refused.

export interface Admission {
  /** Infinity: none. */
  limit: number;
  used: number;
  /** Milliseconds since the epoch: the next full hour (UTC). */
  resetsAt: number;
}
