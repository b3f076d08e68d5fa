// The event stream of the gateway. Events are only put aside; they are parsed and shown once for each frame of the screen, however
// many arrive. The stream is open while the page is visible: a browser has six connections to a gateway for all of its tabs.
import { useEffect, useState } from 'preact/hooks';
import {
  EVENTS,
  get,
  openSession,
  type LiveFrame,
  type NewRequests,
  type Page,
  type RequestJson,
  type StoredSample,
} from './api.ts';

interface LiveState {
  connection: 'connecting' | 'open' | 'away';
  frame: LiveFrame | undefined;
  /** The last two minutes, each second once, the oldest first: also of before the page was open. */
  history: readonly Sample[];
  /** That ended while the page was open, the newest first. */
  ended: readonly RequestJson[];
  /** All that ended while the page was open. */
  endedTotal: number;
}

export interface Sample {
  /** Seconds since 1970, whole. */
  at: number;
  /** null: unknown. */
  tokensPerSecond: number | null;
  inFlight: number;
}

export const MOST_SAMPLES = 120;
const MOST_ENDED = 50;
/** Events that wait for a frame of the screen; older ones are only counted. */
const MOST_WAITING = 200;
const RETRY_MS = 3000;

const EMPTY: LiveState = {
  connection: 'connecting',
  frame: undefined,
  history: [],
  ended: [],
  endedTotal: 0,
};

let state = EMPTY;
const listeners = new Set<(state: LiveState) => void>();

let waitingFrame: string | undefined;
let waiting: string[] = [];
let isDue = false;

function change(changes: Partial<LiveState>): void {
  state = { ...state, ...changes };
  for (const listener of listeners) listener(state);
}

function later(): void {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    apply();
  });
}

function apply(): void {
  const [frameText, news] = [waitingFrame, waiting];
  waitingFrame = undefined;
  waiting = [];
  const changes: Partial<LiveState> = {};
  if (frameText !== undefined) {
    const frame = JSON.parse(frameText) as LiveFrame;
    changes.frame = frame;
    changes.history = joined(state.history, [sampleOf(frame)]);
  }
  if (news.length > 0) {
    const parsed = news.map((text) => JSON.parse(text) as NewRequests);
    const requests = parsed.flatMap((event) => event.requests);
    changes.endedTotal =
      state.endedTotal + requests.length + parsed.reduce((sum, { missed }) => sum + missed, 0);
    changes.ended = [...requests.reverse(), ...state.ended].slice(0, MOST_ENDED);
  }
  change(changes);
}

function sampleOf({ at, requests, in_flight: inFlight }: LiveFrame): Sample {
  const tokensPerSecond = requests.reduce((sum, request) => sum + (request.tokens_per_second ?? 0), 0);
  return { at: Math.floor(Date.parse(at) / 1000), tokensPerSecond, inFlight };
}

/** Of one second, the later one counts. */
function joined(before: readonly Sample[], after: readonly Sample[]): Sample[] {
  const all = new Map([...before, ...after].map((sample) => [sample.at, sample]));
  const newest = Math.max(...all.keys());
  return [...all.values()].filter(({ at }) => at > newest - MOST_SAMPLES).sort((a, b) => a.at - b.at);
}

/** What was before the stream was open, or while nobody looked. */
async function loadHistory(): Promise<void> {
  const { data } = await get<Page<StoredSample>>('/samples');
  const kept = data.map(({ at, tokens_per_second: tokensPerSecond, in_flight: inFlight }) => ({
    at: Date.parse(at) / 1000,
    tokensPerSecond,
    inFlight,
  }));
  change({ history: joined(kept, state.history) });
}

let source: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;

function open(): void {
  if (source !== undefined || document.hidden) return;
  const own = new EventSource(EVENTS);
  source = own;
  own.addEventListener('open', () => {
    change({ connection: 'open' });
    // Without them the chart fills from now on.
    loadHistory().catch(() => undefined);
  });
  own.addEventListener('now', ({ data }: MessageEvent<string>) => {
    waitingFrame = data;
    later();
  });
  own.addEventListener('requests', ({ data }: MessageEvent<string>) => {
    waiting.push(data);
    if (waiting.length > MOST_WAITING) waiting.shift();
    later();
  });
  own.addEventListener('error', () => {
    change({ connection: 'away' });
    // After a refusal the browser does not try again.
    if (own.readyState === EventSource.CLOSED) tryAgain();
  });
}

function tryAgain(): void {
  close();
  // Says whether the session is over.
  openSession(undefined).catch(() => undefined);
  retry = setTimeout(open, RETRY_MS);
}

function close(): void {
  clearTimeout(retry);
  source?.close();
  source = undefined;
}

function onVisibility(): void {
  if (document.hidden) close();
  else open();
}

/** Keeps the stream open while the calling component is on the page. */
export function useLiveStream(): void {
  useEffect(() => {
    document.addEventListener('visibilitychange', onVisibility);
    open();
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      close();
      change(EMPTY);
    };
  }, []);
}

/** What `select` takes of the state; the component is drawn again when that changes. */
export function useLive<Value>(select: (state: LiveState) => Value): Value {
  const [value, setValue] = useState(() => select(state));
  useEffect(() => {
    const listener = (next: LiveState): void => setValue(() => select(next));
    listeners.add(listener);
    listener(state);
    return () => void listeners.delete(listener);
  }, []);
  return value;
}
