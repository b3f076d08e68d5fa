// `gateway connect claude --native`: its mark stands beside the headers that the user sends already, and goes alone.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createShell, temporaryDirectory } from '../harness.ts';

const MARK = 'x-gateway-native: 1';

/** `headers`: the user's own; undefined: none. */
function user(headers: unknown) {
  const shell = createShell();
  const file = path.join(shell.directory, 'gateway.yaml');
  writeFileSync(file, 'listen: { hosts: [127.0.0.1], port: 1 }\nproviders: { sim: }\n');
  const home = temporaryDirectory();
  const settings = path.join(home, '.claude', 'settings.json');
  mkdirSync(path.dirname(settings), { recursive: true });
  const own = `{\n  "env": { "MINE": "1"${headers === undefined ? '' : `, "ANTHROPIC_CUSTOM_HEADERS": ${JSON.stringify(headers)}`} }\n}\n`;
  writeFileSync(settings, own);
  const base = { HOME: home, XDG_CONFIG_HOME: '', GATEWAY_CONFIG: file };
  const read = () => JSON.parse(readFileSync(settings, 'utf8')) as { env: Record<string, unknown> };
  return {
    own,
    text: () => readFileSync(settings, 'utf8'),
    sent: () => read().env['ANTHROPIC_CUSTOM_HEADERS'],
    change: (name: string, value: string) => {
      const { env, ...others } = read();
      writeFileSync(settings, JSON.stringify({ ...others, env: { ...env, [name]: value } }));
    },
    connect: (line: string, env: Record<string, string> = {}) =>
      shell.run(`connect ${line}`, { env: { ...base, ...env } }),
  };
}

it.each([
  ['without headers of the user', undefined, MARK],
  ['with an empty text', '', MARK],
  ['beside one header', 'x-team: blue', `x-team: blue\n${MARK}`],
  ['beside several, with a line break behind the last', 'x-a: 1\nx-b: 2\n', `x-a: 1\nx-b: 2\n${MARK}`],
  ['where it stands already', `${MARK}\nx-a: 1`, `${MARK}\nx-a: 1`],
])('writes the mark %s, once, and takes it back byte for byte', async (_, before, after) => {
  const { connect, own, text, sent } = user(before);
  expect((await connect('claude --native --write')).code).toBe(0);
  expect(sent()).toBe(after);
  expect((await connect('claude --native --write')).stdout).toContain('nothing was changed');
  expect(sent()).toBe(after);
  expect((await connect('claude --undo')).code).toBe(0);
  expect(text()).toBe(own);
});

it('takes out its own line alone where the user changed the others since', async () => {
  const { connect, change, sent } = user('x-a: 1');
  await connect('claude --native --write');
  change('ANTHROPIC_CUSTOM_HEADERS', `x-a: 2\n${MARK}\nx-b: 3`);
  const { stdout } = await connect('claude --undo --json');
  expect(sent()).toBe('x-a: 2\nx-b: 3');
  expect(JSON.parse(stdout)).toMatchObject({ files: [{ left: [] }] });
});

it('leaves the headers of a user who took its line out', async () => {
  const { connect, change, sent } = user(undefined);
  await connect('claude --native --write');
  change('ANTHROPIC_CUSTOM_HEADERS', 'x-a: 2');
  const { stdout } = await connect('claude --undo --json');
  expect(sent()).toBe('x-a: 2');
  expect(JSON.parse(stdout)).toMatchObject({ files: [{ left: [] }] });
});

it('leaves no variable where other settings were changed since', async () => {
  const { connect, change, sent, text } = user(undefined);
  await connect('claude --native --write');
  change('MINE', '2');
  await connect('claude --undo');
  expect(sent()).toBe(undefined);
  expect(JSON.parse(text())).toEqual({ env: { MINE: '2' } });
});

it('is no longer written once --native is left out', async () => {
  const { connect, sent } = user('x-a: 1');
  await connect('claude --native --write');
  await connect('claude --write');
  expect(sent()).toBe('x-a: 1');
});

it('prints the headers of the environment with the mark', async () => {
  const { connect } = user(undefined);
  const headers = (env: Record<string, string>) =>
    connect('claude --native --env --json', env).then(
      ({ stdout }) =>
        (JSON.parse(stdout) as { variables: Record<string, unknown> }).variables['ANTHROPIC_CUSTOM_HEADERS'],
    );
  expect(await headers({})).toBe(MARK);
  expect(await headers({ ANTHROPIC_CUSTOM_HEADERS: 'x-a: 1' })).toBe(`x-a: 1\n${MARK}`);
  expect(await headers({ ANTHROPIC_CUSTOM_HEADERS: `x-a: 1\n${MARK}` })).toBe(`x-a: 1\n${MARK}`);
});
