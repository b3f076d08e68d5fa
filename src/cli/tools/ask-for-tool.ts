// `gateway run` and `gateway connect` without a tool, on a terminal: asks which tool and which model, and remembers both.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { isObject } from '../../canonical/json.ts';
import { makeFolder } from '../../folders.ts';
import type { Context } from '../context.ts';
import { pick } from '../ui/pick.ts';

export interface AskedTool {
  name: string;
  title: string;
  /** undefined: not known. */
  installed: boolean | undefined;
}

export interface AskedFor {
  tool: string;
  model: string;
}

const FILE = 'last-choices.json';

/** `model`: the one that was named already. Undefined if the person leaves. */
export async function askForTool(
  verb: 'run' | 'connect',
  tools: readonly AskedTool[],
  model: string | undefined,
  command: Command,
  context: Context,
): Promise<AskedFor | undefined> {
  const { defaultPaths } = await import('../../config/load.ts');
  const file = path.join(path.dirname(defaultPaths(context.env).database), FILE);
  const last = readLast(file);
  const sorted = [...tools].sort((a, b) => rank(a) - rank(b));
  const choices = sorted.map(({ title, name, installed }) => ({
    label: title,
    about: installed === false ? `${name}, not installed` : name,
  }));
  const at = Math.max(
    0,
    sorted.findIndex(({ name }) => name === last[verb]?.tool),
  );
  const chosen = await pick(`Which tool do you want to ${verb}?`, choices, at, context);
  const tool = chosen === undefined ? undefined : sorted[chosen]?.name;
  if (tool === undefined) return undefined;
  const asked = model ?? (await askForModel(last[verb]?.model, command, context));
  if (asked === undefined) return undefined;
  remember(file, { ...last, [verb]: { tool, model: asked } });
  return { tool, model: asked };
}

function rank({ installed }: AskedTool): number {
  return installed === true ? 0 : installed === undefined ? 1 : 2;
}

/** `auto` first; what the providers list after it. */
async function askForModel(
  last: string | undefined,
  command: Command,
  context: Context,
): Promise<string | undefined> {
  const { listedModels, withInventory } = await import('../inventory.ts');
  const listed = await withInventory(command, context, (inventory) => listedModels(inventory, context), {
    mayLackProviders: true,
  });
  const choices = listed.map(({ name, targets }) => ({
    label: name,
    about: targets
      .map(({ key }) => key)
      .filter((key) => key !== name)
      .join(', '),
  }));
  choices.sort((a, b) => Number(b.label === 'auto') - Number(a.label === 'auto'));
  if (choices.length < 2) return 'auto';
  const at = Math.max(
    0,
    choices.findIndex(({ label }) => label === last),
  );
  const chosen = await pick('Which model?', choices, at, context);
  return chosen === undefined ? undefined : choices[chosen]?.label;
}

type Last = Partial<Record<'run' | 'connect', AskedFor>>;

function readLast(file: string): Last {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(value)) return {};
    return Object.fromEntries(
      (['run', 'connect'] as const).flatMap((verb) => {
        const { tool, model } = (isObject(value[verb]) ? value[verb] : {}) as Record<string, unknown>;
        return typeof tool === 'string' && typeof model === 'string' ? [[verb, { tool, model }]] : [];
      }),
    );
  } catch {
    return {};
  }
}

/** Only a convenience: a folder that cannot be written is no failure of the command. */
function remember(file: string, last: Last): void {
  try {
    makeFolder(path.dirname(file));
    writeFileSync(file, `${JSON.stringify(last)}\n`, { mode: 0o600 });
  } catch {
    // Next time the cursor stands on the first line.
  }
}
