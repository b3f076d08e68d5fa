// The client of commands, for a few small requests: lists of models, probes on this machine. Without pool and proxy, it is ready in a
// tenth of the processor time that the server's client takes. Only the caller's cancellation limits how long it waits.
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Cancellation } from '../cancellation.ts';
import { FailureError } from '../errors.ts';
import type { ProviderClient } from './client.ts';
import { connectionError } from './connection.ts';
import type { ProviderCall, ProviderReply } from './exchange.ts';
import { decodedBody, type ReplyBody } from './reply-body.ts';

export function createDirectClient(): ProviderClient {
  return { open: openDirect, closeIdle: () => undefined, close: () => Promise.resolve() };
}

async function openDirect(call: ProviderCall, cancellation: Cancellation): Promise<ProviderReply> {
  const { url, method, body } = call;
  const isTls = url.startsWith('https:');
  // By default Node gives each address of a name a quarter of a second alone.
  const attempt = Math.ceil(call.timeout.connect / 2);
  // Most commands ask servers on this machine, and most of these do not run. Node's client takes long to load: first the connection.
  const socket = isTls ? undefined : await connected(new URL(url), attempt, cancellation);
  const { request: create } = await (isTls ? import('node:https') : import('node:http'));
  return new Promise((resolve, reject) => {
    if (cancellation.reason !== undefined) {
      socket?.destroy();
      reject(cancellation.reason);
      return;
    }
    if (socket?.errored) {
      reject(new FailureError(connectionError(socket.errored, false)));
      return;
    }
    const connection =
      socket === undefined
        ? { agent: false, autoSelectFamilyAttemptTimeout: attempt }
        : { createConnection: () => socket };
    const request = create(url, { method, headers: membersOf(call.headers), ...connection });
    const cancel = (): void => void request.destroy(cancellation.reason);
    cancellation.subscribe(cancel);
    request.once('error', (error) => {
      reject(cancellation.reason ?? new FailureError(connectionError(error, false)));
    });
    request.once('close', () => cancellation.unsubscribe(cancel));
    request.once('response', (response) => resolve(replyOf(response, cancellation)));
    request.end(body);
  });
}

/** `attempt`: milliseconds for each address. */
function connected({ hostname, port }: URL, attempt: number, cancellation: Cancellation): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (cancellation.reason !== undefined) {
      reject(cancellation.reason);
      return;
    }
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 80),
      autoSelectFamilyAttemptTimeout: attempt,
    });
    const cancel = (): void => void socket.destroy(cancellation.reason);
    cancellation.subscribe(cancel);
    // It stays: the connection may also break before the client has it.
    socket.on('error', (error) => {
      cancellation.unsubscribe(cancel);
      reject(cancellation.reason ?? new FailureError(connectionError(error, false)));
    });
    socket.once('connect', () => {
      cancellation.unsubscribe(cancel);
      resolve(socket);
    });
  });
}

/** Node takes flat headers as they are, and adds no Host to them. */
function membersOf(flat: readonly string[]): Record<string, string[]> {
  const members: Record<string, string[]> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) (members[flat[at] ?? ''] ??= []).push(flat[at + 1] ?? '');
  return members;
}

function replyOf(response: IncomingMessage, cancellation: Cancellation): ProviderReply {
  const headers = new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  return {
    status: response.statusCode ?? 0,
    body: decodedBody(bodyOf(response, cancellation), headers.get('content-encoding')),
    header: (name) => headers.get(name),
    headers: () => headers,
  };
}

function bodyOf(response: IncomingMessage, cancellation: Cancellation): ReplyBody {
  return {
    start(reader) {
      response.on('data', (bytes: Buffer) => reader.chunk(bytes));
      response.once('end', () => reader.end(true));
      response.once('error', (error) => {
        reader.fail(connectionError(cancellation.reason ?? error, true));
      });
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    abort: () => void response.destroy(),
    release: () => void response.destroy(),
  };
}
