// A terminal without the keys of the providers, which a gateway that runs as a service has: only what asks a provider needs them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createShell, type Shell } from './harness.ts';

const REASON = 'leaves no provider, since no key is set; set OPENAI_API_KEY for openai; or write "sim:"';

function keyless(text = 'providers:\n  openai:\nroutes:\n  fast: [openai/gpt-5-mini]\n'): Shell {
  const shell = createShell();
  const file = join(shell.directory, 'gateway.yaml');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return shell;
}

it.each([
  'keys create --account a',
  'keys list',
  'accounts list',
  'tiers list',
  'usage',
  'requests',
  'config show',
  'service install',
  'admin tokens list',
])('%s works', async (line) => {
  const { code, stderr } = await keyless().run(line);
  expect(stderr).not.toContain(REASON);
  expect(code, stderr).toBe(0);
});

it.each(['status', 'stop', 'reload', 'top'])('%s looks for a running gateway', async (line) => {
  const { code, stdout, stderr } = await keyless().run(line);
  expect({ code, text: stdout + stderr }).toEqual({
    code: 1,
    text: expect.stringContaining('no gateway') as string,
  });
});

it.each(['serve', 'serve --background', 'models', 'explain auto', 'check', 'config check'])(
  '%s names the variable that is missing',
  async (line) => {
    const { code, stderr } = await keyless().run(line);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(REASON) as string });
  },
);

it.each(['auto', 'fast', 'openai/gpt-5'])('connect takes %s, without its window', async (model) => {
  const { code, stdout, stderr } = await keyless().run(`connect claude --model ${model}`);
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('warning: provider openai is left out: OPENAI_API_KEY is not set');
  expect(stdout).toContain('ANTHROPIC_BASE_URL');
});

it('a command that starts a gateway of its own says why a model is missing', async () => {
  const shell = keyless('providers:\n  sim:\n  openai:\nroutes:\n  auto: [openai/gpt-5-mini]\n');
  expect((await shell.run('connect claude')).code).toBe(0);
  const { code, stderr } = await shell.run('run -- true', { env: { PATH: process.env.PATH } });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      'gateway: There is no model `auto` here: provider openai is left out (OPENAI_API_KEY is not set). Set it where the gateway is started, then start the gateway again.\n',
  });
});

it('connect knows that no provider has another name', async () => {
  const { code, stderr } = await keyless().run('connect claude --model other/m');
  expect(code).toBe(1);
  expect(stderr).toContain('unknown model "other/m"');
});
