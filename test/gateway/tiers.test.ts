// What an account's tier does to its requests: no limit and no word of one, or a refusal that names the remedy.
import { expect, test } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway } from '../helpers/gateway.ts';

test.each(['chat', 'messages'] as const)(
  'a %s client of the tier unlimited is counted, never refused, and told of no limit',
  async (protocol) => {
    const server = await gateway({ tier: 'unlimited', config: { tiers: { free: 1 } } });
    for (let at = 0; at < 12; at += 1) {
      const { status, headers } = await ask(server, { protocol, stream: at % 2 === 1 });
      expect(status).toBe(200);
      expect([...headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
    }
    const [account] = await server.store.listAccounts();
    const hours = await server.store.admissionsByHour(account?.id ?? 0, 0);
    expect(hours.reduce((sum, { requests }) => sum + requests, 0)).toBe(12);
  },
);

test.each(['chat', 'messages'] as const)('a 429 of %s names the command that helps', async (protocol) => {
  const server = await gateway({ tier: 'tiny', config: { tiers: { tiny: 1 } } });
  await ask(server, { protocol });
  const { status, error } = await ask(server, { protocol });
  // The hour may turn between the two.
  if (status !== 200) {
    expect(status).toBe(429);
    expect(error?.message).toContain('gateway tiers assign "test" TIER');
  }
});
