// What users install is the tarball: it must hold all that its texts point to, and need neither a compiler nor GitHub.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

interface Package {
  engines: { node: string };
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  [member: string]: unknown;
}
const manifest = JSON.parse(read('package.json')) as Package;

function packed(): string[] {
  const argv = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const out = execFileSync('npm', argv, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const [tarball] = JSON.parse(out) as { files: { path: string }[] }[];
  return tarball?.files.map(({ path }) => path) ?? [];
}

it('the tarball holds the program and every file that README and the example point to, and no cache', () => {
  const files = packed();
  const links = [...read('README.md').matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = '']) => path);
  const named = [...read('config.example.yaml').matchAll(/\b[\w/.-]+\.md\b/g)].map(([path]) => path);
  expect(links.length).toBeGreaterThan(2);
  expect(files).toEqual(expect.arrayContaining([...links, ...named]));
  const scripts = readdirSync(`${ROOT}dist/cli`).map((name) => `dist/cli/${name}`);
  expect(scripts).toContain('dist/cli/main.cjs');
  const program = ['bin/gateway.js', 'bin/compile-cache.js', 'config.example.yaml'];
  expect(files).toEqual(expect.arrayContaining([...scripts, ...program, 'LICENSE', 'CHANGELOG.md']));
  expect(files.filter((path) => /cache$|\.db|\.env|^test\//.test(path))).toEqual([]);
});

it('no package with an install script is needed', () => {
  expect(Object.keys(manifest.optionalDependencies)).toEqual([
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
    'better-sqlite3',
    'better-sqlite3-napi',
    'pg',
  ]);
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { hasInstallScript?: boolean; optional?: boolean; dev?: boolean }>;
  };
  const scripts = Object.entries(packages).filter(([path, { hasInstallScript }]) => path && hasInstallScript);
  // npm warns of these where a tarball has them.
  for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
    expect(manifest.scripts).not.toHaveProperty(script);
  expect(scripts.filter(([, { optional, dev }]) => optional !== true && dev !== true)).toEqual([]);
});

it('package.json says where the project is, and the oldest Node that the program runs on', () => {
  for (const member of ['repository', 'homepage', 'bugs', 'keywords', 'license', 'description'])
    expect(manifest).toHaveProperty(member);
  expect(manifest.engines.node).toBe('>=20.20.2');
  expect(read('bin/gateway.js')).toContain('[20, 20, 2]');
  expect(read('README.md')).toContain('Node 20.20.2');
});

/** A program of someone who installed the package. */
const CONSUMER = `
import { GatewayError, stringify, translate, type Translation } from 'local-llm-gateway/translate';

const { body, losses, reply, stream }: Translation = translate(
  { model: 'm', messages: [{ role: 'user', content: 'Hello' }], seed: 7, stream: true },
  { from: 'chat', to: 'messages', model: 'claude', traits: { maxOutput: 64_000 } },
);
const paths: string[] = losses.filter(({ effect }) => effect === 'dropped').map(({ path }) => path);
const parts = stream();
const text: string = parts.push(new TextEncoder().encode('event: ping\\ndata: {"type":"ping"}\\n\\n')) + parts.end();
let refused = '';
try {
  reply('[]');
} catch (error) {
  if (error instanceof GatewayError) refused = error.kind;
}
// @ts-expect-error: no protocol of this name
const wrong = () => translate({}, { from: 'gemini', to: 'chat' });
console.log(JSON.stringify({ model: body.model, same: stringify(body) === JSON.stringify(body), paths, refused, ended: text.includes('error') }));
`;

it(
  'a program in TypeScript or JavaScript uses the translation from the tarball alone',
  { timeout: 120_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'packed-'));
    try {
      const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
      const out = execFileSync('npm', pack, {
        cwd: ROOT,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const [tarball] = JSON.parse(out) as { filename: string }[];
      execFileSync('tar', ['-xzf', tarball?.filename ?? '', 'package'], { cwd: folder });
      mkdirSync(join(folder, 'node_modules'));
      renameSync(join(folder, 'package'), join(folder, 'node_modules/local-llm-gateway'));
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
      writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
      const compilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        module: 'NodeNext',
        target: 'ES2022',
        lib: ['ES2022', 'DOM'],
        types: [],
      };
      writeFileSync(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['consumer.ts'] }),
      );
      // Checks the declarations too, and writes consumer.js.
      execFileSync(process.execPath, [`${ROOT}node_modules/typescript/bin/tsc`, '-p', folder], {
        stdio: 'pipe',
      });
      const printed = execFileSync(process.execPath, [join(folder, 'consumer.js')], { encoding: 'utf8' });
      expect(JSON.parse(printed)).toEqual({
        model: 'claude',
        same: true,
        paths: ['seed'],
        refused: 'invalid_request',
        ended: true,
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
