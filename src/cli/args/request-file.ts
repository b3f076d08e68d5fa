// A request's body from a file, read as the gateway reads it, under the model's name of the command line.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import { readRequest, type Inbound } from '../../gateway/inbound/read-request.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import { protocols } from '../../protocols/registry.ts';
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
  return readRequest(protocolOf(value), Buffer.from(JSON.stringify(value)));
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

const MESSAGES_ONLY = [
  'system',
  'stop_sequences',
  'thinking',
  'top_k',
  'output_config',
  'mcp_servers',
  'container',
];

/** A body does not say its protocol. What only messages has decides, else its required `max_tokens` beside nothing of chat's own. */
function protocolOf(value: JsonObject): Protocol {
  if (MESSAGES_ONLY.some((name) => value[name] !== undefined)) return protocols.messages;
  const { tools, messages } = value;
  const [tool] = Array.isArray(tools) ? tools : [];
  if (isObject(tool))
    return tool['function'] === undefined && tool['custom'] === undefined
      ? protocols.messages
      : protocols.chat;
  const parts = (Array.isArray(messages) ? messages : []).flatMap((message) =>
    isObject(message) && Array.isArray(message['content']) ? message['content'] : [],
  );
  const kinds = parts.map((part) => (isObject(part) ? part['type'] : undefined));
  const foreign = ['image', 'document', 'tool_use', 'tool_result', 'thinking'];
  return kinds.some((kind) => typeof kind === 'string' && foreign.includes(kind))
    ? protocols.messages
    : protocols.chat;
}
