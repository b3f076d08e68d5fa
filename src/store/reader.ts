// What commands that only read need of a store, and what stands for a database that does not exist yet.
import type { Store } from './store.ts';
import { NO_WORK } from './holds/work.ts';

/** The methods that commands use that only read. */
export type StoreReader = Pick<
  Store,
  | 'findAccount'
  | 'listAccounts'
  | 'listKeys'
  | 'findKeyById'
  | 'admissionsByHour'
  | 'totalsBy'
  | 'rowTotals'
  | 'listRequests'
  | 'findRequests'
  | 'listRefusals'
  | 'findRefusals'
  | 'conversationParts'
  | 'standings'
  | 'allStandings'
  | 'listGrants'
  | 'listStops'
  | 'workOf'
  | 'listAudit'
  | 'listAdminTokens'
>;

/** Stands for a database that does not exist yet. */
export const NO_STORE: StoreReader = {
  findAccount: () => Promise.resolve(undefined),
  listAccounts: () => Promise.resolve([]),
  listKeys: () => Promise.resolve([]),
  findKeyById: () => Promise.resolve(undefined),
  admissionsByHour: () => Promise.resolve([]),
  totalsBy: () => Promise.resolve([]),
  rowTotals: () => Promise.resolve(new Map()),
  listRequests: () => Promise.resolve([]),
  findRequests: () => Promise.resolve([]),
  listRefusals: () => Promise.resolve([]),
  findRefusals: () => Promise.resolve([]),
  conversationParts: () => Promise.resolve([]),
  standings: () => Promise.resolve([]),
  allStandings: () => Promise.resolve([]),
  listGrants: () => Promise.resolve([]),
  listStops: () => Promise.resolve([]),
  workOf: () => Promise.resolve(NO_WORK),
  listAudit: () => Promise.resolve([]),
  listAdminTokens: () => Promise.resolve([]),
};
