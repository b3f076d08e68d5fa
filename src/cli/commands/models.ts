// `gateway models`: every name that a client may put in `model`, its targets and their abilities.
import type { Command } from 'commander';
import type { ModelEntry } from '../../routing/catalog.ts';
import type { Context } from '../context.ts';
import { clean, createStyle, formatShort, printJson, printLines, widthOf } from '../ui/style.ts';
import type { Inventory, States } from '../inventory.ts';
import type { Lesson } from '../../routing/state/lessons.ts';
import { table, wrapText, type Cell } from '../ui/table.ts';

export function defineModels(models: Command, context: Context): void {
  models
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway models --json')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { modelJson } = await import('../../routing/catalog.ts');
      const { listedModels, readLessons, readStates, withInventory } = await import('../inventory.ts');
      const read = (inventory: Inventory): Promise<ModelEntry[]> => listedModels(inventory, context);
      const entries = await withInventory(command, context, read, { database: true });
      const states = await readStates(command, context);
      const lessons = await readLessons(command, context);
      if (options.json)
        printJson(
          context,
          entries.map((entry) => modelJson(entry, states)),
        );
      else await printModels(entries, { states, lessons }, context);
    });
}

type Ability = 'vision' | 'tools' | 'thinking';

/** `yes` if some target is known to have the ability, `?` if that is unknown. */
function mark({ targets }: ModelEntry, ability: Ability): Cell {
  const known = targets.map(({ traits }) => traits[ability]);
  if (known.includes(true)) return { text: 'yes', paint: 'green' };
  return known.includes(undefined) ? { text: '?', paint: 'dim' } : { text: '-', paint: 'dim' };
}

const tokens = (count: number | null): string => (count === null ? '-' : formatShort(count));

function shown(key: string, states: States): string {
  const state = states.get(key);
  return state === undefined ? clean(key) : `${clean(key)} (${state})`;
}

const MAX_TARGETS = 4;

function listed(targets: readonly string[]): string {
  const more = targets.length - MAX_TARGETS;
  return targets.slice(0, MAX_TARGETS).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

interface Known {
  states: States;
  lessons: readonly Lesson[];
}

async function printModels(
  entries: readonly ModelEntry[],
  { states, lessons }: Known,
  context: Context,
): Promise<void> {
  const { stdout, env } = context;
  const lines = table(
    entries,
    [
      { title: 'NAME', value: ({ name }) => clean(name) },
      {
        title: 'TARGETS',
        value: ({ targets }) => listed(targets.map(({ key }) => shown(key, states))),
        shrinks: true,
      },
      { title: 'VISION', value: (entry) => mark(entry, 'vision') },
      { title: 'TOOLS', value: (entry) => mark(entry, 'tools') },
      { title: 'THINKING', value: (entry) => mark(entry, 'thinking') },
      { title: 'WINDOW', value: ({ contextWindow }) => tokens(contextWindow), align: 'right' },
      { title: 'OUTPUT', value: ({ maxOutput }) => tokens(maxOutput), align: 'right' },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  const { lessonText } = await import('../inventory.ts');
  const width = widthOf(stdout);
  const learnt = lessons.flatMap((lesson) => wrapText(`  ${lessonText(lesson)}`, width));
  printLines(stdout, learnt.length === 0 ? lines : [...lines, 'Learnt from refusals, for a day:', ...learnt]);
}
