// Requests that were refused before admission, so that an owner sees who was refused and why. Usage does not count them. Like refusals of
// one minute share a row, and only the last rows stay, so that a flood of them fills no database.

/** Of a request whose account is known. */
export interface RefusalRow {
  /** When the first one was refused. */
  at: number;
  /** Of the first one: it names the row. */
  requestId: string;
  accountId: number;
  /** null: the account asks without a key. */
  keyId: string | null;
  /** The protocol, or the path where that is not known. */
  endpoint: string;
  /** null here and below: it was refused before that was read, or the client says nothing of it. */
  modelAsked: string | null;
  conversation: string | null;
  label: string | null;
  client: string | null;
  status: number;
  /** An error kind. */
  error: string;
  /** As the client got it. */
  message: string;
  /** Requests that the row stands for. */
  times: number;
}

export interface StoredRefusal extends RefusalRow {
  /** Its place among requests that were refused or ended at the same time. */
  rowId: number;
  /** null: the account was removed. */
  account: string | null;
}
