// Whether the client asks for the long window: routing has to know.
import { expect, it } from 'vitest';
import { messages } from '../../../src/protocols/messages/index.ts';

it.each([
  ['context-1m-2025-08-07', true],
  ['interleaved-thinking-2025-05-14, context-1m-2025-08-07', true],
  ['interleaved-thinking-2025-05-14', false],
  [undefined, false],
])('the betas %s ask for the long window: %s', (beta, long) => {
  const headers = beta === undefined ? {} : { 'anthropic-beta': beta };
  expect(messages.client.forwardedHeaders(headers, '').longContext).toBe(long);
});
