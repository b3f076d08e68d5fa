// Takes back what `gateway connect --write` did, of one tool or of all: the files as they were, and the key revoked.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { say } from '../ui/lines.ts';
import { withStore } from '../database.ts';
import { revokeAuditedKey } from '../audited.ts';
import type { Connection, Connections } from '../../tools/connections.ts';
import { undo, type UndoneFile } from '../../tools/engine.ts';
import { messageOf } from '../../errors.ts';

interface Undoing {
  command: Command;
  context: Context;
  connections: Connections;
}

export interface UndoneTool {
  tool: string;
  files: UndoneFile[];
  key: Connection['key'];
  revoked: boolean;
}

/** undefined: the tool is not connected. Rejects, and changes nothing, if a file cannot be restored. */
export async function takeBack(
  tool: string,
  { command, context, connections }: Undoing,
): Promise<UndoneTool | undefined> {
  if (connections.read(tool) === undefined) return undefined;
  const restored = await connections.alone(async () => {
    const connection = connections.read(tool);
    return connection && { files: await undo(connection, connections), key: connection.key };
  });
  // Another process was quicker.
  if (restored === undefined) return undefined;
  const { files, key } = restored;
  const revoked = key?.made === true && (await revoke(key.id, command, context));
  return { tool, files, key, revoked };
}

/** A database that cannot be used does not keep the settings of a tool. */
async function revoke(id: string, command: Command, context: Context): Promise<boolean> {
  try {
    return await withStore(
      command,
      context,
      async (store) => (await revokeAuditedKey(store, context, id)) !== undefined,
    );
  } catch (error) {
    const reason = messageOf(error);
    say(context.stderr, `warning: the database could not be used: ${reason}`);
    return false;
  }
}

/** A tool whose files cannot be restored does not keep the others. */
export async function takeBackAll(undoing: Undoing): Promise<{ undone: UndoneTool[]; faults: string[] }> {
  const undone: UndoneTool[] = [];
  const faults: string[] = [];
  for (const tool of undoing.connections.tools()) {
    try {
      const one = await takeBack(tool, undoing);
      if (one !== undefined) undone.push(one);
    } catch (error) {
      faults.push(`${tool}: ${messageOf(error)}`);
    }
  }
  return { undone, faults };
}
