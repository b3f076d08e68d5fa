// What strangers' words may not carry on to a client, and what they must keep.
import { describe, expect, it } from 'vitest';
import { redact } from '../../src/providers/redact.ts';
import { provider } from '../routing/fixtures.ts';

const owner = provider('p', ['m'], {
  apiKey: 'plainsecretvalue',
  headers: { 'x-team': 'teamsecret1' },
});

describe('scrub', () => {
  it.each([
    ['the own key, whatever its form', 'key plainsecretvalue is wrong', 'key [redacted] is wrong'],
    ['a header of the configuration', 'x-team: teamsecret1', 'x-team: [redacted]'],
    [
      'another key',
      'Incorrect API key provided: sk-proj-abcdefghijklmnop.',
      'Incorrect API key provided: [redacted].',
    ],
    ['a bearer token', 'sent Bearer abcdefgh.ijkl', 'sent Bearer [redacted]'],
    ['credentials in a URL', 'see https://user:pass@example.com/x', 'see https://[redacted]@example.com/x'],
    [
      'credentials in the query of a URL',
      'at https://a.example/x?v=1&api_key=0123456789abcdef&sig=Ab%2B0&b=2',
      'at https://a.example/x?v=1&api_key=[redacted]&sig=[redacted]&b=2',
    ],
    ['a token by its prefix', 'token hf_abcdefghijklmnop', 'token [redacted]'],
    ['a loopback address', 'connect 127.0.0.1:11434 failed', 'connect [address] failed'],
    ['a private URL', 'from http://10.1.2.3:80/v1/x?y, sorry', 'from [address], sorry'],
    ['an IPv6 address', 'dial [::1]:8080 failed', 'dial [address] failed'],
  ])('takes out %s', (_name, text, clean) => {
    expect(redact(text, owner)).toBe(clean);
  });

  it.each([
    'messages[10].content[0].type must be text',
    'tools[0].function.name is too long',
    'see https://platform.example.com/docs/errors#tokens',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'version 1.2.3.4 of the model',
    'see https://platform.example.com/docs?page=keys&monkeys=2',
    'maintenance [12:30]',
  ])('keeps %s', (text) => {
    expect(redact(text, owner)).toBe(text);
  });

  it('keeps a message within bounds', () => {
    expect(redact('x'.repeat(10_000), owner).length).toBeLessThanOrEqual(2001);
  });
});
