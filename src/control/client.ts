// The commands' side of the control socket: finds the gateways that run on a data folder, calls them, reads their streams.
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { ControlError, isStatus, type GatewayStatus } from './calls.ts';
import type { Environment } from '../environment.ts';
import { listSockets, pidOf, socketFolders } from './place.ts';

/** A gateway that answers. */
export interface RunningGateway {
  address: string;
  /** When it was found. */
  status: GatewayStatus;
}

/** The gateway does not answer in time. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';
  constructor() {
    super('the gateway does not answer');
  }
}

/** A busy gateway answers late, a stopped process (SIGSTOP) never. */
const ANSWER_MS = 2000;

interface Found {
  running: RunningGateway[];
  /** The pids of gateways that have a socket and do not answer: stopped, or busy. */
  silent: number[];
}

export async function findGateways(dataFolder: string, env: Environment): Promise<Found> {
  const addresses = [...new Set(socketFolders(dataFolder, env).flatMap(listSockets))];
  const found: Found = { running: [], silent: [] };
  await Promise.all(
    addresses.map(async (address) => {
      try {
        const status = await call({ address }, 'GET', '/status');
        if (isStatus(status)) found.running.push({ address, status });
      } catch (error) {
        if (error instanceof SilenceError) found.silent.push(pidOf(address));
      }
    }),
  );
  return found;
}

/** Whether a process accepts connections there. */
export function answers({ address }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

type Address = Pick<RunningGateway, 'address'>;

/** Resolves to the JSON reply. Rejects with ControlError if the gateway refuses, with the system's error if it is gone. */
export async function call(
  gateway: Address,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<unknown> {
  const response = await open(gateway, { method, path, body });
  const text = await readText(response);
  return parseReply(response.statusCode ?? 0, text);
}

/** The events of a stream until the gateway ends or the reader stops (`break`, or `signal`, also between two events). Rejects as
 *  `call` if the stream cannot be opened. */
export async function* stream(
  gateway: Address,
  path: string,
  signal?: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  const response = await open(gateway, { method: 'GET', path });
  const stop = (): void => void response.destroy();
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop);
  if (response.statusCode !== 200) {
    parseReply(response.statusCode ?? 0, await readText(response));
    return;
  }
  response.setEncoding('utf8');
  let rest = '';
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as unknown;
    }
  } catch (error) {
    // The gateway ended.
    if (signal?.aborted !== true && (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    response.destroy();
  }
}

/** The time-out ends with the head of the reply: a stream may be silent. */
async function open(
  { address }: Address,
  { method, path, body }: { method: string; path: string; body?: unknown },
): Promise<IncomingMessage> {
  // Loaded only if there is a gateway to ask.
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { socketPath: address, method, path, agent: false, headers: { host: 'control' } },
      (response) => {
        clearTimeout(timer);
        resolve(response);
      },
    );
    const timer = setTimeout(() => outgoing.destroy(new SilenceError()), ANSWER_MS);
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response as AsyncIterable<string>) text += chunk;
  return text;
}

function parseReply(status: number, text: string): unknown {
  const value = JSON.parse(text) as unknown;
  if (status === 200) return value;
  const { error } = value as { error?: { message?: string } };
  throw new ControlError(status, error?.message ?? `the gateway answers ${status}`);
}
