// Every name that a client may put in `model`, and what stands behind it.
import type { Command } from 'commander';
import type { ModelEntry } from '../../routing/listing.ts';
import type { Context } from '../context.ts';
import { clean, createStyle, formatShort, printJson, printLines, widthOf } from '../output.ts';
import { table, type Cell } from '../table.ts';

export function defineModels(models: Command, context: Context): void {
  models
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway models --json')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { learnModels, withSurvey } = await import('../survey.ts');
      const entries = await withSurvey(command, context, async (survey) => {
        await learnModels(survey, context);
        return survey.routing.models(null);
      });
      if (options.json) printJson(context, entries.map(describe));
      else await printModels(entries, context);
    });
}

function describe(entry: ModelEntry) {
  return {
    name: entry.name,
    targets: entry.targets.map(({ provider, model }) => ({ provider: provider.name, model })),
    vision: entry.vision,
    tools: entry.tools,
    thinking: entry.thinking,
    context_window: entry.contextWindow,
    max_output: entry.maxOutput,
  };
}

const mark = (can: boolean): Cell => (can ? { text: 'yes', paint: 'green' } : { text: '-', paint: 'dim' });
const tokens = (count: number | null): string => (count === null ? '-' : formatShort(count));

async function printModels(entries: readonly ModelEntry[], context: Context): Promise<void> {
  const { stdout, env } = context;
  const lines = table(
    entries,
    [
      { title: 'NAME', value: ({ name }) => clean(name) },
      {
        title: 'TARGETS',
        value: ({ targets }) => targets.map(({ key }) => clean(key)).join(', '),
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
