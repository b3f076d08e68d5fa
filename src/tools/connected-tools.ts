// The tools of `gateway connect`, one row each: what they are called, where they lie, what to write, and what a person has to do.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { claudeSettings } from './claude-setup.ts';
import { findProgram, type Surroundings } from './programs.ts';
import { KEY_VARIABLE, type Setup, type Pointing } from './setups.ts';
import { findTool } from './tools.ts';
import * as editors from './editors.ts';
import * as settings from './settings.ts';
import type { FileChange } from './engine.ts';
import type { Places, Settings, Target } from './settings.ts';

export interface ConnectTool {
  name: string;
  title: string;
  /** The program in PATH, if it has one. */
  program?: string;
  /** Folders that the tool itself creates. */
  folders?: (places: Places) => string[];
  /** What is written. A tool without it takes variables alone (`env`), or is set up by a person. */
  settings?: Settings;
  /** What is written for a tool that signs in by itself at the gateway of this URL. */
  signIn?: (url: string, places: Places) => FileChange[];
  /** Variables that are enough. */
  env?: (to: Pointing) => Setup;
  /** The settings do not hold the key: a person needs it. */
  showsKey?: true;
  /** What a person does, before or after. */
  steps: (to: Target) => string[];
}

type Row = Omit<ConnectTool, 'title' | 'program'> & Partial<Pick<ConnectTool, 'title' | 'program'>>;

/** Name and program of a tool that `gateway run` knows are those of its row there. */
function row(tool: Row): ConnectTool {
  const known = findTool(tool.name);
  return {
    ...(known && { program: known.program }),
    ...tool,
    title: tool.title ?? known?.title ?? tool.name,
  };
}

const KEY_HEADER = 'x-api-key';

const begin = (command: string): string =>
  `Start it as usual: ${command}. Sessions that run keep their old settings.`;

const keyCommand = (title: string): string =>
  `Create a key for it: gateway keys create --account local --name ${JSON.stringify(title)}`;

export const CONNECT_TOOLS: readonly ConnectTool[] = [
  row({
    name: 'claude',
    settings: settings.claude,
    signIn: settings.claudeSignIn,
    env: claudeSettings,
    steps: () => [begin('claude')],
  }),
  row({
    name: 'codex',
    settings: settings.codex,
    steps: () => [
      'Start it with its profile: codex --profile gateway. Without it, Codex is as before.',
      'The IDE extension and the app read config.toml alone: they stay as they are.',
    ],
  }),
  row({
    name: 'opencode',
    settings: settings.opencode,
    env: findTool('opencode')?.setup,
    steps: () => [begin('opencode')],
  }),
  row({ name: 'qwen', settings: settings.qwen, steps: () => [begin('qwen')] }),
  row({
    name: 'cline',
    title: 'Cline CLI',
    program: 'cline',
    settings: settings.cline,
    steps: ({ url, model }) => [
      begin('cline'),
      `The extension of VS Code has its key in the editor's own storage: choose there API Provider "OpenAI Compatible", Base URL ${url}/v1, Model ID ${model}.`,
    ],
  }),
  row({
    name: 'continue',
    title: 'Continue',
    program: 'cn',
    folders: ({ home }) => [path.join(home, '.continue')],
    settings: editors.continueDev,
    steps: ({ model, completer, embedder }) => [
      `Choose the model "Gateway ${model}" in Continue, in cn with /model. Without a choice, cn takes the first of the list.`,
      ...(completer === undefined ? [] : [`For autocomplete, choose "Gateway ${completer} (autocomplete)".`]),
      ...(embedder === undefined ? [] : [`For embeddings, choose "Gateway ${embedder} (embed)".`]),
    ],
  }),
  row({
    name: 'zed',
    title: 'Zed',
    program: 'zed',
    folders: (places) => [settings.configFolder(places, 'zed')],
    settings: editors.zed,
    showsKey: true,
    steps: ({ completer }) => [
      'Zed has no place for a key in its settings: open "agent: open settings", provider Gateway, and paste the key. From a terminal, the variable GATEWAY_API_KEY does the same.',
      ...(completer === undefined
        ? []
        : [
            `Edit predictions come from ${completer}: paste the key in the settings of edit prediction, too, or set ZED_OPEN_AI_COMPATIBLE_EDIT_PREDICTION_API_KEY.`,
          ]),
    ],
  }),
  row({
    name: 'vscode',
    title: 'VS Code Copilot Chat',
    program: 'code',
    folders: (places) => [editors.codeFolder(places)],
    settings: editors.vscode,
    steps: ({ model }) => [
      'VS Code 1.122 or later with GitHub Copilot Chat is needed.',
      `Choose the model "Gateway ${model}" in the chat; if it is missing, restart VS Code.`,
    ],
  }),
  row({ name: 'aider', settings: settings.aider, steps: () => [begin('aider')] }),
  row({ name: 'pi', settings: settings.pi, steps: () => [begin('pi')] }),
  row({
    name: 'crush',
    settings: settings.crush,
    steps: ({ model }) => [
      `Start it as usual: crush. A model that you chose inside Crush before comes first: choose Gateway ${model} there.`,
    ],
  }),
  row({
    name: 'goose',
    settings: settings.goose,
    env: findTool('goose')?.setup,
    showsKey: true,
    steps: () => [
      `Goose reads the key from the variable ${KEY_VARIABLE}: set it in the profile of your shell.`,
    ],
  }),
  row({
    name: 'kilo',
    title: 'Kilo Code',
    program: 'kilo',
    settings: settings.kilo,
    steps: () => [begin('kilo')],
  }),
  row({
    name: 'droid',
    title: 'Droid (Factory)',
    program: 'droid',
    settings: settings.droid,
    steps: () => [begin('droid')],
  }),
  row({ name: 'copilot', env: findTool('copilot')?.setup, steps: () => environmentSteps('copilot') }),
  row({ name: 'kimi', env: findTool('kimi')?.setup, steps: () => environmentSteps('kimi') }),
  row({
    name: 'cursor',
    title: 'Cursor',
    program: 'cursor',
    steps: ({ model }) => [
      "Cursor sends requests from its own servers: they can't reach 127.0.0.1. The gateway needs a public https address (a tunnel or a reverse proxy; its name in listen.names).",
      keyCommand('Cursor'),
      `Cursor Settings → Models: turn on "Override OpenAI Base URL" with https://YOUR-ADDRESS/v1, paste the key as OpenAI API Key, add the model ${model}.`,
      'Limits: a paid plan may be necessary, tab completion does not use it, and the override is for all OpenAI models.',
    ],
  }),
  row({
    name: 'jetbrains',
    title: 'JetBrains AI Assistant',
    steps: ({ url, model }) => [
      keyCommand('JetBrains'),
      `Settings → Tools → AI Assistant → Providers & API keys: add "OpenAI-compatible" with URL ${url}/v1 and the key, model ${model}.`,
      'Limits: one entry holds one model (2026.1), and completion of code in the editor may still use models of JetBrains.',
    ],
  }),
  row({
    name: 'xcode',
    title: 'Xcode',
    steps: ({ url }) => [
      keyCommand('Xcode'),
      `Settings → Intelligence → Add a Chat Provider → Internet Hosted: URL ${url} (without /v1), API Key Header ${KEY_HEADER}, the key.`,
      'Limits: Xcode 26.3 or later; earlier versions lose the entry at their next start.',
    ],
  }),
];

const environmentSteps = (name: string): string[] => [
  `It reads variables alone: gateway connect ${name} --env prints them for the profile of your shell. For one start: gateway run ${name}`,
];

export const CONNECT_NAMES: readonly string[] = CONNECT_TOOLS.map(({ name }) => name);

export const findConnectTool = (name: string): ConnectTool | undefined =>
  CONNECT_TOOLS.find((tool) => tool.name === name);

/** undefined: the tool leaves no trace that could be found. */
export function isInstalled(
  { program, folders }: ConnectTool,
  surroundings: Surroundings,
  places: Places,
): boolean | undefined {
  if (program === undefined && folders === undefined) return undefined;
  if (program !== undefined && findProgram(program, surroundings) !== undefined) return true;
  return folders?.(places).some((folder) => existsSync(folder)) ?? false;
}
