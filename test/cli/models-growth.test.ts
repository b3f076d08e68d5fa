// A gateway with thousands of models: what is printed of them grows as they do.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { table } from '../../src/cli/ui/table.ts';
import { createShell } from './harness.ts';

it.each(['models', 'models --json'])('%s: twice as many models, about twice as much text', async (line) => {
  const sizes = [150, 300].map(async (count) => {
    const shell = createShell();
    const models = Array.from({ length: count }, (_, n) => `model-${n}`);
    const many = { base_url: 'http://127.0.0.1:9/v1', protocol: 'chat', api_key: 'k', models };
    writeFileSync(join(shell.directory, 'gateway.yaml'), JSON.stringify({ providers: { many } }));
    const { code, stdout } = await shell.run(line);
    expect(code).toBe(0);
    // Nothing is lost in a pipe.
    expect(stdout).toContain(`model-${count - 1}`);
    return stdout.length;
  });
  const [small = 0, large = 0] = await Promise.all(sizes);
  expect(large / small).toBeLessThan(2.5);
});

it.each([undefined, 100])(
  'a table in %s columns with one cell of a megabyte is no larger for each row',
  (width) => {
    const text = 'x'.repeat(1_000_000);
    const rows = [text, ...Array.from({ length: 2000 }, (_, n) => String(n))];
    const columns = [
      { title: 'WORDS', value: (row: string) => row, shrinks: true },
      { title: 'END', value: () => 'end' },
    ];
    expect(table(rows, columns, { width }).join('\n').length).toBeLessThan(1_500_000);
  },
);
