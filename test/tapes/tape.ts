// What the tests of tapes share: a folder with a scripted provider, and programs that are recorded and replayed as real processes.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { home, type Ended, type Home } from '../helpers/process.ts';
import {
  scriptedProvider,
  type Asked,
  type Script,
  type ScriptedProvider,
} from '../helpers/scripted-provider.ts';

const AGENT = fileURLToPath(new URL('./agent.mjs', import.meta.url));
export const PROVIDER_KEY = 'sk-upstream-0123456789abcdefghij';

export interface Studio {
  shell: Home;
  provider: ScriptedProvider;
  /** `record` or `replay` with their words. Their program is the small agent with these arguments. */
  agent: (words: readonly string[], ...args: string[]) => Promise<Ended>;
  /** Every file of a tape, by its name below the tape. */
  files: (tape: string) => Map<string, string>;
}

export async function studio(environment: Record<string, string> = {}): Promise<Studio> {
  const shell = home(environment);
  const provider = await scriptedProvider();
  const models = [{ id: 'm', context_window: 100_000, max_output: 8000 }];
  shell.configure({
    providers: { up: { protocol: 'chat', base_url: `${provider.url}/v1`, api_key: PROVIDER_KEY, models } },
  });
  return {
    shell,
    provider,
    agent: (words, ...args) => shell.run(...words, '--', process.execPath, AGENT, ...args),
    files(tape) {
      const folder = join(shell.directory, tape);
      const names = readdirSync(folder, { recursive: true, withFileTypes: true });
      const paths = names
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name));
      return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
    },
  };
}

/** Calls the tool for so many steps, counted by the results in the request; then says that it is done. */
export function stepper(steps: number): (asked: Asked) => Script {
  return ({ json }) => {
    const messages = json.messages as { role: string }[];
    const done = messages.filter(({ role }) => role === 'tool').length;
    const message =
      done < steps
        ? { role: 'assistant', content: null, tool_calls: [callOf(done)] }
        : { role: 'assistant', content: `Done after ${done} steps.` };
    return {
      body: {
        id: `chatcmpl-${done}`,
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message, finish_reason: done < steps ? 'tool_calls' : 'stop' }],
        usage: { prompt_tokens: 10 + done, completion_tokens: 5, total_tokens: 15 + done },
      },
    };
  };
}

const callOf = (step: number) => ({
  id: `call_step${step}`,
  type: 'function',
  function: { name: 'run', arguments: JSON.stringify({ command: `step ${step}` }) },
});
