// A row of what is known about models. Only what is certain stands in a row, since all else is taken as possible.
import type { Effort } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';

export interface ModelRow {
  /** Of the plain name (plain-name.ts). Later rows override earlier ones. */
  match: RegExp;
  /** Models of one family may be given each other's thinking. */
  family?: string;
  traits: Partial<Traits>;
}

export const K = 1000;
export const UP_TO_HIGH: readonly Effort[] = ['low', 'medium', 'high'];
/** What compatible servers take, whatever else their models may know. */
export const USUAL: readonly Effort[] = ['none', 'low', 'medium', 'high'];
export const ALL: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];
