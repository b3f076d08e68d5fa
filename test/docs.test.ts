// Documents that repeat what the program says: their generated parts equal it. `npm run docs` writes them anew.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createShell } from './cli/harness.ts';
import { describeProgram } from '../src/cli/program.ts';

const fileOf = (name: string): string => path.resolve(import.meta.dirname, '..', name);

/** The document with `text` between its marks. */
function withGenerated(name: string, text: string): string {
  const [, head = '', tail = ''] =
    /^([^]*<!-- begin: [^\n]*-->\n)[^]*(<!-- end -->\n)$/.exec(readFileSync(fileOf(name), 'utf8')) ?? [];
  return `${head}\n${text}\n${tail}`;
}

it('docs/commands.md has the help of every command', async () => {
  const shell = createShell();
  const sections = async (command: Command, words: readonly string[]): Promise<string[]> => {
    const { stdout } = await shell.run([...words, '--help']);
    // The options of all commands stand in the help of the program alone.
    const help = stdout.replace(/\nGlobal Options:\n(?: .*\n)+/, '').trim();
    const title = `${'#'.repeat(words.length + 1)} gateway ${words.join(' ')}`;
    const below = command.commands.map((child) => sections(child, [...words, child.name()]));
    return [`${title}\n\n\`\`\`text\n${help}\n\`\`\`\n`, ...(await Promise.all(below)).flat()];
  };
  const program = await describeProgram(shell.context);
  const all = await Promise.all(program.commands.map((command) => sections(command, [command.name()])));
  const name = 'docs/commands.md';
  await expect(withGenerated(name, all.flat().join('\n'))).toMatchFileSnapshot(fileOf(name));
});

it('docs/configuration.md has every section of config.example.yaml', async () => {
  const example = readFileSync(fileOf('config.example.yaml'), 'utf8').trimEnd();
  // A section begins at the left edge, after an empty line.
  const [, ...sections] = example.split(/\n\n(?=\S)/);
  const text = sections.map((section) => {
    const keys = [...section.matchAll(/^(\w+):/gm)].map(([, key = '']) => `\`${key}\``);
    return `### ${keys.join(', ')}\n\n\`\`\`yaml\n${section}\n\`\`\`\n`;
  });
  const name = 'docs/configuration.md';
  await expect(withGenerated(name, text.join('\n'))).toMatchFileSnapshot(fileOf(name));
});

it('every page under docs that a document points to exists', () => {
  const documents = [
    'README.md',
    'docs/commands.md',
    'docs/configuration.md',
    'docs/http.md',
    'docs/clients.md',
    'docs/deploy/README.md',
  ];
  for (const document of documents) {
    const links = [...readFileSync(fileOf(document), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)];
    for (const [, link = ''] of links)
      expect(() => readFileSync(fileOf(path.join(path.dirname(document), link)))).not.toThrow();
  }
});
