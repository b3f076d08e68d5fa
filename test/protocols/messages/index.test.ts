// The small parts of the protocol that stand beside requests and answers.
import { describe, expect, it } from 'vitest';
import { messages } from '../../../src/protocols/messages/index.ts';
import { dataOf } from './support.ts';

describe('the messages protocol', () => {
  it('tells the limit of the hour in its own headers', () => {
    const resetsAt = Date.UTC(2026, 9, 21, 8);
    expect(messages.client.limitHeaders({ limit: 10, used: 12, resetsAt }, resetsAt - 1000)).toEqual([
      'anthropic-ratelimit-requests-limit',
      '10',
      'anthropic-ratelimit-requests-remaining',
      '0',
      'anthropic-ratelimit-requests-reset',
      '2026-10-21T08:00:00Z',
    ]);
  });

  it('keeps a silent stream alive with an event that its readers pass over', () => {
    expect(dataOf(messages.client.keepAlive)).toEqual([{ type: 'ping' }]);
    expect(messages.client.keepAlive.startsWith('event: ping\n')).toBe(true);
  });
});
