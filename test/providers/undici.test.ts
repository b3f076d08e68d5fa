// The tests run on the same parts of undici as the built program, which holds no others.
import { readFileSync } from 'node:fs';
import * as undici from 'undici';
import { expect, test } from 'vitest';

test('what a test imports as undici are the parts that the program is built of', () => {
  expect(Object.keys(undici).sort()).toEqual(['Agent', 'EnvHttpProxyAgent', 'Pool', 'buildConnector']);
  const program = readFileSync(new URL('../../dist/cli/main.cjs', import.meta.url), 'utf8');
  expect(program).toContain('undici/lib/dispatcher/agent.js');
  expect(program).not.toContain('undici/lib/web/fetch/index.js');
});
