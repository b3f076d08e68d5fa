// Plays one behaviour to one client: whole or as a stream, quickly, slowly, or broken off.
import type { ServerResponse } from 'node:http';
import type { StreamEvent } from '../canonical/events.ts';
import type { Reply } from '../canonical/reply.ts';
import type { GenerationRequest } from '../canonical/request.ts';
import type { Clock } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { Ids } from '../ids.ts';
import type { Protocol, ReplyContext } from '../protocols/protocol.ts';
import { behaviourOf } from './behaviours.ts';
import type { Behaviour } from './behaviours.ts';
import { answer, eventsOf, inputTokens, say } from './model.ts';
import type { Identity } from './model.ts';
import { wordsOf } from './tokens.ts';

export interface Stage {
  protocol: Protocol;
  response: ServerResponse;
  clock: Clock;
  ids: Ids;
}

const ID_PREFIX = { chat: 'chatcmpl-', messages: 'msg_' } as const satisfies Record<
  GenerationRequest['protocol'],
  string
>;

/** Throws GatewayError before a byte is written; resolves when the answer is out, or when the client has left. */
export async function play(request: GenerationRequest, stage: Stage): Promise<void> {
  const behaviour = behaviourOf(request.model);
  refuseServerState(request);
  if (behaviour.kind === 'fail') throw behaviour.error;
  if (behaviour.kind === 'silent') return;
  const created = Math.floor(stage.clock.now() / 1000);
  const identity: Identity = { id: ID_PREFIX[request.protocol] + stage.ids.random(24), created };
  const reply =
    behaviour.kind === 'echo' ? answer(request, identity) : say(request, behaviour.words, identity);
  const context: ReplyContext = {
    ids: stage.ids,
    created,
    request,
    estimateInput: () => inputTokens(request),
  };
  if (request.stream) await playStream(reply, behaviour, context, stage);
  else await playWhole(reply, behaviour, context, stage);
}

/** What a client can do without, once it is told so by its code: `thread`, whose loss would lose the conversation. */
function refuseServerState(request: GenerationRequest): void {
  for (const { fate, details, name, path, message } of request.native) {
    if (fate !== 'reject' || details === undefined) continue;
    throw new GatewayError('invalid_request', message ?? `${name} is not supported`, {
      param: path,
      details,
    });
  }
}

async function playStream(
  reply: Reply,
  behaviour: Behaviour,
  context: ReplyContext,
  stage: Stage,
): Promise<void> {
  const { response, protocol } = stage;
  const encoder = protocol.createStreamEncoder(context);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let pieces = 0;
  for (const event of eventsOf(reply)) {
    if (isPiece(event)) pieces += 1;
    if (behaviour.kind === 'recite' && isPiece(event) && pieces > 1) await pause(behaviour.pauseMs, stage);
    if (response.destroyed) return;
    if (behaviour.kind === 'cut' && (pieces > behaviour.pieces || event.type === 'end')) {
      breakOff(response);
      return;
    }
    await send(encoder.push(event), response);
  }
  response.end();
}

function isPiece({ type }: StreamEvent): boolean {
  return type === 'text_delta' || type === 'reasoning_delta' || type === 'tool_delta';
}

async function playWhole(
  reply: Reply,
  behaviour: Behaviour,
  context: ReplyContext,
  stage: Stage,
): Promise<void> {
  const { response, protocol } = stage;
  const body = Buffer.from(JSON.stringify(protocol.encodeReply(reply, context)));
  if (behaviour.kind === 'recite') {
    await pause(behaviour.pauseMs * (wordsOf(behaviour.words).length - 1), stage);
    if (response.destroyed) return;
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  if (behaviour.kind !== 'cut') {
    response.end(body);
    return;
  }
  response.write(body.subarray(0, body.length / 2));
  breakOff(response);
}

/** Ends the connection without the end of the answer, after what was written has left. */
function breakOff(response: ServerResponse): void {
  response.socket?.destroySoon();
}

async function send(frames: string, response: ServerResponse): Promise<void> {
  if (frames === '' || response.write(frames)) return;
  await new Promise<void>((resolve) => {
    const go = (): void => {
      response.off('drain', go);
      response.off('close', go);
      resolve();
    };
    response.on('drain', go);
    response.on('close', go);
  });
}

/** Ends early where the client leaves. */
function pause(ms: number, { clock, response }: Stage): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      cancel();
      response.off('close', go);
      resolve();
    };
    const cancel = clock.after(ms, go);
    response.on('close', go);
  });
}
