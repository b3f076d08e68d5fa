// Builds src into one script, dist/cli/main.cjs: 440 modules read, resolved and compiled one by one take 190 ms longer to
// start. bin/gateway.js runs it.
import { defineConfig } from 'rolldown';

/**
 * What src/providers takes of undici, from the files in which it stands: all of undici costs 8 MiB and 50 ms. Its proxy
 * agents call `connect` of a dispatcher, which undici's own index puts there.
 */
const UNDICI = `
  import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
  import connect from 'undici/lib/api/api-connect.js';
  Object.assign(Dispatcher.prototype, { connect });
  export { default as Agent } from 'undici/lib/dispatcher/agent.js';
  export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js';
  export { default as buildConnector } from 'undici/lib/core/connect.js';
  export { default as Pool } from 'undici/lib/dispatcher/pool.js';
`;

const undiciInParts = {
  name: 'undici-in-parts',
  resolveId: (id) => (id === 'undici' ? '\0undici' : undefined),
  load: (id) => (id === '\0undici' ? UNDICI : undefined),
};

/** One character beyond Latin-1 would make V8 keep the whole text with two bytes a character. */
const ascii = {
  name: 'ascii',
  renderChunk: (code) =>
    code.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
};

export default defineConfig({
  input: 'src/cli/main.ts',
  platform: 'node',
  // Binaries.
  external: ['better-sqlite3', 'better-sqlite3-napi'],
  plugins: [undiciInParts, ascii],
  // What is wrong in a module that is imported (a name that undici's file has no more) must not wait for a user.
  onLog(level, log) {
    if (level === 'warn') throw new Error(log.message);
  },
  output: {
    dir: 'dist',
    entryFileNames: 'cli/main.cjs',
    format: 'cjs',
    // Its default takes out what has no effect: all of a function that is not called here.
    minify: false,
    cleanDir: true,
    codeSplitting: false,
    dynamicImportInCjs: false,
  },
});
