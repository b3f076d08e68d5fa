// No refusal that another form would have avoided: every client protocol, intent and recorded agent against strict stubs of what
// providers refuse. One request alone is seen here, so nothing is learnt from a refusal.
import { describe, expect, it } from 'vitest';
import { outcomes, STUBS, type Outcome } from './matrix.ts';
import { KINDS } from './stubs/rule.ts';

type Way = Outcome['way'];

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

function shownUnnamed({ stub, protocol, asks, unnamed }: Outcome): string {
  return `${stub.provider}/${stub.model}, ${protocol}: ${asks}: ${unnamed.join(', ')}`;
}

describe('what a provider refuses is not sent to it', () => {
  it.each(KINDS.flatMap((kind) => (['translated', 'relayed'] as const).map((way) => [kind, way] as const)))(
    '%s, %s',
    (kind, way) => {
      expect(listed(kind, way)).toBe('');
    },
  );

  it('and the gateway itself refuses nothing that a model could be given', () => {
    expect(listed('refused by the gateway', 'translated')).toBe('');
  });

  it.each(['translated', 'relayed'] as const)('and what differs from the request is named, %s', (way) => {
    const unnamed = all().filter((one) => one.way === way && one.unnamed.length > 0);
    expect(unnamed.map(shownUnnamed).join('\n')).toBe('');
  });

  it('over a matrix that does not shrink', () => {
    expect(STUBS.length).toBeGreaterThanOrEqual(60);
    const results = ['passed', ...KINDS, 'impossible', 'refused by the gateway'] as const;
    const rows = results.map((result) => [result, count(result, 'translated'), count(result, 'relayed')]);
    console.log([`${all().length} requests`, ...rows.map((row) => row.join(', '))].join('\n'));
    expect(all().length).toBeGreaterThanOrEqual(8800);
  });

  it.each(KINDS)('and some stub refuses: %s', (kind) => {
    expect(STUBS.some(({ rules }) => rules.some((rule) => rule.kind === kind))).toBe(true);
  });
});
