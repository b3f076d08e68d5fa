// What running servers know of targets: those that cool down or fail. Without a database there is no server.
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Context } from './context.ts';
import { readConfig, withStore } from './with-store.ts';

/** `provider/model` -> `cooling` or `failing`. */
export type States = ReadonlyMap<string, string>;

export async function readStates(command: Command, context: Context): Promise<States> {
  const config = await readConfig(command, context);
  if (!existsSync(config.database)) return new Map();
  return withStore(command, context, async (store) => {
    const known = await store.listHealth(context.clock.now());
    return new Map(known.map(({ target, state }) => [target, state]));
  });
}
