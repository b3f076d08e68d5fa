// What the supervisor and its workers say to each other: names of calls, and the shapes of their values.
import type { SharedTopic } from '../../../../app/parts.ts';
import type { Config } from '../../../../config/config.ts';
import type { Served } from '../../../ui/banner.ts';

/** The answer to a worker's first call. */
export interface Hello {
  number: number;
  count: number;
  leads: boolean;
  /** The worker writes JSON lines to stderr, which the supervisor adds to the log; false: there is no log. */
  log: boolean;
  /** Where the gateway is: all workers have this, whatever the file says now. */
  place: Pick<Config, 'database' | 'listen'>;
  shared: readonly Shared[];
}

/** A worker serves. */
export type Ready = Served;

/** A worker cannot serve: the lines of its error. */
export interface Failed {
  lines: string[];
  exitCode: number;
}

export interface Shared {
  topic: SharedTopic;
  key: string;
  value: unknown;
}

/** A worker has ended its requests. */
export interface Stopped {
  /** Usage rows that could not be written. */
  unwritten: number;
  /** Its last page; empty if metrics are off. */
  metrics: string;
}
