// How Claude Code is pointed at a gateway: by variables, for one process or in its settings.
import type { Environment } from '../environment.ts';
import type { Limits, Pointing, Setup } from './setups.ts';

/** Claude Code reserves this much output for a model that it does not know. */
const CLAUDE_OUTPUT = 32_000;
/** Its estimate of tokens is a few percent too low for other models. */
const MARGIN = 0.03;

/** It takes the window without the reserve for the output. */
function claudeLimits({ window, output }: Limits): Environment {
  const reserve = Math.min(output ?? CLAUDE_OUTPUT, CLAUDE_OUTPUT, Math.floor((window ?? Infinity) / 4));
  return {
    CLAUDE_CODE_MAX_CONTEXT_TOKENS:
      window === null ? undefined : String(window - reserve - Math.ceil(window * MARGIN)),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: window === null && output === null ? undefined : String(reserve),
  };
}

/** It shows limits of a gateway that it takes for one of its vendor's kind, and sends no effort then unless it is told to. */
const claudeScreen = ({ native }: Pick<Pointing, 'native'>): Environment => ({
  CLAUDE_CODE_USE_GATEWAY: native === true ? '1' : undefined,
  CLAUDE_CODE_ALWAYS_ENABLE_EFFORT: native === true ? '1' : undefined,
});

/** Of settings, whose key may be one of the person's: the mark comes with each request. */
export function claudeSettings(to: Omit<Pointing, 'fileAt'>): Setup {
  const env = claudeEnv(to);
  return to.native === true ? { env, lines: { ANTHROPIC_CUSTOM_HEADERS: 'x-gateway-native: 1' } } : { env };
}

/** What `gateway connect` writes into settings, too. */
function claudeEnv(to: Omit<Pointing, 'fileAt'>): Environment {
  const { url, key, model } = to;
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    // A set one would be sent beside the token.
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
    // Headers that say which sub-agent, task and kind of work a request belongs to.
    CLAUDE_CODE_GATEWAY_HINT_HEADERS: '1',
    CLAUDE_CODE_USE_BEDROCK: '0',
    CLAUDE_CODE_USE_VERTEX: '0',
    CLAUDE_CODE_USE_FOUNDRY: '0',
    CLAUDE_CODE_OAUTH_TOKEN: undefined,
    ...claudeScreen(to),
  };
}

export function claude(to: Pointing): Setup {
  const { fileAt } = to;
  const env = claudeEnv(to);
  // Variables in the settings of the user rank above the environment, and those of this file above the settings.
  return {
    env,
    args: ['--settings', fileAt('claude-settings.json')],
    files: { 'claude-settings.json': JSON.stringify({ env }) },
  };
}
