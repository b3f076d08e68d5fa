// `npm run models [-- VERSION]`: writes src/routing/models/catalogue.data.ts from the catalogue of @earendil-works/pi-ai and says what
// changed, and seals.txt beside this file, by which a test names rows that were edited by hand. The package is unpacked and not installed, because it brings 100 MB of providers' SDKs, and needs a newer Node than we do.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changes, lines, modelsOf, readLines, seals, SOURCES, type Entry } from './facts.ts';

const PACKAGE = '@earendil-works/pi-ai';
const FILE = 'src/routing/models/catalogue.data.ts';
const SEALS = 'test/catalogue/seals.txt';

const old = readFileSync(FILE, 'utf8');
const version = process.argv[2] ?? /pi-ai (\d[\w.-]*)/.exec(old)?.[1] ?? 'latest';
const folder = mkdtempSync(join(tmpdir(), 'catalogue-'));
try {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const packed = execFileSync(
    npm,
    ['pack', '--silent', '--json', '--pack-destination', folder, `${PACKAGE}@${version}`],
    {
      encoding: 'utf8',
      shell: process.platform === 'win32',
    },
  );
  const [{ filename, version: found }] = JSON.parse(packed) as [{ filename: string; version: string }];
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', folder]);
  const catalogue = catalogueOf();
  writeFileSync(FILE, written(found, catalogue));
  writeFileSync(SEALS, seals(catalogue));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The lines of each preset; prints what changed in them. */
function catalogueOf(): Readonly<Record<string, string>> {
  const presets = Object.entries(SOURCES).map(([preset, source]): [string, string] => {
    const file = join(folder, 'package/dist/providers/data', `${source}.json`);
    const byApi = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, Entry>>;
    const models = modelsOf(
      preset,
      Object.values(byApi).flatMap((rows) => Object.values(rows)),
    );
    const before = new RegExp(`^  ${preset}: \`([^\`]*)\``, 'm').exec(old)?.[1] ?? '';
    for (const line of changes(preset, readLines(before), models)) console.log(line);
    return [preset, `\n${lines(models).join('\n')}\n`];
  });
  return Object.fromEntries(presets);
}

function written(found: string, catalogue: Readonly<Record<string, string>>): string {
  const presets = Object.entries(catalogue).map(([preset, text]) => `  ${preset}: \`${text}\`,\n`);
  return `// Written by \`npm run models\` from the catalogue of ${PACKAGE} ${found} (MIT): do not edit. catalogue.ts reads it.\n\nexport const CATALOGUE: Readonly<Partial<Record<string, string>>> = {\n${presets.join('')}};\n`;
}
