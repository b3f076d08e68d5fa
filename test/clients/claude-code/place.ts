// A gateway as Claude Code meets it: an account with limits, a key that bears the mark, and a provider with a price.
import type { Clock } from '../../../src/clock.ts';
import { manualClock, type ManualClock } from '../../helpers/clock.ts';
import { ask, type Question, type Seen } from '../../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../../helpers/gateway.ts';
import { scriptedProvider, type ScriptedProvider } from '../../helpers/scripted-provider.ts';
import { wholeOf } from '../../gateway/wire.ts';

/** A Thursday, in the middle of an hour, a week and a month. */
export const NOW = Date.parse('2026-11-26T14:25:30.000Z');
/** The end of each window that holds it, in seconds. */
export const ENDS = {
  hour: Date.parse('2026-11-26T15:00:00Z') / 1000,
  day: Date.parse('2026-11-27T00:00:00Z') / 1000,
  week: Date.parse('2026-11-30T00:00:00Z') / 1000,
  month: Date.parse('2026-12-01T00:00:00Z') / 1000,
} as const;

export interface Place {
  server: TestGateway;
  upstream: ScriptedProvider;
  clock: ManualClock;
  /** Bears the mark. */
  native: string;
  /** Another key of the same account. */
  plain: string;
}

/** `team`: the limits of the account. A cent a request: an input token costs a tenth of one, and an answer has ten. */
export async function place(team: unknown, more: object = {}): Promise<Place> {
  const clock = manualClock(NOW);
  const upstream = await scriptedProvider();
  const usage = { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 };
  upstream.playAlways({ body: { ...wholeOf('chat', 'hello'), usage } });
  const models = [{ id: 'm', price: { input: 1000, output: 1000 } }];
  const config = {
    providers: { maker: provider(`${upstream.url}/v1`, 'chat', models) },
    tiers: { team },
    ...more,
  };
  const server = await gateway({ tier: 'team', config, clock: clock satisfies Clock });
  const native = await server.newKey({ native: true });
  return { server, upstream, clock, native, plain: server.key };
}

/** `key`: with the mark unless told. */
export function send(at: Place, question: Question = {}, key: string = at.native): Promise<Seen> {
  return ask({ url: at.server.url, key }, { protocol: 'messages', model: 'm', ...question });
}

/** Headers of an answer whose name begins so. */
export function headersOf({ headers }: Pick<Seen, 'headers'>, prefix: string): Record<string, string> {
  return Object.fromEntries(
    [...headers]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]),
  );
}
