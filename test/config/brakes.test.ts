// Brakes in the configuration file: every form, and what is said of a wrong one.
import { describe, expect, it, test } from 'vitest';
import { faultsOf, load } from './folder.ts';

const file = (brakes: string): string => `providers: { sim: }\nbrakes: ${brakes}\n`;

describe('brakes', () => {
  test.each([
    ['', null],
    ['{}', null],
    ['{ conversation: }', null],
    [
      '{ conversation: 3.00, repeated_call: 5, requests_a_prompt: 200 }',
      { conversation: 3_000_000_000, repeatedCall: 5, requestsAPrompt: 200 },
    ],
    [
      '{ conversation: "0.000000001" }',
      { conversation: 1, repeatedCall: undefined, requestsAPrompt: undefined },
    ],
    [
      '{ conversation: 0.1 }',
      { conversation: 100_000_000, repeatedCall: undefined, requestsAPrompt: undefined },
    ],
    ['{ repeated_call: 2 }', { conversation: undefined, repeatedCall: 2, requestsAPrompt: undefined }],
    ['{ requests_a_prompt: 1 }', { conversation: undefined, repeatedCall: undefined, requestsAPrompt: 1 }],
  ])('%s', (text, brakes) => {
    expect(load(file(text)).brakes).toEqual(brakes);
  });

  test.each([
    [
      '3.00',
      'brakes: is not a mapping; write { conversation: 3.00, repeated_call: 5, requests_a_prompt: 200 }',
    ],
    ['{ conversation: 0 }', 'brakes.conversation: is not an amount of USD; write more than 0'],
    ['{ conversation: -1 }', 'brakes.conversation: is not an amount of USD'],
    ['{ conversation: 0.0000000001 }', 'brakes.conversation: is not an amount of USD'],
    ['{ conversation: 1e30 }', 'brakes.conversation: is not an amount of USD'],
    ['{ conversation: [3] }', 'brakes.conversation: is not an amount of USD'],
    ['{ conversation: true }', 'brakes.conversation: is not an amount of USD'],
    [
      '{ repeated_call: 1 }',
      'brakes.repeated_call: is not a number of calls; write a whole number of 2 or more',
    ],
    ['{ repeated_call: 2.5 }', 'brakes.repeated_call: is not a number of calls'],
    [
      '{ requests_a_prompt: 0 }',
      'brakes.requests_a_prompt: is not a number of requests; write a whole number of 1',
    ],
    [
      '{ requests_per_prompt: 5 }',
      'brakes.requests_per_prompt: is not a known key; did you mean requests_a_prompt',
    ],
  ])('%s is a fault that says where and what would be right', (text, fault) => {
    const [line, ...more] = faultsOf(file(text));
    expect(line).toContain(fault);
    expect(line).toContain(':2');
    expect(more).toEqual([]);
  });

  it('are off where the file says nothing of them', () => {
    expect(load('providers: { sim: }\n').brakes).toBeNull();
  });
});
