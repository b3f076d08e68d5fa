// No refusal that another form would have avoided: every client protocol, intent and recorded agent against strict stubs of what
// providers refuse. One request alone is seen here, so nothing is learnt from a refusal.
import { describe, expect, it } from 'vitest';
import { outcomes, STUBS, type Outcome } from './matrix.ts';
import { KINDS, type Kind } from './stubs/rule.ts';

type Way = Outcome['way'];

/** The most refusals of a kind that are known, and why they are there. Lower a number when fewer are left; never raise one. */
const AT_MOST: Readonly<Record<Kind, Record<Way, number> & { why?: string }>> = {
  'tools beside reasoning': {
    translated: 41,
    relayed: 25,
    why: 'azure/gpt-5.6-sol gets no effort none beside tools; on a relay openai/gpt-6-astra, which takes tools on responses alone',
  },
  'efforts and off': {
    translated: 2,
    relayed: 6,
    why: 'max on chat at OpenAI and Azure; thinking off at claude-sonnet-5-5 on a relay',
  },
  'schema roots': {
    translated: 46,
    relayed: 0,
    why: 'encoders send a union or a root without properties as it is',
  },
  'forced calls': {
    translated: 31,
    relayed: 0,
    why: 'the chat encoder forces calls at models that think, and a tool by its name where words alone are taken',
  },
  'structured output': {
    translated: 22,
    relayed: 27,
    why: 'json_schema where json_object alone is taken, and json_object without the word JSON in the messages',
  },
  'output limits': {
    translated: 2,
    relayed: 0,
    why: 'no limit of codestral-latest is known',
  },
  'reasoning that must come back': {
    translated: 16,
    relayed: 18,
    why: 'Kimi and MiMo get no reasoning for foreign calls; on a relay Gemini gets calls without a signature',
  },
  contents: {
    translated: 51,
    relayed: 4,
    why: 'the detail original of an image on chat; lists of texts at DeepSeek and Cerebras',
  },
  'sampling and stop': { translated: 0, relayed: 0 },
  'order and roles': {
    translated: 0,
    relayed: 100,
    why: 'a relay keeps the role developer, late system text, a user after a tool and turns that do not alternate',
  },
  'unknown members': {
    translated: 0,
    relayed: 34,
    why: 'on a relay: reasoning_content at OpenAI and Gemini, max_completion_tokens at Mistral, efforts at NVIDIA',
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
