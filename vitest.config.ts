import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/build.ts'],
    // The default leaves a core alone; with two of them the suite takes 75 s instead of 143.
    maxWorkers: '100%',
    testTimeout: 20_000,
    hookTimeout: 20_000,
    coverage: { provider: 'v8', include: ['src/**'], reporter: ['text-summary', 'lcov'] },
  },
});
