// The client of commands, for a few small requests: lists of models, probes on this machine. Without pool and proxy, it is ready in a
// tenth of the processor time that the server's client takes. Only the caller's cancellation limits how long it waits.
import * as http from 'node:http';
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
  // Most commands ask servers on this machine alone, and TLS takes long to load.
  const { request: create } = call.url.startsWith('https:') ? await import('node:https') : http;
  return new Promise((resolve, reject) => {
    if (cancellation.reason !== undefined) {
      reject(cancellation.reason);
      return;
    }
    const { url, method, body } = call;
    const request = create(url, { method, headers: membersOf(call.headers), agent: false });
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

/** Node takes flat headers as they are, and adds no Host to them. */
function membersOf(flat: readonly string[]): Record<string, string[]> {
  const members: Record<string, string[]> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) (members[flat[at] ?? ''] ??= []).push(flat[at + 1] ?? '');
  return members;
}

function replyOf(response: http.IncomingMessage, cancellation: Cancellation): ProviderReply {
  const headers = new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  return {
    status: response.statusCode ?? 0,
    body: decodedBody(bodyOf(response, cancellation), headers.get('content-encoding')),
    header: (name) => headers.get(name),
    headers: () => headers,
  };
}

function bodyOf(response: http.IncomingMessage, cancellation: Cancellation): ReplyBody {
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
