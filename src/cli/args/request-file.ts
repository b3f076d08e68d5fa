// A request's body from a file, read as the gateway reads it, under the model's name of the command line.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import { readRequest, type Inbound } from '../../gateway/inbound/read-request.ts';
import { protocolOfBody } from '../../protocols/registry.ts';
import { CliError } from '../context.ts';

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'is not there; check the name',
  EISDIR: 'is a folder; name the file in it',
  EACCES: 'may not be read; give this user the permission',
};

/** Throws CliError for a file that is none, GatewayError for a body that the gateway would refuse. */
export async function readRequestFile(file: string, cwd: string, model: string): Promise<Inbound> {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    const code = error.code ?? error.message;
    throw new CliError(
      `${file} ${UNREADABLE[code] ?? `can't be read (${code}); name a file with a request's JSON`}`,
    );
  });
  const value = { ...parse(text, file), model };
  return readRequest(protocolOfBody(value), Buffer.from(JSON.stringify(value)));
}

function parse(text: string, file: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError(`${file} is not valid JSON: ${(error as Error).message}`);
  }
  if (!isObject(value))
    throw new CliError(`${file} is not a JSON object; write a request's body, as a client sends it`);
  return value;
}
