// What Claude Code 2.1.332 showed of these limits in a terminal, and that the gateway still sends what each line was made of.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { screenUsage } from '../../../src/protocols/messages/screen/usage.ts';
import { screenHeaders } from '../../../src/protocols/messages/screen/limit-headers.ts';
import type { LimitState } from '../../../src/limit-state.ts';
import { NANOS } from '../../../src/tier.ts';
import { ENDS } from './place.ts';

const SCREENS = readFileSync(new URL('./screens.txt', import.meta.url), 'utf8');
const NOTHING = { day: 0, week: 0, month: 0 };

const limit = (
  kind: LimitState['kind'],
  per: LimitState['per'],
  [spent, most]: readonly [number, number],
): LimitState => {
  const unit = kind === 'cost' ? NANOS : 1;
  return {
    kind,
    per,
    spent: Math.round(spent * unit),
    most: Math.round(most * unit),
    resetsAt: ENDS[per] * 1000,
  };
};

it.each([
  [limit('cost', 'day', [0.084, 0.15]), '$0.08 / $0.15 spent today', 56],
  [limit('cost', 'month', [0.081, 0.15]), '$0.08 / $0.15 spent this month', 54],
  [limit('requests', 'hour', [7, 8]), 'REQ 7 / REQ 8 spent', 87],
  [limit('tokens', 'day', [15_470, 30_000]), 'TOK 15,470 / TOK 30,000 spent today', 51],
])('/usage of %o is the screen %j', (state, line, percent) => {
  expect(SCREENS).toContain(line);
  expect(SCREENS).toContain(`${percent}% used`);
  const { extra_usage: extra } = screenUsage([state], NOTHING) as { extra_usage: Record<string, unknown> };
  const [spent, most] = [...line.matchAll(/[\d,]+(?:\.\d+)?/g)].map(([text]) =>
    Number(text.replaceAll(',', '')),
  );
  expect(extra['utilization']).toBe(percent);
  expect(Number(extra['used_credits']) / 100).toBeCloseTo(spent ?? NaN);
  expect(Number(extra['monthly_limit']) / 100).toBeCloseTo(most ?? NaN);
});

it.each([
  [limit('cost', 'day', [0.117, 0.15]), "You've used 78% of your usage credits · resets 12am (UTC)"],
  [limit('requests', 'hour', [6, 8]), "You've used 75% of your usage credits · resets 11pm (UTC)"],
])('the notice of %o is the screen %j', (state, line) => {
  expect(SCREENS).toContain(line);
  const headers = screenHeaders([state]);
  const of = (name: string): string | undefined =>
    headers[headers.indexOf(`anthropic-ratelimit-unified-${name}`) + 1];
  expect(`${Number(of('overage-utilization')) * 100}%`).toBe(/\d+%/.exec(line)?.[0]);
  expect(of('overage-surpassed-threshold')).toBe('0.75');
});
