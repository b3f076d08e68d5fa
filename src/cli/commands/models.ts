// Every name that a client may put in `model`, and what stands behind it.
import type { Command } from 'commander';
import type { ModelEntry } from '../../routing/listing.ts';
import type { Context } from '../context.ts';
import { clean, createStyle, formatShort, printJson, printLines, widthOf } from '../output.ts';
import { readConfig, withStore } from '../session.ts';
import type { Survey } from '../survey.ts';
import { table, type Cell } from '../table.ts';

export function defineModels(models: Command, context: Context): void {
  models
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway models --json')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { learnModels, withSurvey } = await import('../survey.ts');
      const read = async (survey: Survey): Promise<ModelEntry[]> => {
        await learnModels(survey, context);
        return survey.routing.models(null);
      };
      const entries = await withSurvey(command, context, read, { database: true });
      const states = await statesOf(command, context);
      if (options.json)
        printJson(
          context,
          entries.map((entry) => describe(entry, states)),
        );
      else await printModels(entries, states, context);
    });
}

type States = ReadonlyMap<string, string>;

/** What running servers know: targets that cool down or fail. Without a database there is no server. */
async function statesOf(command: Command, context: Context): Promise<States> {
  const config = await readConfig(command, context);
  const { existsSync } = await import('node:fs');
  if (!existsSync(config.database)) return new Map();
  return withStore(command, context, async (store) => {
    const known = await store.listHealth(context.clock.now());
    return new Map(known.map(({ target, state }) => [target, state]));
  });
}

function describe(entry: ModelEntry, states: States) {
  return {
    name: entry.name,
    targets: entry.targets.map(({ key, provider, model }) => ({
      provider: provider.name,
      model,
      ...(states.has(key) && { state: states.get(key) }),
    })),
    vision: entry.vision,
    tools: entry.tools,
    thinking: entry.thinking,
    context_window: entry.contextWindow,
    max_output: entry.maxOutput,
  };
}

const mark = (can: boolean): Cell => (can ? { text: 'yes', paint: 'green' } : { text: '-', paint: 'dim' });
const tokens = (count: number | null): string => (count === null ? '-' : formatShort(count));

function shown(key: string, states: States): string {
  const state = states.get(key);
  return state === undefined ? clean(key) : `${clean(key)} (${state})`;
}

async function printModels(entries: readonly ModelEntry[], states: States, context: Context): Promise<void> {
  const { stdout, env } = context;
  const lines = table(
    entries,
    [
      { title: 'NAME', value: ({ name }) => clean(name) },
      {
        title: 'TARGETS',
        value: ({ targets }) => targets.map(({ key }) => shown(key, states)).join(', '),
        shrinks: true,
      },
      { title: 'VISION', value: ({ vision }) => mark(vision) },
      { title: 'TOOLS', value: (entry) => mark(entry.tools) },
      { title: 'THINKING', value: ({ thinking }) => mark(thinking) },
      { title: 'WINDOW', value: ({ contextWindow }) => tokens(contextWindow), align: 'right' },
      { title: 'OUTPUT', value: ({ maxOutput }) => tokens(maxOutput), align: 'right' },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  printLines(stdout, lines);
}
