// A recorded answer as a provider's reply: its pieces at the times at which they came, or at once.
import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import type { ProviderFailure } from '../../errors.ts';
import type { ProviderReply } from '../../providers/exchange.ts';
import type { BodyReader, ReplyBody } from '../../providers/reply-body.ts';
import type { Piece } from '../frames.ts';

export interface PlayedAnswer {
  status: number;
  headers: ReadonlyMap<string, string>;
  /** In the order of their times, which count from the call. */
  pieces: readonly Piece[];
  /** How the body ends. */
  end: 'whole' | 'broken';
}

const BROKEN: ProviderFailure = {
  kind: 'failed',
  message: "the provider's answer ended too early",
  reason: 'truncated',
};
const ABORTED: ProviderFailure = { kind: 'failed', message: 'the request was aborted', reason: 'aborted' };

export function playedReply(answer: PlayedAnswer, clock: Clock, cancellation: Cancellation): ProviderReply {
  const { status, headers } = answer;
  return {
    status,
    body: new PlayedBody(answer, clock, cancellation),
    header: (name) => headers.get(name),
    headers: () => headers,
  };
}

class PlayedBody implements ReplyBody {
  readonly #answer: PlayedAnswer;
  readonly #clock: Clock;
  readonly #cancellation: Cancellation;
  readonly #startedAt: number;
  readonly #onCancel = (): void => this.#finish(() => this.#reader?.fail(ABORTED));
  #reader: BodyReader | undefined;
  #next = 0;
  #paused = false;
  #giving = false;
  #over = false;
  #cancelTimer: () => void = () => undefined;

  constructor(answer: PlayedAnswer, clock: Clock, cancellation: Cancellation) {
    this.#answer = answer;
    this.#clock = clock;
    this.#cancellation = cancellation;
    this.#startedAt = clock.monotonic();
    cancellation.subscribe(this.#onCancel);
  }

  start(reader: BodyReader): void {
    this.#reader = reader;
    this.#give();
  }

  pause(): void {
    this.#paused = true;
    this.#cancelTimer();
  }

  resume(): void {
    this.#paused = false;
    this.#give();
  }

  abort(): void {
    this.#finish(() => undefined);
  }

  release(): void {
    this.abort();
  }

  /** All that is due. A reader may pause or abort within its call. */
  #give(): void {
    const reader = this.#reader;
    if (reader === undefined || this.#giving) return;
    this.#giving = true;
    this.#giveDue(reader);
    this.#giving = false;
  }

  #giveDue(reader: BodyReader): void {
    const { pieces, end } = this.#answer;
    while (!this.#over && !this.#paused) {
      const piece = pieces[this.#next];
      if (piece === undefined) {
        this.#finish(() => (end === 'whole' ? reader.end(true) : reader.fail(BROKEN)));
        return;
      }
      const wait = piece.ms - (this.#clock.monotonic() - this.#startedAt);
      if (wait > 0) {
        this.#cancelTimer = this.#clock.after(wait, () => this.#give());
        return;
      }
      this.#next++;
      reader.chunk(piece.bytes);
    }
  }

  #finish(tell: () => void): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimer();
    this.#cancellation.unsubscribe(this.#onCancel);
    tell();
  }
}
