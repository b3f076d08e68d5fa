// Models for work beside the chat in the settings of editors: autocomplete and embeddings, where a target has them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { createShell, temporaryDirectory } from '../harness.ts';

const UP = `listen: { hosts: [127.0.0.1], port: 1 }
providers:
  up:
    protocol: chat
    base_url: 'http://127.0.0.1:9'
    api_key: k
    models: [m, MODELS]
`;

interface Model {
  model: string;
  roles: string[];
  apiBase: string;
  env?: object;
}

function shellWith(models: string): { home: string; connect: (line: string) => Promise<string> } {
  const shell = createShell();
  const file = path.join(shell.directory, 'gateway.yaml');
  writeFileSync(file, UP.replace('MODELS', models));
  const home = temporaryDirectory();
  const env = { HOME: home, XDG_CONFIG_HOME: '', GATEWAY_CONFIG: file };
  const connect = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await shell.run(`connect ${line}`, { env });
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  return { home, connect };
}

const BOTH = 'qwen2.5-coder, { id: nomic, embeddings: true }';

it('Continue gets a model for autocomplete and one for embeddings', async () => {
  const { home, connect } = shellWith(BOTH);
  const said = await connect('continue --write --model m');
  const file = readFileSync(path.join(home, '.continue', 'config.yaml'), 'utf8');
  const { models } = parse(file) as { models: Model[] };
  expect(models.map(({ model, roles }) => [model, roles])).toEqual([
    ['m', ['chat', 'edit', 'apply']],
    ['qwen2.5-coder', ['autocomplete']],
    ['nomic', ['embed']],
  ]);
  expect(models[1]).toMatchObject({
    apiBase: 'http://127.0.0.1:1/v1',
    env: { useLegacyCompletionsEndpoint: true },
  });
  expect(said).toContain('Gateway qwen2.5-coder (autocomplete)');
  await connect('continue --undo');
});

it("Continue's older file gets them at its own places, and is as before after undo", async () => {
  const { home, connect } = shellWith(BOTH);
  const file = path.join(home, '.continue', 'config.json');
  mkdirSync(path.dirname(file));
  const before = '{\n  "tabAutocompleteModel": { "title": "mine" }\n}\n';
  writeFileSync(file, before);
  await connect('continue --write --model m');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    models: [{ model: 'm' }],
    tabAutocompleteModel: { model: 'qwen2.5-coder', provider: 'openai' },
    embeddingsProvider: { model: 'nomic', provider: 'openai' },
  });
  await connect('continue --undo');
  expect(readFileSync(file, 'utf8')).toBe(before);
});

it('Zed predicts edits with it, at the endpoint itself', async () => {
  const { home, connect } = shellWith(BOTH);
  const said = await connect('zed --write --model m');
  const file = path.join(home, '.config', 'zed', 'settings.json');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    edit_predictions: {
      provider: 'open_ai_compatible_api',
      open_ai_compatible_api: {
        api_url: 'http://127.0.0.1:1/v1/completions',
        model: 'qwen2.5-coder',
        prompt_format: 'infer',
      },
    },
  });
  expect(said).toContain('ZED_OPEN_AI_COMPATIBLE_EDIT_PREDICTION_API_KEY');
});

it.each(['other', '{ id: qwen2.5-coder-embed, embeddings: true }'])(
  'nothing is written for autocomplete where no model completes code (%s)',
  async (models) => {
    const { home, connect } = shellWith(models);
    await connect('zed --write --model m');
    const file = path.join(home, '.config', 'zed', 'settings.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).not.toHaveProperty('edit_predictions');
  },
);
