// The control server: answers commands of the user who runs the gateway, on a socket that only this user can open. It never keeps the
// process alive, and a fault in it is logged once and does not affect requests.
import { chmodSync, lstatSync, rmdirSync, unlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Logger } from '../log.ts';
import { ControlError, type ControlHandler, type ControlRequest, type ControlStream } from './calls.ts';
import type { Environment } from '../environment.ts';
import { folderFault, listSockets, pidOf, socketAddress, socketFolders, type SocketFolder } from './place.ts';
import { processAt } from '../processes.ts';

export interface ControlServer {
  readonly address: string;
  /** Ends the connections and removes the socket. */
  close(): void;
}

interface ControlOptions {
  /** The folder of the database file, or the user's data folder. */
  dataFolder: string;
  env: Environment;
  handlers: readonly ControlHandler[];
  log: Logger;
}

const MAX_BODY = 1024 * 1024;
/** Bytes that wait for a slow reader of a stream. */
const MAX_WAITING = 1024 * 1024;
const MAX_CONNECTIONS = 64;
/** Between the creation of a socket and its first connection, another start must not take it for a stale one. */
const STALE_AFTER_MS = 2000;
/** Gateways in containers that share the folder can have the same pid. */
const MAX_NAMES = 16;

/** Rejects with the reasons if no folder can hold the socket. */
export async function startControl(options: ControlOptions): Promise<ControlServer> {
  const server = createControlServer(options);
  const folders = socketFolders(options.dataFolder, options.env);
  const faults: string[] = [];
  for (const folder of folders) {
    const fault = folderFault(folder);
    const address = fault === undefined ? await bindIn(folder, server, faults) : undefined;
    if (fault !== undefined) faults.push(fault);
    if (address === undefined) continue;
    void removeStale(folders, address);
    return { address, close: () => close(server, folder) };
  }
  throw new Error(faults.join('; '));
}

function close(server: Server, { path, own }: SocketFolder): void {
  server.close();
  server.closeAllConnections();
  if (!own) return;
  try {
    rmdirSync(path);
  } catch {
    // Another gateway uses the folder.
  }
}

/** Resolves to the address, or adds the fault of this folder. */
async function bindIn(folder: SocketFolder, server: Server, faults: string[]): Promise<string | undefined> {
  for (let at = 0; at < MAX_NAMES; at += 1) {
    const address = socketAddress(folder, at === 0 ? String(process.pid) : `${process.pid}-${at}`);
    try {
      // An ended process can have had the same pid.
      if (await isStale(address)) unlinkSync(address);
      await listen(server, address);
      return address;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      faults.push((error as Error).message);
      return undefined;
    }
  }
  faults.push(`${folder.path} has too many sockets of this pid`);
  return undefined;
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // The socket is created in this call: it must never be open to others, not even until `chmod`.
    const mask = process.umask(0o177);
    try {
      server.listen(address, () => {
        server.off('error', reject);
        if (process.platform !== 'win32') chmodSync(address, 0o600);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
    server.unref();
  });
}

/** Sockets of gateways that were killed. */
async function removeStale(folders: readonly SocketFolder[], own: string): Promise<void> {
  const others = folders.flatMap(listSockets).filter((address) => address !== own);
  for (const address of others) {
    try {
      if (await isStale(address)) unlinkSync(address);
    } catch {
      // Another start removed it.
    }
  }
}

async function isStale(address: string): Promise<boolean> {
  const stat = lstatSync(address, { throwIfNoEntry: false });
  if (stat?.isSocket() !== true || !(await isRefused(address))) return false;
  return processAt(pidOf(address)) === undefined || Date.now() - stat.ctimeMs > STALE_AFTER_MS;
}

function isRefused(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
  });
}

function createControlServer({ handlers, log }: ControlOptions): Server {
  const reported = new Set<string>();
  /** Once for each place: a command that is repeated must not fill the log. */
  const report = (place: string, error: unknown): void => {
    if (reported.has(place)) return;
    reported.add(place);
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error('a fault of the control socket', { path: place, detail });
  };
  const server = createServer((incoming, response) => {
    response.on('error', () => undefined);
    answer(incoming, response, handlers, report).catch((error: unknown) => {
      // A command that leaves in the middle of its request is no fault of the gateway.
      if (!(error instanceof ControlError) && incoming.complete) report(placeOf(incoming), error);
      fail(response, error);
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', (socket) => socket.unref());
  server.on('clientError', (_error, socket) => socket.destroy());
  // `listen` has its own listener, too; an error after it must not end the process.
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (server.listening) report('socket', error);
  });
  return server;
}

function urlOf(incoming: IncomingMessage): URL {
  return new URL(incoming.url ?? '/', 'http://control');
}

function placeOf(incoming: IncomingMessage): string {
  return `${incoming.method ?? ''} ${urlOf(incoming).pathname}`;
}

type Report = (place: string, error: unknown) => void;

async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  handlers: readonly ControlHandler[],
  report: Report,
): Promise<void> {
  const { pathname, searchParams } = urlOf(incoming);
  const rows = handlers.filter(({ path }) => path === pathname);
  const row = rows.find(({ method }) => method === incoming.method);
  if (row === undefined) {
    throw rows.length === 0
      ? new ControlError(404, `this gateway does not have ${pathname}: its version may be older or newer`)
      : new ControlError(405, `${pathname} is not for ${incoming.method ?? ''}`);
  }
  const request = { query: searchParams, body: await readJson(incoming) };
  if ('open' in row) return openStream(row, request, response, report);
  const value = await row.handle(request);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value ?? null));
}

function openStream(
  row: ControlStream,
  request: ControlRequest,
  response: ServerResponse,
  report: Report,
): void {
  let dropped = 0;
  const send = (event: unknown): void => {
    if (response.destroyed || response.writableEnded) return;
    if (response.writableLength > MAX_WAITING) {
      dropped += 1;
      return;
    }
    const lost = dropped === 0 ? '' : `${JSON.stringify({ dropped })}\n`;
    dropped = 0;
    response.write(`${lost}${JSON.stringify(event)}\n`);
  };
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  // The reader learns that the stream is open before the first event.
  response.flushHeaders();
  const stop = row.open(request, send);
  response.once('close', () => {
    try {
      stop();
    } catch (error) {
      report(row.path, error);
    }
  });
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const [status, message] =
    error instanceof ControlError
      ? [error.status, error.message]
      : [500, 'the gateway failed; its log has the reason'];
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ error: { message } }));
}

async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) throw new ControlError(413, 'the request is too large');
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    throw new ControlError(400, 'the request is not JSON');
  }
}
