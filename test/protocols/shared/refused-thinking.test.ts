// The words with which providers refuse thinking that came back to them.
import { expect, it } from 'vitest';
import { protocols } from '../../../src/protocols/registry.ts';

const read = (status: number, error: object): string | undefined =>
  protocols.chat.provider.decodeError(status, new Map(), JSON.stringify({ error })).reason;

it.each([
  { message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
  { message: 'messages.3.content.0: Invalid signature in thinking block' },
  { message: '{"error":{"message":"messages.1.content.3: Invalid `signature` in `thinking`       block"}}' },
  { message: 'messages.5.content.1: Invalid `data` in `redacted_thinking` block' },
  { message: 'The encrypted content gAAA...DQ== could not be verified.' },
  { message: 'Bad input.', code: 'invalid_encrypted_content' },
])('%o', (error) => {
  expect(read(400, error)).toBe('signature');
});

it.each([
  [400, { message: 'Invalid signature in the request header' }],
  [400, { message: 'messages.1: thinking blocks are not allowed here' }],
  [500, { message: 'Invalid `signature` in `thinking` block' }],
])('not %i %o', (status, error) => {
  expect(read(status, error)).toBe(undefined);
});
