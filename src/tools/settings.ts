// What each tool's own settings must hold to use a gateway: a table of files and values. The values that `gateway run` sets, too,
// come from setups.ts. Sources are the tools' documentation and code (docs/connect.md names what was tried).
import { existsSync } from 'node:fs';
import path from 'node:path';
import {
  aiderModel,
  codexModel,
  codexProvider,
  codexSearch,
  crushConfig,
  KEY_VARIABLE,
  opencodeConfig,
  piProvider,
  type Pointing,
} from './setups.ts';
import { claudeSettings } from './claude-setup.ts';
import type { Environment } from '../environment.ts';
import type { Edit, Json, Path } from './texts/document.ts';
import type { FileChange } from './engine.ts';

export type Target = Omit<Pointing, 'fileAt'>;

/** Where this user's settings lie. */
export interface Places {
  env: Environment;
  platform: NodeJS.Platform;
  home: string;
}

export type Settings = (to: Target, places: Places) => FileChange[];

/** A variable's path, else one below the home folder. */
function folder({ env, home }: Places, variable: string, ...otherwise: string[]): string {
  const named = env[variable] ?? '';
  return path.isAbsolute(named) ? named : path.join(home, ...otherwise);
}

export const configFolder = (places: Places, name: string): string =>
  path.join(folder(places, 'XDG_CONFIG_HOME', '.config'), name);

export const roaming = ({ env, home }: Places): string =>
  env['APPDATA'] ?? path.join(home, 'AppData', 'Roaming');

/** The first that exists, else a new one. */
export const existing = (base: string, names: readonly string[], otherwise: string): string =>
  path.join(base, names.find((name) => existsSync(path.join(base, name))) ?? otherwise);

export const edits = (...rows: readonly (readonly [Path, Json])[]): Edit[] =>
  rows.map(([at, value]) => ({ path: at, value }));

export const entry = (at: Path, value: Json): Edit => ({ path: at, value, entry: true });

/** Without members that are undefined. */
export const json = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

export const claudeFolder = (places: Places): string => folder(places, 'CLAUDE_CONFIG_DIR', '.claude');

export const claude: Settings = (to, places) => {
  const { env, lines = {} } = claudeSettings(to);
  const change: FileChange = {
    path: path.join(claudeFolder(places), 'settings.json'),
    format: 'json',
    edits: [
      ...Object.entries(env).flatMap(([name, value]) =>
        value === undefined ? [] : edits([['env', name], value]),
      ),
      ...Object.entries(lines).map(([name, value]): Edit => ({ path: ['env', name], value, line: true })),
    ],
    secret: true,
    strict: true,
  };
  return [change];
};

/** It gets its key by a sign-in; without these two its /login offers no gateway. */
export const claudeSignIn = (url: string, places: Places): FileChange[] => [
  {
    path: path.join(claudeFolder(places), 'settings.json'),
    format: 'json',
    edits: edits([['forceLoginMethod'], 'gateway'], [['forceLoginGatewayUrl'], url]),
    strict: true,
  },
];

export const codexFolder = (places: Places): string => folder(places, 'CODEX_HOME', '.codex');

/** Files of its own: Codex reads `NAME.config.toml` for `--profile NAME`. */
export const codex: Settings = (to, places) => {
  const catalog = path.join(codexFolder(places), 'gateway-models.json');
  const { web_search: search } = codexSearch(to);
  const provider = codexProvider(to.url, { experimental_bearer_token: to.key });
  return [
    { path: catalog, format: 'json', edits: edits([['models'], json([codexModel(to)])]) },
    {
      path: path.join(codexFolder(places), 'gateway.config.toml'),
      format: 'toml',
      edits: [
        ...edits([['model'], to.model], [['model_provider'], 'gateway'], [['model_catalog_json'], catalog]),
        ...(search === undefined ? [] : edits([['web_search'], search])),
        entry(['model_providers', 'gateway'], provider),
      ],
      secret: true,
    },
  ];
};

function opencodeFile(file: string, schema: string, to: Target): FileChange[] {
  const { provider, model, small_model: small } = opencodeConfig(to);
  const change: FileChange = {
    path: file,
    format: 'json',
    whenNew: edits([['$schema'], schema]),
    edits: [
      entry(['provider', 'gateway'], json(provider.gateway)),
      ...edits([['model'], model], [['small_model'], small]),
    ],
    secret: true,
  };
  return [change];
}

export const opencode: Settings = (to, places) => {
  // In opencode the first wins, and both rank above config.json.
  const names = ['opencode.jsonc', 'opencode.json'];
  const file = existing(configFolder(places, 'opencode'), names, 'opencode.json');
  return opencodeFile(file, 'https://opencode.ai/config.json', to);
};

export const kilo: Settings = (to, places) => {
  const names = ['kilo.jsonc', 'kilo.json', 'opencode.jsonc', 'opencode.json', 'config.json'];
  return opencodeFile(
    existing(configFolder(places, 'kilo'), names, 'kilo.jsonc'),
    'https://app.kilo.ai/config.json',
    to,
  );
};

export const qwen: Settings = ({ url, key, model, window }, { home }) => {
  const name = `Gateway ${model}`;
  const provider = {
    id: model,
    name,
    baseUrl: `${url}/v1`,
    envKey: KEY_VARIABLE,
    generationConfig: window === null ? undefined : { contextWindowSize: window },
  };
  return [
    {
      path: path.join(home, '.qwen', 'settings.json'),
      format: 'json',
      edits: [
        ...edits([['env', KEY_VARIABLE], key]),
        entry(['modelProviders', 'openai', { name }], json(provider)),
        ...edits([['security', 'auth', 'selectedType'], 'openai'], [['model', 'name'], model]),
      ],
      secret: true,
    },
  ];
};

export const pi: Settings = (to, places) => {
  const base = folder(places, 'PI_CODING_AGENT_DIR', '.pi', 'agent');
  return [
    {
      path: path.join(base, 'models.json'),
      format: 'json',
      edits: [entry(['providers', 'gateway'], json(piProvider(to)))],
      secret: true,
    },
    {
      path: path.join(base, 'settings.json'),
      format: 'json',
      edits: edits([['defaultProvider'], 'gateway'], [['defaultModel'], to.model]),
      strict: true,
    },
  ];
};

export const crush: Settings = (to, places) => {
  const { providers, models } = crushConfig(to);
  return [
    {
      path: path.join(configFolder(places, 'crush'), 'crush.json'),
      format: 'json',
      edits: [
        entry(['providers', 'gateway'], json(providers.gateway)),
        ...edits([['models', 'large'], models.large], [['models', 'small'], models.small]),
      ],
      secret: true,
    },
  ];
};

export const aider: Settings = (to, { home }) => {
  const name = `openai/${to.model}`;
  return [
    {
      path: path.join(home, '.aider.conf.yml'),
      format: 'yaml',
      edits: edits(
        [['openai-api-base'], `${to.url}/v1`],
        [['openai-api-key'], to.key],
        [['model'], name],
        [['weak-model'], name],
        [['editor-model'], name],
        [['show-model-warnings'], false],
      ),
      secret: true,
    },
    {
      path: path.join(home, '.aider.model.metadata.json'),
      format: 'json',
      edits: [entry([name], json(aiderModel(to)))],
    },
  ];
};

export const goose: Settings = ({ url, model, window }, places) => {
  const base =
    places.platform === 'win32'
      ? path.join(roaming(places), 'Block', 'goose', 'config')
      : configFolder(places, 'goose');
  const provider: readonly (readonly [string, Json])[] = [
    ['name', 'gateway'],
    ['engine', 'openai'],
    ['display_name', 'Gateway'],
    ['api_key_env', KEY_VARIABLE],
    ['base_url', `${url}/v1/chat/completions`],
    ['models', [{ name: model, context_limit: window ?? GOOSE_WINDOW }]],
    ['supports_streaming', true],
  ];
  return [
    {
      path: path.join(base, 'custom_providers', 'gateway.json'),
      format: 'json',
      edits: provider.map(([name, value]) => entry([name], value)),
    },
    {
      path: path.join(base, 'config.yaml'),
      format: 'yaml',
      edits: edits([['GOOSE_PROVIDER'], 'gateway'], [['GOOSE_MODEL'], model]),
    },
  ];
};

/** Goose must have a number; this is its own for a model that it does not know. */
const GOOSE_WINDOW = 128_000;

export const droid: Settings = ({ url, key, model, output }, { home }) => {
  // Without an ID of its own, it would be made of the place in the list.
  const id = `custom:gateway:${model}`;
  const item = {
    id,
    model,
    displayName: `Gateway ${model}`,
    baseUrl: `${url}/v1`,
    apiKey: key,
    provider: 'generic-chat-completion-api',
    maxOutputTokens: output ?? undefined,
  };
  return [
    {
      path: path.join(home, '.factory', 'settings.json'),
      format: 'json',
      edits: [
        entry(['customModels', { id }], json(item)),
        ...edits([['sessionDefaultSettings', 'model'], id]),
      ],
      secret: true,
    },
  ];
};

/** Of the CLI. The extension of VS Code has its key in the editor's own storage. */
export const cline: Settings = ({ url, key, model }, places) => {
  const base = path.join(places.home, '.cline', 'data');
  const settings = { provider: 'openai-compatible', model, baseUrl: `${url}/v1`, apiKey: key };
  return [
    {
      path: path.join(base, 'settings', 'providers.json'),
      format: 'json',
      whenNew: edits([['version'], 1], [['modes'], {}]),
      edits: [
        entry(['providers', 'openai-compatible'], {
          settings,
          updatedAt: '2026-01-01T00:00:00.000Z',
          tokenSource: 'manual',
        }),
        ...edits([['lastUsedProvider'], 'openai-compatible']),
      ],
      secret: true,
      strict: true,
    },
  ];
};
