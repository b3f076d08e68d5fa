// No refusal that another form would have avoided: every client protocol, intent and recorded agent against strict stubs of what
// providers refuse. One request alone is seen here, so nothing is learnt from a refusal.
import { describe, expect, it } from 'vitest';
import { outcomes, STUBS, type Outcome } from './matrix.ts';
import { KINDS, type Kind } from './stubs/rule.ts';

type Way = Outcome['way'];

/** The most refusals of a kind that are known, and why they are there. Lower a number when fewer are left; never raise one. */
const AT_MOST: Readonly<Record<Kind, Record<Way, number> & { why?: string }>> = {
  'tools beside reasoning': { translated: 0, relayed: 0 },
  'efforts and off': { translated: 0, relayed: 0 },
  'schema roots': { translated: 0, relayed: 0 },
  'forced calls': { translated: 0, relayed: 0 },
  'structured output': {
    translated: 1,
    relayed: 8,
    why: 'json_object of responses clients without the word JSON in the input, which OpenAI documents as their part',
  },
  'output limits': { translated: 2, relayed: 1, why: 'no limit of codestral-latest is known' },
  'reasoning that must come back': { translated: 0, relayed: 0 },
  contents: { translated: 0, relayed: 0 },
  'sampling and stop': { translated: 0, relayed: 0 },
  'order and roles': {
    translated: 0,
    relayed: 8,
    why: 'messages cannot be joined, or put between others, in the bytes of a relayed request',
  },
  'unknown members': {
    translated: 0,
    relayed: 8,
    why: 'whether kimi-k2.6 at NVIDIA takes an effort is not known',
  },
};

let made: readonly Outcome[] | undefined;
/** Made by the first test. */
const all = (): readonly Outcome[] => (made ??= outcomes());
const count = (result: Outcome['result'], way: Way): number =>
  all().filter((one) => one.result === result && one.way === way).length;

function listed(result: Outcome['result'], way: Way): string {
  return all()
    .filter((one) => one.result === result && one.way === way)
    .map(
      ({ stub, protocol, asks, words }) =>
        `${stub.provider}/${stub.model}, ${protocol}: ${asks}: ${words.slice(0, 200)}`,
    )
    .join('\n');
}

describe('what a provider refuses is not sent to it', () => {
  it.each(KINDS.flatMap((kind) => (['translated', 'relayed'] as const).map((way) => [kind, way] as const)))(
    '%s, %s',
    (kind, way) => {
      expect(count(kind, way), listed(kind, way)).toBeLessThanOrEqual(AT_MOST[kind][way]);
    },
  );

  it('and the gateway itself refuses nothing that a model could be given', () => {
    expect(listed('refused by the gateway', 'translated')).toBe('');
  });

  it('over a matrix that does not shrink', () => {
    expect(STUBS.length).toBeGreaterThanOrEqual(60);
    const results = ['passed', ...KINDS, 'impossible', 'refused by the gateway'] as const;
    const rows = results.map((result) => [result, count(result, 'translated'), count(result, 'relayed')]);
    console.log([`${all().length} requests`, ...rows.map((row) => row.join(', '))].join('\n'));
    expect(all().length).toBeGreaterThanOrEqual(8000);
  });

  it.each(KINDS)('and some stub refuses: %s', (kind) => {
    expect(STUBS.some(({ rules }) => rules.some((rule) => rule.kind === kind))).toBe(true);
  });
});
