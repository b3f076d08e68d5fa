// The tools that `gateway run` starts: one row each, with the program, and what points it at the gateway for one process. Sources
// are the tools' documentation and code; a row names what it works around.
import type { Environment } from '../context.ts';

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
  /** The path of a private file of this name. */
  fileAt: (name: string) => string;
}

export interface Setup {
  /** Replaces variables of the user's environment. undefined removes one. */
  env: Environment;
  /** Stand before the user's arguments. */
  args?: readonly string[];
  /** Contents of private files, by name. */
  files?: Readonly<Record<string, string>>;
}

export interface Tool {
  name: string;
  title: string;
  /** The program in PATH. */
  program: string;
  /** What a user runs to install it. */
  install: string;
  setup: (to: Pointing) => Setup;
}

/** A program of the user's own with an official SDK. Both of the messages SDK's variables are set, because one of the user's own
 *  would win over the other. */
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
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: model,
    },
  };
}

const KEY_VARIABLE = 'GATEWAY_KEY';

/** Claude Code reserves this much output for a model that it does not know. */
const CLAUDE_OUTPUT = 32_000;
/** Its estimate of tokens is a few percent too low for other models. */
const MARGIN = 0.03;

/** It takes the window without the reserve for the output. */
function claudeLimits({ window, output }: Pointing): Environment {
  const reserve = Math.min(output ?? CLAUDE_OUTPUT, CLAUDE_OUTPUT, Math.floor((window ?? Infinity) / 4));
  return {
    CLAUDE_CODE_MAX_CONTEXT_TOKENS:
      window === null ? undefined : String(window - reserve - Math.ceil(window * MARGIN)),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: window === null && output === null ? undefined : String(reserve),
  };
}

function claude(to: Pointing): Setup {
  const { url, key, model } = to;
  return {
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      // An unset one would be read from the user's login; a set one would be sent beside the token.
      ANTHROPIC_API_KEY: '',
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      ANTHROPIC_DEFAULT_FABLE_MODEL: model,
      ANTHROPIC_SMALL_FAST_MODEL: model,
      CLAUDE_CODE_SUBAGENT_MODEL: model,
      ...claudeLimits(to),
      // A line that changes with each call would spoil a provider's prompt cache.
      CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
      CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
      CLAUDE_CODE_USE_BEDROCK: undefined,
      CLAUDE_CODE_USE_VERTEX: undefined,
      CLAUDE_CODE_USE_FOUNDRY: undefined,
      CLAUDE_CODE_OAUTH_TOKEN: undefined,
    },
  };
}

export const TOOLS: readonly Tool[] = [
  {
    name: 'claude',
    title: 'Claude Code',
    program: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
    setup: claude,
  },
];

/** The words of the command line that name each tool. */
export const TOOL_NAMES: readonly string[] = TOOLS.map(({ name }) => name);

export function findTool(name: string): Tool | undefined {
  return TOOLS.find((tool) => tool.name === name);
}

export { KEY_VARIABLE };
