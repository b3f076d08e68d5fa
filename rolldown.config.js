// Builds src into few scripts: 440 modules read, resolved and compiled one by one take 190 ms longer to start. bin/gateway.js
// runs dist/cli/main.cjs; a command loads the scripts that it needs.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, posix } from 'node:path';
import { findProvider } from '@pydantic/genai-prices';
import { defineConfig } from 'rolldown';

const parts = join(import.meta.dirname, 'src/providers/undici-in-parts.js');
const undiciInParts = {
  name: 'undici-in-parts',
  resolveId: (id) => (id === 'undici' ? parts : undefined),
};

/** Parts of Node that a package loads for what we do not use of it: programs as commands (3 ms), HTTP/2 (4 ms, and memory). */
const UNUSED = [
  { id: 'node:child_process', by: '/commander/', exports: '{}' },
  { id: 'node:http2', by: '/undici/', exports: '{ constants: {} }' },
];
const withoutUnused = {
  name: 'without-unused',
  resolveId: (id, importer = '') =>
    UNUSED.some((unused) => unused.id === id && importer.includes(unused.by)) ? `\0${id}` : undefined,
  load(id) {
    const unused = UNUSED.find((each) => `\0${each.id}` === id);
    return unused && `module.exports = ${unused.exports};`;
  },
};

/** Packages that ws uses where they are installed. */
const ADDONS = ['bufferutil', 'utf-8-validate'];
const withoutAddons = {
  name: 'without-addons',
  resolveId: (id) => (ADDONS.includes(id) ? `\0${id}` : undefined),
  load: (id) => (ADDONS.includes(id.slice(1)) ? `throw new Error('not part of the program');` : undefined),
};

/** A segmenter takes 4 MB and some milliseconds: string-width makes one when it is loaded, most commands need none. */
const SEGMENTER = 'const segmenter = new Intl.Segmenter();';
const lateSegmenter = {
  name: 'late-segmenter',
  transform(code, id) {
    if (!id.includes('/string-width/')) return undefined;
    if (!code.includes(SEGMENTER)) throw new Error('string-width makes its segmenter otherwise');
    const late =
      'let made; const segmenter = { segment: (text) => (made ??= new Intl.Segmenter()).segment(text) };';
    return code.replace(SEGMENTER, late);
  },
};

/** One character beyond Latin-1 would make V8 keep the whole text with two bytes a character. */
const ascii = {
  name: 'ascii',
  renderChunk: (code) =>
    code.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
};

const SERVING =
  /\/src\/(?:accounts|canonical|conversations|gateway|observe|protocols|providers|routing|server|sim)\/(?!websocket\/(?!upgrade|open-sessions))|\/src\/(?:admin\/door|cancellation|descriptors|ids|write-batch)\.ts$|\/undici\/|node:http2$/;
/** Commands that do not serve read these. */
const SHARED =
  /\/src\/(?:canonical\/(?:request|sim-models)|accounts\/(?:access|admin|conversation-report|json|limits-json|limits-report|request-json|terms|usage-report)|sim\/behaviours)\.ts$/;
/** What answers requests is one script, because V8 reads an export of another script through a getter. */
const serving = (id) =>
  SERVING.test(id) && !SHARED.test(id) && !id.endsWith('?copy') && !id.endsWith('direct-client.ts');

/** Commands that do not serve get copies of these, so that they load little and `serving` stays one script. Only values cross over. */
const COPIED =
  /\/src\/(?:canonical|conversations|routing)\/|\/src\/(?:cancellation|descriptors|ids)\.ts$|\/src\/providers\/(?:connection|discover|exchange|network\/proxy|redact|reply-body|turn-share|url)\.ts$|\/src\/protocols\/(?:outlines|refusals\/teach|shared\/(?:client|model-list)|\w+\/outline)\.ts$/;
const COPY = '?copy';
const copies = {
  name: 'copies',
  async resolveId(source, importer = '', options) {
    const copies =
      importer.endsWith(COPY) ||
      /\/src\/cli\/|\/src\/(?:log|accounts\/(?:admin|conversation-report)|providers\/direct-client)\.ts$/.test(
        importer,
      );
    if (!copies || !source.startsWith('.')) return undefined;
    const found = await this.resolve(source, importer.replace(COPY, ''), { ...options, skipSelf: true });
    return found !== null && COPIED.test(found.id) && !SHARED.test(found.id) ? found.id + COPY : found;
  },
  load: (id) =>
    id.endsWith(COPY)
      ? { code: readFileSync(id.slice(0, -COPY.length), 'utf8'), moduleType: 'ts' }
      : undefined,
};

const require = createRequire(import.meta.url);

/** What `src/routing/price.ts` reads of the price book, whose package holds all of it as one script of 2 MB. */
const prices = {
  name: 'prices',
  generateBundle() {
    const book = readFileSync(require.resolve('@pydantic/genai-prices'), 'utf8');
    const ids = [
      ...book.matchAll(/\{id:"([^"]+)",name:"[^"]*",(?:description:"[^"]*",)?(?:pricing_urls|api_pattern):/g),
    ];
    const providers = ids.map(([, providerId]) => findProvider({ providerId }));
    if (providers.length < 20 || providers.includes(undefined))
      throw new Error('the price book has another form');
    const emit = (name, value) =>
      this.emitFile({ type: 'asset', fileName: `prices/${name}.json`, source: JSON.stringify(value) });
    for (const { id, models } of providers)
      emit(
        id,
        models.map(({ match, prices, context_window }) => ({ match, prices, context_window })),
      );
    emit(
      'index',
      providers.map(({ id, api_pattern }) => ({ pattern: api_pattern, file: `${id}.json` })),
    );
  },
};

const pageFolder = join(import.meta.dirname, 'src/admin/page');

const uplotStyle = join(import.meta.dirname, 'node_modules/uplot/dist/uPlot.min.css');

/** Writes the style and the documents of the pages, which name their files by their hashes. */
const page = {
  name: 'page',
  buildStart() {
    const styles = join(pageFolder, 'style');
    const own = readdirSync(styles).sort();
    const source = [uplotStyle, ...own.map((name) => join(styles, name))]
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    this.emitFile({ type: 'asset', name: 'style.css', source });
  },
  generateBundle(_, bundle) {
    const files = Object.values(bundle);
    const style = files.find(({ fileName }) => fileName.endsWith('.css'))?.fileName;
    const form = readFileSync(join(pageFolder, 'index.html'), 'utf8');
    for (const [name, fileName, base] of [
      ['main', 'index.html', ''],
      ['device', 'device.html', '/device/'],
    ]) {
      const script = files.find((file) => file.isEntry && file.name === name)?.fileName;
      const source = form.replace('main.js', base + script).replace('style.css', base + style);
      this.emitFile({ type: 'asset', fileName, source });
    }
  },
};

/** The page of the admin API. Its files are cached for ever, so their names hold their hashes. */
const admin = defineConfig({
  input: { main: join(pageFolder, 'main.ts'), device: join(pageFolder, 'device.ts') },
  platform: 'browser',
  plugins: [page],
  output: {
    dir: 'dist/admin',
    format: 'esm',
    minify: true,
    entryFileNames: 'assets/[name]-[hash].js',
    chunkFileNames: 'assets/[name]-[hash].js',
    assetFileNames: 'assets/[name]-[hash][extname]',
  },
});

/** Binaries; and pg. */
const isDatabase = (id) => /^(?:better-sqlite3|pg$)/.test(id);

/** A process of the admin API. As a second entry of the program it would split the scripts of every command further. */
const report = defineConfig({
  input: 'src/admin/report-process.ts',
  platform: 'node',
  external: isDatabase,
  plugins: [ascii],
  output: {
    file: 'dist/cli/report-process.cjs',
    format: 'cjs',
    minify: false,
    codeSplitting: false,
    dynamicImportInCjs: false,
  },
});

/** A third of commander's bytes is its documentation. */
const COMMENTS = { legal: true, annotation: true, jsdoc: false };

const gateway = defineConfig({
  input: 'src/cli/main.ts',
  preserveEntrySignatures: 'allow-extension',
  platform: 'node',
  // And OpenTelemetry's SDK, 25 MB of optional packages. What prom-client needs of it is bundled.
  external: (id, importer = '') =>
    isDatabase(id) || (id.startsWith('@opentelemetry/') && !importer.includes('prom-client')),
  // Its main file is UMD, whose inner requires cannot be bundled.
  resolve: {
    alias: {
      'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
      yaml: join(import.meta.dirname, 'node_modules/yaml/browser/dist/index.js'),
    },
  },
  plugins: [undiciInParts, withoutUnused, withoutAddons, lateSegmenter, copies, ascii, prices],
  // What is wrong in a module that is imported (a name that undici's file has no more) must not wait for a user.
  onLog(level, log) {
    if (level === 'warn') throw new Error(log.message);
  },
  output: {
    dir: 'dist',
    entryFileNames: 'cli/[name].cjs',
    format: 'cjs',
    // Its default takes out what has no effect: all of a function that is not called here.
    minify: false,
    comments: COMMENTS,
    cleanDir: true,
    chunkFileNames: 'cli/[name].cjs',
    codeSplitting: {
      groups: [{ name: 'serving', test: serving }],
      includeDependenciesRecursively: false,
    },
    dynamicImportInCjs: false,
  },
});

/** The declarations of the files whose types the entry shows, each made from its source alone. */
const declarations = {
  name: 'declarations',
  async generateBundle() {
    const { default: ts } = await import('typescript');
    const compilerOptions = { isolatedDeclarations: true, declaration: true, target: ts.ScriptTarget.ES2022 };
    const emitted = new Set();
    const emit = (file) => {
      if (emitted.has(file)) return;
      emitted.add(file);
      const source = readFileSync(join(import.meta.dirname, 'src', file), 'utf8');
      const { outputText, diagnostics = [] } = ts.transpileDeclaration(source, {
        fileName: file,
        compilerOptions,
        reportDiagnostics: true,
      });
      const [fault] = diagnostics;
      if (fault !== undefined)
        throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(fault.messageText, ' ')}`);
      this.emitFile({
        type: 'asset',
        fileName: file.replace(/\.ts$/, '.d.ts'),
        source: outputText.replace(/(from '\.[^']*)\.ts'/g, "$1.js'"),
      });
      for (const { fileName } of ts.preProcessFile(outputText).importedFiles)
        emit(posix.join(posix.dirname(file), fileName));
    };
    emit('protocols/translate.ts');
  },
};

/** The entry `local-llm-gateway/translate`, for programs of others. */
const translation = defineConfig({
  input: 'src/protocols/translate.ts',
  platform: 'node',
  plugins: [ascii, declarations],
  output: {
    dir: 'dist/translate',
    entryFileNames: 'protocols/[name].js',
    format: 'esm',
    minify: false,
    comments: COMMENTS,
    codeSplitting: false,
  },
});

// In this order: the first one empties dist/.
export default [gateway, report, admin, translation];
