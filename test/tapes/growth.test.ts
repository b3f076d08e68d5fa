// A tape may be anybody's: what is done with its texts takes time that grows as they do.
import { expect, it, vi } from 'vitest';
import { ALWAYS_IGNORED, readIgnore } from '../../src/tapes/match/ignore.ts';
import { indented } from '../../src/tapes/record/indent.ts';
import { suspicionsIn } from '../../src/tapes/redact/suspicious.ts';
import { fasterThanLinear } from '../helpers/growth.ts';

vi.setConfig({ testTimeout: 120_000 });

const UNITS = [
  'a',
  '1',
  ' ',
  '0a-',
  'id ',
  'ID: 1',
  '1:',
  '12 ',
  'Jan 1 ',
  '2026-01-01',
  '/tmp/a',
  'a@a.',
  'Zk9',
  '+49 ',
  '/home/a',
  '{"a":[',
  'User: x',
  '"\\"',
];
const ignoring = readIgnore([...ALWAYS_IGNORED, 'text: User: * is * here'], 'a tape');

const WORK: Readonly<Record<string, (text: string) => unknown>> = {
  'what may differ': (text) => ignoring.clean(text),
  'what looks like a secret': (text) => suspicionsIn(text),
  'lines for people': (text) => indented(`{"a":${text}`),
};

it.each(Object.keys(WORK))('%s', (what) => {
  for (const unit of UNITS) {
    const prepare = (size: number) => {
      const text = unit.repeat(Math.ceil(size / unit.length));
      return () => WORK[what]?.(text);
    };
    expect(fasterThanLinear(prepare, 20_000, [1000, 10_000, 100_000]), unit).toBeUndefined();
  }
});
