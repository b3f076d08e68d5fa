// How each tool is pointed at a gateway for one process. Sources are the tools' documentation and code; comments name what a setting
// works around.
import type { Environment } from '../environment.ts';
import { withLine } from './texts/lines.ts';

/** What a row may use. */
export interface Pointing {
  /** Base URL of the gateway, without a version. */
  url: string;
  /** Goes into the environment or a private file, never into arguments: every user of the machine can read those. */
  key: string;
  /** The name that the tool sends, for its small and sub-agent models, too. */
  model: string;
  /** Tokens that the target takes and writes at most; null: unknown. */
  window: number | null;
  output: number | null;
  /** Protocols of clients that may offer the target tools of the provider's own, such as a web search. */
  serverTools?: readonly string[];
  /** A model that completes code between a prefix and a suffix, and one that makes embeddings; undefined: none is known. */
  completer?: string | undefined;
  embedder?: string | undefined;
  /** The tool is to show the account's limits on its own screen. */
  native?: boolean;
  /** The path of a private file of this name. */
  fileAt: (name: string) => string;
}

export type Limits = Pick<Pointing, 'window' | 'output'>;

export interface Setup {
  /** Replaces variables of the user's environment. undefined removes one. */
  env: Environment;
  /** Lines of variables that hold several: those of the user stay. */
  lines?: Readonly<Record<string, string>>;
  /** Stand before the user's arguments. */
  args?: readonly string[];
  /** Contents of private files, by name. */
  files?: Readonly<Record<string, string>>;
}

/** What replaces variables of the user's environment. */
export function variablesFor(
  { env, lines = {} }: Pick<Setup, 'env' | 'lines'>,
  user: Environment,
): Environment {
  const added: Environment = Object.fromEntries(
    Object.entries(lines).map(([name, line]) => [name, withLine(user[name] ?? '', line)]),
  );
  return { ...env, ...added };
}

/** A program of the user's own with an official SDK. The messages SDK sends both of its credentials where both are set: the one that
 *  most programs read is set, the other one, which would be the user's own, is removed. */
export function programSetup({ url, key, model }: Pointing): Setup {
  return {
    env: {
      OPENAI_BASE_URL: `${url}/v1`,
      // Read by the SDK's version 0 and by programs that predate OPENAI_BASE_URL.
      OPENAI_API_BASE: `${url}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_ORG_ID: undefined,
      OPENAI_PROJECT_ID: undefined,
      OPENAI_MODEL: model,
      // The agents SDK sends inputs and outputs to its vendor, with the key of the gateway.
      OPENAI_AGENTS_DISABLE_TRACING: '1',
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_AUTH_TOKEN: undefined,
      ANTHROPIC_MODEL: model,
    },
  };
}

/** The variable that holds the key for tools that take it from the environment. */
export const KEY_VARIABLE = 'GATEWAY_KEY';

/** Codex knows a model by an entry of a catalog: without one it takes a window of its own choice and warns. */
export function codexModel({ model, window }: Pick<Pointing, 'model' | 'window'>) {
  return {
    slug: model,
    display_name: model,
    ...(window !== null && { context_window: window }),
    shell_type: 'default',
    visibility: 'list',
    supported_in_api: true,
    priority: 1,
    truncation_policy: { mode: 'bytes', limit: 10_000 },
    input_modalities: ['text', 'image'],
    base_instructions: CODEX_INSTRUCTIONS,
    support_verbosity: false,
    default_verbosity: null,
    apply_patch_tool_type: null,
    supports_parallel_tool_calls: true,
    supports_reasoning_summaries: true,
    supported_reasoning_levels: [],
    experimental_supported_tools: [],
  };
}

/** An entry must have some: Codex has texts of its own only for models that it knows. */
const CODEX_INSTRUCTIONS =
  'You are a coding agent that runs in a terminal on the computer of the user. Use the tools to read and change files and to run ' +
  'commands in the working directory. Work until the task is done, check your changes, and answer in short, plain sentences.';

/** `credential`: `env_key` with the name of a variable, or `experimental_bearer_token` with a key. */
export const codexProvider = (url: string, credential: Readonly<Record<string, string>>) => ({
  // Under the name OpenAI, Codex would ask for a login.
  name: 'Gateway',
  base_url: `${url}/v1`,
  wire_api: 'responses',
  ...credential,
  // The gateway tries other targets itself.
  request_max_retries: 0,
  stream_max_retries: 2,
  stream_idle_timeout_ms: 600_000,
  // It sends what is new of a conversation, not all of it.
  supports_websockets: true,
});

/** Codex offers the provider's web search. A target that has none would go last for every request: another one, which may cost money,
 *  would answer in its place. */
export const codexSearch = ({ serverTools }: Pick<Pointing, 'serverTools'>): { web_search?: 'disabled' } =>
  serverTools?.includes('responses') === true ? {} : { web_search: 'disabled' };

export function codex(to: Pointing): Setup {
  const provider = codexProvider(to.url, { env_key: KEY_VARIABLE });
  const settings = {
    model: to.model,
    model_provider: 'gateway',
    model_catalog_json: to.fileAt('codex-models.json'),
    ...codexSearch(to),
    ...Object.fromEntries(
      Object.entries(provider).map(([name, value]) => [`model_providers.gateway.${name}`, value]),
    ),
  };
  return {
    env: { [KEY_VARIABLE]: to.key },
    // A text in JSON is a text in TOML.
    args: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]),
    files: { 'codex-models.json': JSON.stringify({ models: [codexModel(to)] }) },
  };
}

/** What opencode reserves for output where nobody knows. */
const SOME_OUTPUT = 8192;

export function opencodeConfig({ url, key, model, window, output }: Omit<Pointing, 'fileAt'>) {
  const limit = window === null ? undefined : { context: window, output: output ?? quarter(window) };
  const name = `gateway/${model}`;
  return {
    provider: {
      gateway: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Gateway',
        options: { baseURL: `${url}/v1`, apiKey: key },
        models: { [model]: { name: model, ...(limit && { limit }) } },
      },
    },
    model: name,
    small_model: name,
  };
}

export function opencode(to: Pointing): Setup {
  const config = opencodeConfig({ ...to, key: `{env:${KEY_VARIABLE}}` });
  return { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config), [KEY_VARIABLE]: to.key } };
}

/** The output of a model whose window alone is known. */
export const quarter = (window: number): number => Math.min(SOME_OUTPUT, Math.floor(window / 4));

/** Its HTTP client ignores NO_PROXY: with a proxy, it would not reach this machine. */
const WITHOUT_PROXY: Environment = Object.fromEntries(
  ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [
    [name, undefined],
    [name.toUpperCase(), undefined],
  ]),
);

export function qwen({ url, key, model, window, output, fileAt }: Pointing): Setup {
  const settings = {
    security: { auth: { selectedType: 'openai' } },
    model: { name: model, generationConfig: { contextWindowSize: window ?? undefined } },
  };
  return {
    env: {
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: model,
      QWEN_MODEL: undefined,
      QWEN_CODE_MAX_OUTPUT_TOKENS: text(output),
      // Ranks above the settings of the user. Options would do so, too, but its subcommands refuse them.
      QWEN_CODE_SYSTEM_SETTINGS_PATH: fileAt('qwen-settings.json'),
      ...WITHOUT_PROXY,
    },
    files: { 'qwen-settings.json': JSON.stringify(settings) },
  };
}

export function copilot({ url, key, model, window, output }: Pointing): Setup {
  return {
    env: {
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_WIRE_API: 'completions',
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_PROVIDER_BEARER_TOKEN: undefined,
      COPILOT_PROVIDER_API_KEY_COMMAND: undefined,
      COPILOT_PROVIDER_TRANSPORT: undefined,
      COPILOT_MODEL: model,
      COPILOT_PROVIDER_MODEL_ID: undefined,
      COPILOT_PROVIDER_WIRE_MODEL: undefined,
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS:
        window === null ? undefined : String(window - (output ?? quarter(window))),
      COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: text(output),
      // No login, and no requests to GitHub.
      COPILOT_OFFLINE: 'true',
    },
  };
}

const text = (tokens: number | null): string | undefined => (tokens === null ? undefined : String(tokens));

/** An entry of a file of `model-metadata-file`. */
export function aiderModel({ window, output }: Limits) {
  return {
    ...(window !== null && { max_input_tokens: window, max_tokens: output ?? quarter(window) }),
    ...(output !== null && { max_output_tokens: output }),
    litellm_provider: 'openai',
    mode: 'chat',
  };
}

export function aider(to: Pointing): Setup {
  const { url, key, model, fileAt } = to;
  const name = `openai/${model}`;
  return {
    env: {
      OPENAI_API_BASE: `${url}/v1`,
      OPENAI_API_KEY: key,
      // These rank above the user's file, those without the prefix below it.
      AIDER_OPENAI_API_BASE: `${url}/v1`,
      AIDER_OPENAI_API_KEY: key,
      AIDER_MODEL: name,
      AIDER_WEAK_MODEL: name,
      AIDER_EDITOR_MODEL: name,
      AIDER_MODEL_METADATA_FILE: fileAt('aider-models.json'),
      AIDER_SHOW_MODEL_WARNINGS: 'false',
    },
    files: { 'aider-models.json': JSON.stringify({ [name]: aiderModel(to) }) },
  };
}

export function goose({ url, key, model, window }: Pointing): Setup {
  return {
    env: {
      GOOSE_PROVIDER: 'openai',
      GOOSE_MODEL: model,
      GOOSE_FAST_MODEL: model,
      GOOSE_CONTEXT_LIMIT: text(window),
      OPENAI_HOST: url,
      OPENAI_BASE_PATH: 'v1/chat/completions',
      OPENAI_BASE_URL: undefined,
      OPENAI_API_KEY: key,
    },
  };
}

/** KIMI_MODEL_* define a model for Kimi Code; the older Kimi CLI overrides its own provider by the first two. */
export function kimi({ url, key, model, window }: Pointing): Setup {
  return {
    env: {
      KIMI_BASE_URL: `${url}/v1`,
      KIMI_API_KEY: key,
      KIMI_MODEL_NAME: model,
      KIMI_MODEL_BASE_URL: `${url}/v1`,
      KIMI_MODEL_API_KEY: key,
      KIMI_MODEL_PROVIDER_TYPE: 'openai',
      KIMI_MODEL_MAX_CONTEXT_SIZE: text(window),
    },
  };
}

/** pi takes a provider from an extension, so that the user's own settings and sessions stay in use. */
export function pi(to: Pointing): Setup {
  const { key, model, fileAt } = to;
  const provider = piProvider({ ...to, key: KEY_VARIABLE });
  const code = `export default (pi) => pi.registerProvider('gateway', ${JSON.stringify(provider)});\n`;
  return {
    env: { [KEY_VARIABLE]: key, PI_SKIP_VERSION_CHECK: '1' },
    args: ['--extension', fileAt('gateway.ts'), '--provider', 'gateway', '--model', model],
    files: { 'gateway.ts': code },
  };
}

/** `key`: a key, or the name of a variable that holds it. */
export function piProvider({ url, key, model, window, output }: Omit<Pointing, 'fileAt'>) {
  return {
    name: 'Gateway',
    baseUrl: `${url}/v1`,
    apiKey: key,
    api: 'openai-completions',
    models: [
      {
        id: model,
        name: model,
        reasoning: false,
        input: ['text', 'image'],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: window ?? PI_WINDOW,
        maxTokens: output ?? quarter(window ?? PI_WINDOW),
      },
    ],
  };
}

/** pi must have a number. */
const PI_WINDOW = 128_000;

/** Crush reads one folder of settings: the private one hides the user's. */
export function crush(to: Pointing): Setup {
  const config = crushConfig({ ...to, key: `$${KEY_VARIABLE}` });
  return {
    env: { [KEY_VARIABLE]: to.key, CRUSH_GLOBAL_CONFIG: to.fileAt('') },
    files: { 'crush.json': JSON.stringify(config) },
  };
}

export function crushConfig({ url, key, model, window, output }: Omit<Pointing, 'fileAt'>) {
  const entry = {
    id: model,
    name: model,
    ...(window !== null && { context_window: window }),
    default_max_tokens: output ?? quarter(window ?? Infinity),
  };
  const choice = { provider: 'gateway', model };
  return {
    providers: {
      gateway: {
        name: 'Gateway',
        type: 'openai-compat',
        base_url: `${url}/v1`,
        api_key: key,
        models: [entry],
      },
    },
    models: { large: choice, small: choice },
  };
}
