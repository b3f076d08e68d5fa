// The tools that `gateway run` starts, one row each.
import { claude } from './claude-setup.ts';
import * as setups from './setups.ts';
import type { Pointing, Setup } from './setups.ts';

export interface Tool {
  name: string;
  title: string;
  /** The program in PATH. */
  program: string;
  /** What a user runs to install it. */
  install: string;
  /** It can show the limits of an account on its own screen. */
  native?: true;
  setup: (to: Pointing) => Setup;
}

export const TOOLS: readonly Tool[] = [
  {
    name: 'claude',
    title: 'Claude Code',
    program: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
    native: true,
    setup: claude,
  },
  {
    name: 'codex',
    title: 'Codex CLI',
    program: 'codex',
    install: 'npm install -g @openai/codex',
    setup: setups.codex,
  },
  {
    name: 'opencode',
    title: 'opencode',
    program: 'opencode',
    install: 'npm install -g opencode-ai',
    setup: setups.opencode,
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    program: 'qwen',
    install: 'npm install -g @qwen-code/qwen-code',
    setup: setups.qwen,
  },
  {
    name: 'copilot',
    title: 'GitHub Copilot CLI',
    program: 'copilot',
    install: 'npm install -g @github/copilot',
    setup: setups.copilot,
  },
  {
    name: 'aider',
    title: 'aider',
    program: 'aider',
    install: 'python -m pip install aider-install && aider-install',
    setup: setups.aider,
  },
  {
    name: 'goose',
    title: 'Goose',
    program: 'goose',
    install: 'see https://block.github.io/goose',
    setup: setups.goose,
  },
  {
    name: 'kimi',
    title: 'Kimi Code CLI',
    program: 'kimi',
    install: 'see https://www.kimi.com/code',
    setup: setups.kimi,
  },
  {
    name: 'pi',
    title: 'pi',
    program: 'pi',
    install: 'npm install -g @mariozechner/pi-coding-agent',
    setup: setups.pi,
  },
  {
    name: 'crush',
    title: 'Crush',
    program: 'crush',
    install: 'npm install -g @charmland/crush',
    setup: setups.crush,
  },
];

/** The words of the command line that name each tool. */
export const TOOL_NAMES: readonly string[] = TOOLS.map(({ name }) => name);

export function findTool(name: string): Tool | undefined {
  return TOOLS.find((tool) => tool.name === name);
}
