// The live event stream: what runs now, what has ended, and the health of targets, as Server-Sent Events. All subscribers share one
// feed, which sends at most twice a second; a slow reader misses events and learns how many.
import type { Clock } from '../../clock.ts';
import type { SiteExchange } from '../../gateway/exchange.ts';
import type { Moment } from '../../observe/live.ts';
import type { FoundRequest } from '../../observe/under-way.ts';
import type { Caller } from '../authenticate.ts';
import { Problem, safeHeaders } from '../reply.ts';

interface News {
  requests: readonly object[];
  notices?: readonly object[];
}

/** Events: snapshots of what runs now, requests that have ended, notices. */
export interface LiveFeed {
  watch(send: (frame: object) => void): () => void;
  /** `most`: requests of one event. */
  follow(send: (news: News) => void, most: number): () => void;
  /** What all requests of the gateway come to now. */
  moment(): Moment | Promise<Moment>;
  /** A request that the database may not have yet, or never has: under way, ended a moment ago, or one of the last that were refused. */
  find(id: string): FoundRequest | undefined | Promise<FoundRequest | undefined>;
}

export interface Events {
  /** Throws Problem 503 if there are too many subscribers. */
  open(exchange: SiteExchange, caller: Caller): void;
  /** Ends every stream, also each that is opened later: its reader connects again, to the gateway that is there then. */
  close(): void;
}

const MOST_SUBSCRIBERS = 16;
/** Requests in one event: the page shows no more, and each takes processor time from requests. */
const MOST_REQUESTS = 50;
/** A revoked token and a session that is over end their streams after this time at most. */
const CHECK_MS = 5000;
const RETRY = 'retry: 3000\n\n';

interface Subscriber {
  send(text: string): void;
  end(): void;
}

export function createEvents({ live, clock }: { live: LiveFeed; clock: Clock }): Events {
  const subscribers = new Set<Subscriber>();
  let last = '';
  let isClosed = false;
  let stop = (): void => undefined;

  function publish(name: string, value: unknown): string {
    const text = `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
    for (const subscriber of [...subscribers]) subscriber.send(text);
    return text;
  }

  function add(subscriber: Subscriber): void {
    subscribers.add(subscriber);
    if (subscribers.size > 1) {
      subscriber.send(last);
      return;
    }
    const stopWatching = live.watch((frame) => void (last = publish('now', frame)));
    const stopFollowing = live.follow(({ notices = [], ...news }) => {
      if (news.requests.length > 0) publish('requests', news);
      for (const notice of notices) publish('notice', notice);
    }, MOST_REQUESTS);
    stop = () => {
      stopWatching();
      stopFollowing();
    };
  }

  function remove(subscriber: Subscriber): void {
    if (subscribers.delete(subscriber) && subscribers.size === 0) stop();
  }

  return {
    open(exchange, caller) {
      if (subscribers.size >= MOST_SUBSCRIBERS) {
        const headers = ['retry-after', '5'];
        throw new Problem(503, 'too_many_streams', 'too many event streams are open', { headers });
      }
      const subscriber = createSubscriber(exchange, { caller, clock, onEnd: () => remove(subscriber) });
      if (isClosed) subscriber.end();
      else add(subscriber);
    },
    close() {
      isClosed = true;
      for (const subscriber of [...subscribers]) subscriber.end();
    },
  };
}

function createSubscriber(
  { sink, cancellation }: SiteExchange,
  { caller, clock, onEnd }: { caller: Caller; clock: Clock; onEnd: () => void },
): Subscriber {
  let isSlow = false;
  let missed = 0;
  let ended = false;
  let cancelCheck = (): void => undefined;

  function leave(): void {
    if (ended) return;
    ended = true;
    cancelCheck();
    cancellation.unsubscribe(leave);
    onEnd();
    sink.end();
  }

  function write(text: string): void {
    if (ended || sink.write(text)) return;
    isSlow = true;
    sink.onDrain(() => {
      isSlow = false;
      if (missed > 0) write(`event: missed\ndata: {"events":${missed}}\n\n`);
      missed = 0;
    });
  }

  function checkLater(): void {
    cancelCheck = clock.after(CHECK_MS, () => {
      // If the database does not answer, the credential cannot be checked, and the stream ends.
      caller.isValid().then(
        (valid) => (valid ? !ended && checkLater() : leave()),
        () => leave(),
      );
    });
  }

  sink.open(['content-type', 'text/event-stream; charset=utf-8', ...safeHeaders()], {
    keepAlive: () => ': keep-alive\n\n',
    fail: () => '',
  });
  cancellation.subscribe(leave);
  checkLater();
  write(RETRY);
  return {
    send(text) {
      if (isSlow) missed += 1;
      else write(text);
    },
    end: leave,
  };
}
