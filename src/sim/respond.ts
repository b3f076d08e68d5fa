// Sends the reply of one simulated model to one client: as JSON or as a stream, with pauses, or with a cut connection.
import type { ServerResponse } from 'node:http';
import type { StreamEvent, Reply } from '../canonical/reply.ts';
import type { GenerationRequest } from '../canonical/request.ts';
import type { Clock } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { Ids } from '../ids.ts';
import type { Protocol } from '../protocols/interface/protocol.ts';
import type { ReplyContext } from '../protocols/interface/answer.ts';
import { behaviourOf } from './behaviours.ts';
import type { Behaviour } from './behaviours.ts';
import {
  echoReply,
  eventsOf,
  inputTokens,
  standInReply,
  textReply,
  type ReplyIdentity,
  wordsOf,
} from './model.ts';

export interface Exchange {
  protocol: Protocol;
  response: ServerResponse;
  clock: Clock;
  ids: Ids;
}

/** Behaviours that have a reply. */
type Speaking = Exclude<Behaviour, { kind: 'fail' | 'silent' }>;

const ID_PREFIX = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const satisfies Record<
  Protocol['name'],
  string
>;

/** Throws GatewayError before the first byte is written; resolves when the reply is sent or the client has disconnected. */
export async function respond(request: GenerationRequest, exchange: Exchange): Promise<void> {
  const behaviour = behaviourOf(request.model);
  rejectServerState(request);
  if (behaviour.kind === 'fail') throw behaviour.error;
  if (behaviour.kind === 'silent') return;
  const startedAt = exchange.clock.monotonic();
  const created = Math.floor(exchange.clock.now() / 1000);
  const identity: ReplyIdentity = {
    id: ID_PREFIX[exchange.protocol.name] + exchange.ids.random(24),
    created,
  };
  const reply = replyOf(request, behaviour, identity);
  const context: ReplyContext = {
    ids: exchange.ids,
    created,
    now: () => exchange.clock.now(),
    elapsed: () => exchange.clock.monotonic() - startedAt,
    request,
    estimateInput: () => inputTokens(request),
    // Its answers say that they are stored: the gateway in front of it stores them.
    stores: true,
  };
  if (request.stream) await sendStream(reply, behaviour, context, exchange);
  else await sendJsonReply(reply, behaviour, context, exchange);
}

function replyOf(request: GenerationRequest, behaviour: Speaking, identity: ReplyIdentity): Reply {
  switch (behaviour.kind) {
    case 'echo':
      return echoReply(request, identity);
    case 'stand-in':
      return standInReply(request, identity);
    case 'recite':
    case 'cut':
      return textReply(request, behaviour.words, identity);
  }
}

/** Rejects fields such as `thread` with a code that makes clients retry without them. Ignoring them would lose the conversation. */
function rejectServerState(request: GenerationRequest): void {
  for (const { fate, details, name, path, message } of request.native) {
    if (fate !== 'reject' || details === undefined) continue;
    throw new GatewayError('invalid_request', message ?? `${name} is not supported`, {
      param: path,
      details,
    });
  }
}

async function sendStream(
  reply: Reply,
  behaviour: Behaviour,
  context: ReplyContext,
  exchange: Exchange,
): Promise<void> {
  const { response, protocol } = exchange;
  const encoder = protocol.client.createStreamEncoder(context);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let deltas = 0;
  for (const event of eventsOf(reply)) {
    if (isDelta(event)) deltas += 1;
    if (behaviour.kind === 'recite' && isDelta(event) && deltas > 1) await pause(behaviour.pauseMs, exchange);
    if (response.destroyed) return;
    if (behaviour.kind === 'cut' && (deltas > behaviour.deltas || event.type === 'end')) {
      cutConnection(response);
      return;
    }
    await writeFrames(encoder.push(event), response);
  }
  response.end();
}

function isDelta({ type }: StreamEvent): boolean {
  return type === 'text_delta' || type === 'reasoning_delta' || type === 'tool_delta';
}

async function sendJsonReply(
  reply: Reply,
  behaviour: Behaviour,
  context: ReplyContext,
  exchange: Exchange,
): Promise<void> {
  const { response, protocol } = exchange;
  const body = Buffer.from(JSON.stringify(protocol.client.encodeReply(reply, context)));
  if (behaviour.kind === 'recite') {
    await pause(behaviour.pauseMs * (wordsOf(behaviour.words).length - 1), exchange);
    if (response.destroyed) return;
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  if (behaviour.kind !== 'cut') {
    response.end(body);
    return;
  }
  response.write(body.subarray(0, body.length / 2));
  cutConnection(response);
}

/**
 * Closes the connection before the reply is complete, after the bytes already written are sent: node:http hands what was written in
 * a turn of the event loop to the socket at its end.
 */
function cutConnection(response: ServerResponse): void {
  setImmediate(() => response.socket?.destroySoon());
}

async function writeFrames(frames: string, response: ServerResponse): Promise<void> {
  if (frames === '' || response.write(frames)) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      response.off('drain', finish);
      response.off('close', finish);
      resolve();
    };
    response.on('drain', finish);
    response.on('close', finish);
  });
}

/** Resolves early when the client disconnects. */
function pause(ms: number, { clock, response }: Exchange): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel();
      response.off('close', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    response.on('close', finish);
  });
}
