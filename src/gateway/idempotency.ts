// Requests with an Idempotency-Key, which SDKs send again after an error of the network: the answer that was given is given again, and
// one that is under way is waited for. Nothing is sent or counted twice.
import { createHash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import { type Claim, type KeptAnswer, MOST_KEPT } from '../repeats.ts';
import { parseJson } from '../protocols/json/values.ts';
import type { StreamNotices } from '../protocols/interface/stream.ts';
import { askingKey } from './inbound/asking-key.ts';
import type { Exchange, GatewayDeps, HeaderList, Sink } from './exchange.ts';
import { BufferedExchange } from './inbound/buffered-exchange.ts';
import { inferOrInstead } from './inbound/instead.ts';
import type { Arrival } from './inbound/read-request.ts';

const LONGEST_KEY = 255;

/** As `infer`, of a request with this key. */
export async function inferOnce(
  key: string,
  arrival: Arrival,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { accountId } = await askingKey(arrival, exchange, deps);
  if (key.length > LONGEST_KEY)
    throw new GatewayError('invalid_request', `Idempotency-Key is longer than ${LONGEST_KEY} characters`);
  const release = deps.inFlightLimit.enter(deps.current.config, exchange.arrivedInTime);
  let bytes: Buffer;
  let claim: Claim;
  const id = `${accountId} ${key}`;
  try {
    bytes = await exchange.readBody();
    const fingerprint = fingerprintOf(arrival, exchange, bytes);
    claim = await claimed(id, fingerprint, () => asksForStream(bytes), exchange, deps);
  } finally {
    release();
  }
  if (claim.kind === 'answered') return replay(claim.answer, exchange, deps);
  const recorded = new BufferedExchange(exchange, bytes, new RecordingSink(exchange.sink));
  try {
    await inferOrInstead(arrival, recorded, deps);
  } finally {
    deps.repeats.finish(id, exchange.answered ? recorded.sink.kept() : 'failed');
  }
}

/** `first`, or `answered`; throws for everything else. */
async function claimed(
  id: string,
  fingerprint: string,
  isStream: () => boolean,
  { cancellation }: Exchange,
  { repeats }: GatewayDeps,
): Promise<Claim> {
  for (;;) {
    const claim = await repeats.claim(id, fingerprint);
    if (claim.kind === 'other') {
      const message = 'this Idempotency-Key was used for another request; send another key with another body';
      throw new GatewayError('invalid_request', message, { status: 422, shouldRetry: false });
    }
    if (claim.kind !== 'under_way') return claim;
    if (isStream()) {
      const message =
        'a stream with this Idempotency-Key is under way; when it is over, its answer is given again';
      throw new GatewayError('invalid_request', message, { status: 409, retryAfter: 1 });
    }
    await overOrGone(repeats.whenOver(id), cancellation);
  }
}

/** Read only where the same request is under way. */
function asksForStream(bytes: Buffer): boolean {
  try {
    return (parseJson(bytes.toString()) as { stream?: unknown } | null)?.stream === true;
  } catch {
    return false;
  }
}

function overOrGone(over: Promise<void>, cancellation: Exchange['cancellation']): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(cancellation.reason ?? new Error('cancelled'));
    if (cancellation.reason !== undefined) return gone();
    cancellation.subscribe(gone);
    void over.then(() => {
      cancellation.unsubscribe(gone);
      resolve();
    });
  });
}

function fingerprintOf({ protocol, endpoint }: Arrival, { query }: Exchange, bytes: Buffer): string {
  const hash = createHash('sha256').update(`${protocol.name} ${endpoint.path} ${query}\n`);
  return hash.update(bytes).digest('base64');
}

/** Of the time of the first answer: not true any more. */
const OF_THEN = /ratelimit|^x-gateway-limits$/;

function replay(answer: KeptAnswer | undefined, { requestId, sink }: Exchange, { log }: GatewayDeps): void {
  if (answer === undefined) {
    const message =
      'this request was answered before, and the answer is not kept; send it with another Idempotency-Key to ask anew';
    throw new GatewayError('invalid_request', message, { status: 409, shouldRetry: false });
  }
  const { headers, body, stream } = answer;
  const again = headers.filter((_, at) => !OF_THEN.test(headers[at - (at % 2)] ?? ''));
  again.push('x-gateway-replayed', 'true');
  log.info('answered again', { request: requestId });
  if (!stream) return sink.send(200, again, Buffer.from(body));
  sink.open(again, NO_NOTICES);
  sink.end(Buffer.from(body));
}

/** The whole of it follows at once. */
const NO_NOTICES: Required<StreamNotices> = { keepAlive: () => '', fail: () => '' };

/** Keeps what the client gets. */
class RecordingSink implements Sink {
  readonly #sink: Sink;
  #headers: HeaderList | undefined;
  #pieces: Buffer[] = [];
  #length = 0;
  #stream = false;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  get opened(): boolean {
    return this.#sink.opened;
  }

  send(status: number, headers: HeaderList, body: Buffer | string): void {
    this.#headers = [...headers];
    this.#add(body);
    this.#sink.send(status, headers, body);
  }

  open(headers: HeaderList, notices: Required<StreamNotices>): void {
    this.#headers ??= [...headers];
    this.#stream = true;
    this.#sink.open(headers, notices);
  }

  write(bytes: Buffer | string): boolean {
    this.#add(bytes);
    return this.#sink.write(bytes);
  }

  onDrain(listener: () => void): void {
    this.#sink.onDrain(listener);
  }

  end(last: Buffer | string = ''): void {
    this.#add(last);
    this.#sink.end(last);
  }

  breakOff(last: Buffer | string): void {
    this.#sink.breakOff(last);
  }

  kept(): KeptAnswer | 'unkept' {
    if (this.#headers === undefined || this.#length > MOST_KEPT) return 'unkept';
    return { headers: this.#headers, body: Buffer.concat(this.#pieces), stream: this.#stream };
  }

  #add(bytes: Buffer | string): void {
    this.#length += Buffer.byteLength(bytes);
    if (this.#length > MOST_KEPT) this.#pieces = [];
    else if (bytes.length > 0) this.#pieces.push(Buffer.from(bytes));
  }
}
