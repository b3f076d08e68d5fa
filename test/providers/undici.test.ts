// The tests run on the same parts of undici as the built program, which holds no others.
import { readdirSync, readFileSync } from 'node:fs';
import * as undici from 'undici';
import { expect, test } from 'vitest';

test('what a test imports as undici are the parts that the program is built of', () => {
  expect(Object.keys(undici).sort()).toEqual([
    'Agent',
    'EnvHttpProxyAgent',
    'Pool',
    'ProxyAgent',
    'buildConnector',
  ]);
  const folder = new URL('../../dist/cli/', import.meta.url);
  const program = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));
  expect(program.filter((script) => script.includes('undici/lib/dispatcher/agent.js'))).toHaveLength(1);
  expect(program.join()).not.toContain('undici/lib/web/fetch/index.js');
});
