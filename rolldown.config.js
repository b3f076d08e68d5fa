// Builds src into few scripts: 440 modules read, resolved and compiled one by one take 190 ms longer to start. bin/gateway.js
// runs dist/cli/main.cjs; a command loads the scripts that it needs.
import { join } from 'node:path';
import { defineConfig } from 'rolldown';

const parts = join(import.meta.dirname, 'src/providers/undici-in-parts.js');
const undiciInParts = {
  name: 'undici-in-parts',
  resolveId: (id) => (id === 'undici' ? parts : undefined),
};

/** One character beyond Latin-1 would make V8 keep the whole text with two bytes a character. */
const ascii = {
  name: 'ascii',
  renderChunk: (code) =>
    code.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
};

const SERVING =
  /\/src\/(?:accounts|canonical|gateway|observe|protocols|providers|routing|server|sim)\/|\/undici\//;
/** Commands that do not serve read these. */
const SHARED = /\/src\/(?:canonical\/request|accounts\/(?:key|json|usage-report)|sim\/behaviours)\.ts$/;
/** What answers requests is one script, because V8 reads an export of another script through a getter. */
const serving = (id) => SERVING.test(id) && !SHARED.test(id);

export default defineConfig({
  input: 'src/cli/main.ts',
  preserveEntrySignatures: 'allow-extension',
  platform: 'node',
  // Binaries; and OpenTelemetry's SDK, 25 MB of optional packages. What prom-client needs of it is bundled.
  external: (id, importer = '') =>
    /^better-sqlite3/.test(id) || (id.startsWith('@opentelemetry/') && !importer.includes('prom-client')),
  plugins: [undiciInParts, ascii],
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
    cleanDir: true,
    chunkFileNames: 'cli/[name].cjs',
    codeSplitting: {
      groups: [{ name: 'serving', test: serving }],
      includeDependenciesRecursively: false,
    },
    dynamicImportInCjs: false,
  },
});
