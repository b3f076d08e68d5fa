import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/helpers/longest-first.ts';

// Node 20 reads these certificates at each start, which takes 40 ms, and no test calls a machine that has one of them.
delete process.env['NODE_EXTRA_CA_CERTS'];

const parts = fileURLToPath(new URL('src/providers/undici-in-parts.js', import.meta.url));

export default defineConfig({
  // As in the built program (rolldown.config.js).
  resolve: { alias: [{ find: /^undici$/, replacement: parts }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/build.ts'],
    // Tests wait for processes, browsers and time-outs: meanwhile other files have the core. One more worker would save a few seconds
    // of waiting and cost a tenth more processor time, because each loads and compiles the modules for itself.
    maxWorkers: availableParallelism() + 1,
    // Tests make much that is gone at once: with Node's 16 MB for it, a fifth of the processor time was its collection.
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: LongestFirst },
    // Half of the processor time was the reading of the same modules for each file. Tests clean up after themselves anyhow.
    isolate: false,
    // What was compiled for a run is there for the next one.
    experimental: { fsModuleCache: true },
    // The names of rows in titles, which are cut at 40 characters otherwise.
    chaiConfig: { truncateThreshold: 160 },
    // What a test waits for comes late on a machine that others load: one that takes a second alone took 20 beside ten programs.
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
    coverage: { provider: 'v8', include: ['src/**'], reporter: ['text-summary', 'lcov'] },
  },
});
