// What the admin API sends, in the types of its own schemas.
import type { z } from 'zod';
import type { LiveFrame, NewRequests } from '../../observe/live.ts';
import type { RequestJson } from '../../accounts/json.ts';
import type * as schemas from '../schemas.ts';

export type Account = z.output<typeof schemas.Account>;
export type RemovedAccount = z.output<typeof schemas.RemovedAccount>;
export type Tier = z.output<typeof schemas.Tier>;
export type Key = z.output<typeof schemas.Key>;
export type CreatedKey = z.output<typeof schemas.CreatedKey>;
export type RotatedKey = z.output<typeof schemas.RotatedKey>;
export type Usage = z.output<typeof schemas.Usage>;
export type UsageSummary = z.output<typeof schemas.UsageSummary>;
export type SummaryTotals = UsageSummary['totals'];
export type Model = z.output<typeof schemas.Model>;
export type Target = z.output<typeof schemas.Target>;
export type Route = z.output<typeof schemas.Route>;
export type Configuration = z.output<typeof schemas.Configuration>;
export type Connect = z.output<typeof schemas.Connect>;
export type Session = z.output<typeof schemas.Session>;
export type Problem = z.output<typeof schemas.Problem>;
export type { LiveFrame, NewRequests, RequestJson };
export type LiveRequest = LiveFrame['requests'][number];
export type LiveTarget = LiveFrame['targets'][number];

export interface Page<Item> {
  data: Item[];
  next: string | null;
}
