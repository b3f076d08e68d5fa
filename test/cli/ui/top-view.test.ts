// The frames of `gateway top` as text, at several sizes.
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LOCAL, plainStyle } from '../../../src/cli/ui/style.ts';
import { displayWidth } from '../../../src/display-width.ts';
import { topLines, type TopData } from '../../../src/cli/ui/top-view.ts';
import type { LiveRequest } from '../../../src/observe/under-way.ts';

beforeEach(() => {
  vi.stubEnv('TZ', 'America/New_York');
  return () => vi.unstubAllEnvs();
});

function request(change: Partial<LiveRequest> = {}): LiveRequest {
  return {
    id: 'req_0Vx3kQp8aBcDeFgHiJkLmNoP',
    account: 'alice',
    model_asked: 'auto',
    conversation: null,
    target: 'openai/gpt-5.2',
    stream: true,
    state: 'answering',
    age_ms: 12_345,
    attempts: 1,
    output_tokens: 1234,
    tokens_per_second: 87.4,
    ...change,
  };
}

const DATA: TopData = {
  gateway: {
    pid: 4711,
    version: '0.1.0',
    since: '2026-11-22T12:00:00.000Z',
    urls: ['http://127.0.0.1:8787'],
  },
  frame: {
    at: '2026-11-22T14:05:33.000Z',
    totals: { requests: 1234, errors: 3, refused: 2, output_tokens: 1_200_000, cost_usd: 1.234 },
    in_flight: 3,
    requests: [
      request(),
      request({
        account: 'bob\u001b[31m',
        model_asked: 'sim/slow',
        target: 'sim/slow',
        tokens_per_second: 4.9,
      }),
      request({
        account: 'carol',
        target: null,
        state: 'waiting',
        output_tokens: null,
        tokens_per_second: null,
      }),
    ],
    targets: [
      { target: 'openai/gpt-5.2', state: 'healthy', wait_ms: 0, in_flight: 1, first_byte_ms: 310 },
      {
        target: 'anthropic/claude-sonnet-5',
        state: 'failing',
        wait_ms: 4000,
        in_flight: 0,
        first_byte_ms: null,
      },
      { target: 'sim/slow', state: 'healthy', wait_ms: 0, in_flight: 2, first_byte_ms: 2 },
    ],
    conversations: [
      {
        conversation: 'conv_1f2e3d4c5b6a7980',
        client: 'claude-code',
        label: null,
        account: 'alice',
        model: 'gpt-5.2',
        requests: 12,
        input_tokens: 340_000,
        output_tokens: 5600,
        cost_usd: 0.42,
        last_at: '2026-11-22T14:05:30.000Z',
      },
      {
        conversation: 'conv_0A1zzzzz00000000abc',
        client: null,
        label: 'pr-123',
        account: 'bob',
        model: 'slow',
        requests: 1,
        input_tokens: 5,
        output_tokens: 10,
        cost_usd: null,
        last_at: '2026-11-22T14:01:00.000Z',
      },
    ],
  },
  accounts: [
    { account: 'alice', used: 57, limit: 60 },
    { account: 'bob', used: 3, limit: 10 },
    { account: 'local', used: 9, limit: null },
  ],
};

describe('a frame', () => {
  it.each([60, 100, 160])('fits %i columns', (width) => {
    const lines = topLines(DATA, { width, height: undefined, style: plainStyle, zone: LOCAL });
    expect(`\n${lines.join('\n')}\n`).toMatchSnapshot();
    for (const line of lines) {
      expect(displayWidth(line)).toBeLessThanOrEqual(width);
      expect(line).toBe(stripVTControlCharacters(line));
    }
  });

  it.each([3, 8, 12, 20, 24])('fits %i lines, and says how many rows are left out', (height) => {
    const requests = Array.from({ length: 50 }, () => request());
    const frame = { ...DATA.frame, requests, in_flight: 70 };
    const lines = topLines({ ...DATA, frame }, { width: 100, height, style: plainStyle, zone: LOCAL });
    expect(lines.length).toBeLessThanOrEqual(height);
    if (height >= 20) {
      const shown = lines.filter((line) => line.includes('answering')).length;
      expect(lines).toContain(`… and ${70 - shown} more`);
    }
  });

  it('of an idle gateway has its head alone', () => {
    const frame = { ...DATA.frame, requests: [], in_flight: 0, targets: [], conversations: [] };
    const lines = topLines(
      { ...DATA, frame, accounts: [] },
      { width: 100, height: 24, style: plainStyle, zone: LOCAL },
    );
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('0 in flight');
  });
});
