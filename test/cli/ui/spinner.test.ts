// Movement on a terminal: each row spins by itself, and the screen is as it was at the end.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createSpinners } from '../../../src/cli/commands/check.ts';
import { capture, createShell } from '../harness.ts';
import { createScreen } from '../../helpers/screen.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('shows each row with a spinner of its own, until it is done', async () => {
  const screen = createScreen(60);
  const rows = await createSpinners({ ...createShell().context, stderr: screen }, ['a', 'b', 'c'], false);
  const first = screen.lines();
  expect(first).toEqual([
    expect.stringMatching(/^\S a$/),
    expect.stringMatching(/^\S b$/),
    expect.stringMatching(/^\S c$/),
  ]);
  vi.advanceTimersByTime(100);
  const second = screen.lines();
  for (const at of [0, 1, 2]) expect(second[at]).not.toBe(first[at]);
  rows.done('b', false);
  vi.advanceTimersByTime(100);
  expect(screen.lines()[1]).toBe('✗ b');
  expect(screen.lines()[2]).not.toBe(second[2]);
  rows.print('a', () => screen.write('all of a\n'));
  expect(screen.lines()).toEqual(['all of a', '✗ b', expect.stringMatching(/^\S c$/)]);
  rows.stop();
  expect(screen.lines()).toEqual(['all of a']);
});

it('takes a line a row, however narrow the terminal', async () => {
  const screen = createScreen(24);
  const rows = await createSpinners(
    { ...createShell().context, stderr: screen },
    ['x'.repeat(60), 'b'],
    false,
  );
  expect(screen.lines()).toHaveLength(2);
  rows.stop();
  expect(screen.lines()).toEqual([]);
});

it.each([
  ['in a pipe', capture(), {}, false],
  ['under NO_COLOR', createScreen(60), { NO_COLOR: '1' }, false],
  ['in CI', createScreen(60), { CI: 'true' }, false],
  ['with --json', createScreen(60), {}, true],
])('nothing moves %s', async (_, stderr, env, json) => {
  const before = stderr.text;
  const rows = await createSpinners({ ...createShell().context, stderr, env }, ['a', 'b'], json);
  vi.advanceTimersByTime(1000);
  rows.done('a', true);
  rows.stop();
  expect(stderr.text).toBe(before);
});
