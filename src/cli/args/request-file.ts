// The body of a request in a file, read as the gateway reads it.
import { resolve } from 'node:path';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import { CliError } from '../../cli-error.ts';
import { GatewayError } from '../../errors.ts';
import type { Inbound } from '../../gateway/inbound/read-request.ts';
import { fileFault } from './file-faults.ts';

/** With this model in place of the file's. Throws CliError if the file can't be read, or the gateway would refuse the body. */
export async function readRequestFile(file: string, cwd: string, model: string): Promise<Inbound> {
  const { readFile } = await import('node:fs/promises');
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    throw fileFault(file, 'read', error);
  });
  return readBodyText(text.replace(/^\ufeff/, ''), file, model);
}

async function readBodyText(text: string, file: string, model: string): Promise<Inbound> {
  const value = parse(text, file);
  const { ownArrival, readRequest } = await import('../../gateway/inbound/read-request.ts');
  const { protocolOfBody } = await import('../../protocols/registry.ts');
  const { withModel } = await import('./with-model.ts');
  try {
    return readRequest(ownArrival(protocolOfBody(value)), withModel(Buffer.from(text), model));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new CliError(`${file} is no request that a gateway takes: ${error.message}; correct it`, 1, error);
  }
}

function parse(text: string, file: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = (error as Error).message;
    throw new CliError(`${file} is not valid JSON: ${why}; write a request's body, as a client sends it`);
  }
  if (!isObject(value))
    throw new CliError(`${file} is not a JSON object; write a request's body, as a client sends it`);
  return value;
}
