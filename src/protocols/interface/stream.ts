// The interfaces for the frames of a protocol's stream: reading, writing, classifying.
import type { GatewayError, ProviderFailure } from '../../errors.ts';
import type { StreamEvent, Usage } from '../../canonical/reply.ts';
import type { JsonObject } from '../../canonical/json.ts';
import type { Frame } from '../sse/splitter.ts';
import type { AnswerMarks, HiddenTexts, ReplyIds } from './answer.ts';

/** Collects a stream's frames into canonical events. Emits exactly one `end` or `error`, then ignores all input. */
export interface StreamDecoder {
  push(frame: Frame): StreamEvent[];
  /** The body has ended. `clean`: complete by HTTP's rules (last chunk, content-length reached); else the connection broke. */
  finish(clean: boolean): StreamEvent[];
  /** A finish or stop reason came: the content of the answer is complete. */
  stopped(): boolean;
  /** The usage that the provider has sent so far, for a stream that breaks off. */
  usage(): Usage | undefined;
}

/** Writes what the gateway itself adds to a stream. A protocol whose frames depend on earlier ones needs the stream's state for it. */
export interface StreamNotices {
  /** Keeps a silent stream alive; in place of the protocol's constant `keepAlive`. */
  keepAlive?(): string;
  /** All frames of the stream's failure; replaces the protocol's `encodeStreamError`. */
  fail?(error: GatewayError, requestId: string, now: number): string;
}

/** Writes canonical events as this protocol's frames, ready to send; '' if nothing is to be written yet. */
export interface StreamEncoder extends StreamNotices {
  push(event: StreamEvent): string;
  /** Undefined: the client has the provider's id, or none yet. */
  replyIds(): ReplyIds | undefined;
  /**
   * The stream that this encoder opened continues with frames of a provider of the same protocol: the bytes that stand for one of them;
   * none for a frame that would open the stream again. Then nothing is pushed.
   */
  adopt?(frame: Frame): Buffer;
  /** The complete answer as the client has it, if its protocol stores answers. */
  answer?(): JsonObject | undefined;
  /** Of that answer. */
  hidden?(): HiddenTexts | undefined;
}

export type FrameClass =
  /** No reason to act: a comment, a ping, a role alone, an empty `message_start`; after the first content also more content. */
  | { readonly kind: 'quiet' }
  /** The first content of the answer. */
  | { readonly kind: 'content' }
  /**
   * A finish or stop reason. `silence`: the failure that it stands for if no content came before this frame, because its word is
   * unknown.
   */
  | { readonly kind: 'finish'; readonly silence?: ProviderFailure }
  /** Usage that only the gateway asked for: not forwarded. */
  | { readonly kind: 'drop' }
  /** The provider's error inside the stream, or a frame that can't be read. */
  | { readonly kind: 'error'; readonly failure: ProviderFailure }
  /** The protocol's terminal frame: `[DONE]`, `message_stop`. */
  | { readonly kind: 'end' };

/**
 * Classifies the frames of one stream. Until the first content or finish it reads each frame; after that it parses a frame only
 * if its text shows that it may hold something other than content.
 */
export interface StreamClassifier extends StreamNotices {
  classify(frame: Frame): FrameClass;
  /** After the first content: every frame within this text (latin1) is `quiet` and may be forwarded without being split. */
  isQuiet(text: string): boolean;
  /** Usage so far, cumulative. */
  usage(): Usage | undefined;
  /** As far as the answer came. */
  marks(): AnswerMarks;
  /** The complete answer as the client has it, if its protocol stores answers. */
  answer?(): JsonObject | undefined;
  /** The frames that were classified last, as the client gets them; the same Buffer if they may stay. */
  shifted?(bytes: Buffer): Buffer;
}
