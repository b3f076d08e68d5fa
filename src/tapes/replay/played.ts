// The answer to a request from its record: in the protocol of the request, in pieces.
import { FailureError, type FailureKind, type ProviderFailure } from '../../errors.ts';
import { FAILURES } from '../../failures.ts';
import { createIds } from '../../ids.ts';
import { protocols } from '../../protocols/registry.ts';
import { stringify, translate } from '../../protocols/translate.ts';
import { gatewayErrorOf } from '../../protocols/shared/client.ts';
import { framings } from '../../providers/framings.ts';
import { textOf, type Piece } from '../frames.ts';
import type { Asked } from '../match/meaning.ts';
import type { TapedAnswer, TapedAttempt } from '../read.ts';
import type { PlayedAnswer } from './answer.ts';

/** Throws FailureError if no answer was recorded: the provider was not reached. `pace`: each piece comes when it came then. */
export function playedAnswer(attempt: TapedAttempt, asked: Asked, pace: boolean): PlayedAnswer {
  const { head } = attempt;
  const { status, failure } = head;
  if (status === null) throw new FailureError(failureOf(failure));
  const at = (ms: number): number => (pace ? Math.max(0, ms - head.at_ms) : 0);
  const taken = attempt.answer() ?? { form: 'whole', text: '' };
  const isForeign = head.protocol !== asked.protocol && asked.kind === 'generate';
  const pieces = isForeign
    ? translated(taken, { status, from: head.protocol, asked })
    : piecesOf(taken, head.first_byte_ms ?? 0);
  const headers = new Map(Object.entries(head.answer_headers));
  const type =
    taken.form === 'stream' ? framings.sse.mediaType : (headers.get('content-type') ?? 'application/json');
  headers.set('content-type', type);
  return {
    status,
    headers,
    pieces: inChunks(pieces.map(({ ms, bytes }) => ({ ms: at(ms), bytes }))),
    end: head.end === 'whole' ? 'whole' : 'broken',
  };
}

function failureOf(failure: TapedAttempt['head']['failure']): ProviderFailure {
  if (failure === null)
    return { kind: 'failed', message: 'the tape holds no answer to this request', reason: 'off_tape' };
  const { kind, reason, message } = failure;
  return { kind: isKind(kind) ? kind : 'failed', message, ...(reason !== null && { reason }) };
}

const isKind = (kind: string): kind is FailureKind => Object.hasOwn(FAILURES, kind);

function piecesOf(answer: TapedAnswer, firstByteMs: number): Piece[] {
  if (answer.form === 'whole') return [{ ms: firstByteMs, bytes: Buffer.from(answer.text) }];
  return answer.frames.map((frame) => ({ ms: frame.ms, bytes: Buffer.from(textOf(frame)) }));
}

/** Frames that came together come together. */
function inChunks(pieces: readonly Piece[]): Piece[] {
  const chunks: { ms: number; parts: Buffer[] }[] = [];
  for (const { ms, bytes } of pieces) {
    const last = chunks.at(-1);
    if (last?.ms === ms) last.parts.push(bytes);
    else chunks.push({ ms, parts: [bytes] });
  }
  return chunks.map(({ ms, parts }) => ({ ms, bytes: Buffer.concat(parts) }));
}

interface Foreign {
  status: number;
  from: TapedAttempt['head']['protocol'];
  asked: Asked;
}

/** An answer that was recorded in another protocol than it is asked for in. */
function translated(answer: TapedAnswer, { status, from, asked }: Foreign): Piece[] {
  const ids = createIds();
  if (status !== 200) {
    const text = answer.form === 'whole' ? answer.text : answer.frames.map(textOf).join('');
    const failure = protocols[from].provider.decodeError(status, new Map(), text);
    const body = protocols[asked.protocol].client.encodeError(
      gatewayErrorOf(failure),
      `req_${ids.random(24)}`,
    );
    return [{ ms: 0, bytes: Buffer.from(JSON.stringify(body)) }];
  }
  const translation = translate(asked.body, { from: asked.protocol, to: from });
  if (answer.form === 'whole') {
    return [{ ms: 0, bytes: Buffer.from(stringify(translation.reply(answer.text))) }];
  }
  const stream = translation.stream();
  const pieces = answer.frames.map((frame) => ({
    ms: frame.ms,
    bytes: Buffer.from(stream.push(Buffer.from(textOf(frame)))),
  }));
  return [...pieces, { ms: answer.frames.at(-1)?.ms ?? 0, bytes: Buffer.from(stream.end()) }];
}
