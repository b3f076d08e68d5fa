import { expect, test } from 'vitest';
import { guardToolWords } from '../../../src/cli/program.ts';

test.each([
  ['serve --port 1', 'serve --port 1'],
  ['run', 'run'],
  ['run --help', 'run --help'],
  ['run claude --help', 'run -- claude --help'],
  ['run --model m claude -p hi', 'run --model m -- claude -p hi'],
  ['run --model=m claude --model x', 'run --model=m -- claude --model x'],
  ['--config f --debug run claude', '--config f --debug run -- claude'],
  ['run -- node app.js', 'run -- -- node app.js'],
  ['run --database d -- node', 'run --database d -- -- node'],
  ['keys create --account run', 'keys create --account run'],
])('%s', (line, guarded) => {
  expect(guardToolWords(line.split(' ')).join(' ')).toBe(guarded);
});
