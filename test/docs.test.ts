// Documents that repeat what the program says: their generated parts equal it. `npm run docs` writes them anew.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createShell } from './cli/harness.ts';
import { describeProgram } from '../src/cli/program.ts';
import { gateway } from './helpers/gateway.ts';

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

const SOURCES = fileOf('src');

it('docs/http.md names every path that the gateway serves', async () => {
  const running = await gateway();
  const document = readFileSync(fileOf('docs/http.md'), 'utf8');
  const { error } = (await (await fetch(`${running.url}/a/path/of/nothing`)).json()) as {
    error: { message: string };
  };
  const paths = [...error.message.matchAll(/(?:serves|,) (\/v1[^\s,;]+)/g)].map(([, served = '']) => served);
  expect(paths).toContain('/v1/chat/completions');
  for (const served of [...paths, '/v1/models/{id}', '/health', '/metrics', '/api/hello', '/admin'])
    expect(document, served).toMatch(new RegExp(`[\` ]${served.replace(/[{}]/g, '\\$&')}[\`/]`));
});

it('docs/http.md and docs/admin.md name every header of the gateway itself', () => {
  const documents = ['docs/http.md', 'docs/admin.md']
    .map((name) => readFileSync(fileOf(name), 'utf8'))
    .join('');
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const names = files.flatMap((name) =>
    [
      ...readFileSync(path.join(SOURCES, name), 'utf8').matchAll(
        /'(x-(?:gateway|ratelimit|should|request)-[a-z-]+[a-z]|retry-after(?:-ms)?)'/g,
      ),
    ].map(([, header = '']) => header),
  );
  expect(new Set(names).size).toBeGreaterThan(8);
  expect([...new Set(names)].filter((name) => !documents.includes(name))).toEqual([]);
});

it('src/README.md has every folder and file of src on its floor', () => {
  const map = readFileSync(fileOf('src/README.md'), 'utf8');
  const floors = map.slice(map.indexOf('| floor | folders |'), map.indexOf('What the folders beside'));
  const entries = readdirSync(SOURCES).filter((name) => name !== 'README.md');
  expect(entries.length).toBeGreaterThan(20);
  expect(entries.filter((name) => !floors.includes(`\`${name}\``))).toEqual([]);
});
