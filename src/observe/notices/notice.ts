// What a person should hear of before users complain: a limit that is nearly or wholly used up, a target that is avoided for long, a
// database that is away. One JSON for the log, the live stream and the alert.
import type { Period } from '../../calendar.ts';
import type { Logger } from '../../log.ts';
import type { LimitKind } from '../../tier.ts';

/** Per cent of a limit at which there is a notice. */
export type Threshold = 80 | 100;

interface LimitNotice {
  event: 'limit';
  account: string;
  kind: LimitKind;
  per: Period;
  /** The tier's. Money in USD. */
  limit: number;
  spent: number;
  /** Of the limit and what grants add. */
  percent: number;
  threshold: Threshold;
  resets_at: string;
  at: string;
}

interface TargetNotice {
  event: 'target';
  provider: string;
  model: string;
  /** When it is asked again at the latest. */
  until: string;
  reason: string;
  at: string;
}

interface DatabaseNotice {
  event: 'database';
  at: string;
}

export type Notice = LimitNotice | TargetNotice | DatabaseNotice;

/** Must not throw. */
export type Emit = (notice: Notice) => void;

export function logNotice(notice: Notice, log: Pick<Logger, 'warn' | 'error'>): void {
  const { event, at: _at, ...fields } = notice;
  switch (event) {
    case 'limit': {
      const { threshold } = notice;
      log.warn(threshold === 100 ? 'a limit is used up' : 'a limit is nearly used up', fields);
      break;
    }
    case 'target':
      log.warn('a target is avoided for over a minute', fields);
      break;
    case 'database':
      log.error('the database is away');
  }
}
