// Which hosts are this machine.
import { describe, expect, it } from 'vitest';
import { isLoopback } from '../src/loopback.ts';

describe('a host', () => {
  it.each(['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.9.8.7', '::1', '[::1]'])(
    'is loopback: %s',
    (host) => {
      expect(isLoopback(host)).toBe(true);
    },
  );

  it.each([
    '',
    'localhost.example.com',
    '127.0.0.1.example.com',
    '127.0.0.999',
    '128.0.0.1',
    '0.0.0.0',
    '::',
  ])('is not loopback: "%s"', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});
