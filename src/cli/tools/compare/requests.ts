// The requests that are compared: those of a tape, each as it was recorded, or the one of a file.
import { statSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../../../cli-error.ts';
import { messageOf } from '../../../errors.ts';
import { ownArrival, readRequest, type Inbound } from '../../../gateway/inbound/read-request.ts';
import { servedPath } from '../../../protocols/interface/endpoint.ts';
import { allProtocols, protocols } from '../../../protocols/registry.ts';
import { readTape, type TapedAttempt, type TapedExchange } from '../../../tapes/read.ts';
import type { ProtocolName } from '../../../canonical/request.ts';
import { readRequestFile } from '../../args/request-file.ts';

export interface ComparedRequest {
  /** Its folder on the tape (`0001`), or the file. */
  name: string;
  protocol: ProtocolName;
  inbound: Inbound;
  /** Headers that change what the request means, flat: name, value. */
  headers: readonly string[];
  /** What the tape has; undefined: the request comes from a file. */
  recorded?: Recorded;
}

interface Recorded {
  attempt: TapedAttempt;
  exchange: TapedExchange['head'];
}

export interface Compared {
  requests: readonly [ComparedRequest, ...ComparedRequest[]];
  /** Requests of the tape that ask for no answer of a model, such as counts of tokens. */
  left: number;
}

/** `only`: the folder of one request of a tape. Throws CliError for what is no tape or no request. */
export async function readRequests(
  source: string,
  only: string | undefined,
  { cwd, model }: { cwd: string; model: string },
): Promise<Compared> {
  const at = path.resolve(cwd, source);
  const isFolder = statSync(at, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) return requestsOf(at, only);
  if (only !== undefined) throw new CliError(`--only is for a tape, and ${source} is no folder`, 2);
  const inbound = await readRequestFile(source, cwd, model);
  const { spoken } = inbound.protocol;
  if (spoken === undefined || inbound.endpoint.does !== 'generate')
    throw new CliError(
      `${source} asks for no answer of a model; write a request's body, as a client sends it`,
    );
  return { requests: [{ name: source, protocol: spoken, inbound, headers: [] }], left: 0 };
}

function requestsOf(folder: string, only: string | undefined): Compared {
  const tape = readTape(folder);
  const wanted = tape.exchanges.filter(({ number }) => only === undefined || Number(number) === Number(only));
  if (only !== undefined && wanted.length === 0) {
    const [first, last] = [tape.exchanges[0], tape.exchanges.at(-1)];
    const there =
      first === undefined ? 'no request' : `the requests ${first.number} to ${last?.number ?? ''}`;
    throw new CliError(`the tape ${folder} has no request ${only}: it has ${there}`);
  }
  const [first, ...more] = wanted.flatMap((exchange) => requestOf(exchange, folder));
  if (first === undefined)
    throw new CliError(`${folder} holds no request that a model answers; gateway record makes another tape`);
  return { requests: [first, ...more], left: wanted.length - 1 - more.length };
}

/** What the client sent; what the provider got of a client that speaks a protocol of its own. */
function requestOf(exchange: TapedExchange, folder: string): ComparedRequest[] {
  const { number, head, attempts } = exchange;
  const attempt = attempts.at(-1);
  if (attempt === undefined) return [];
  const protocol = allProtocols.find(({ name, client }) => {
    const [own] = client.endpoints;
    return name === head.protocol && servedPath(own) === head.path;
  });
  const isTranslated =
    head.protocol === 'ollama' && attempt.head.url.endsWith(protocols[attempt.head.protocol].client.path);
  if (protocol === undefined && !isTranslated) return [];
  const name = protocol?.name ?? attempt.head.protocol;
  const body = protocol === undefined ? attempt.request() : exchange.request();
  if (body === undefined) return [];
  try {
    const inbound = readRequest(ownArrival(protocols[name]), Buffer.from(body));
    if (inbound.endpoint.does !== 'generate') return [];
    const recorded = { attempt, exchange: head };
    return [{ name: number, protocol: name, inbound, headers: meaningful(head.headers), recorded }];
  } catch (error) {
    throw new CliError(`${path.join(folder, number)}: the request on it is damaged: ${messageOf(error)}`);
  }
}

/** Versions and features that the client asked for; nothing that says who it is. */
const MEANINGFUL = /^[a-z]+-(?:version|beta)$/;

function meaningful(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => (MEANINGFUL.test(name) ? [name, value] : []));
}
