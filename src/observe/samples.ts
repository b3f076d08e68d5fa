// What the gateway did in each of the last seconds, so that a chart is full when somebody opens it. Pieces of streams are counted only
// while somebody watches; otherwise tokens are estimated from bytes, as the streams that ended had them.
import type { Clock } from '../clock.ts';
import type { FinishedTrace, Trace } from '../gateway/trace.ts';

export interface Sample {
  /** Seconds since 1970, whole. */
  at: number;
  in_flight: number;
  /** Of streams. null: no stream has ended that says how many bytes a token has. */
  tokens_per_second: number | null;
}

/** Seconds that are kept. */
const MOST_SAMPLES = 120;
/** Once so many bytes are known, older ones count half: providers and models change. */
const MOST_KNOWN = 100_000_000;

interface Samples {
  /** To be called every second, with the requests under way. */
  take(underWay: readonly Trace[]): void;
  ended(trace: FinishedTrace): void;
  /** Oldest first. */
  list(): readonly Sample[];
}

export function createSamples(clock: Clock): Samples {
  const samples: Sample[] = [];
  /** Of streams that ended. */
  const known = { bytes: 0, tokens: 0 };
  let takenAt = clock.monotonic();
  /** Tokens since the last sample of streams that ended. */
  let fresh = 0;

  /** Tokens of the bytes since the last sample; undefined: unknown. */
  function tokensOf({ streamed, progress }: Trace): number | undefined {
    if (!streamed) return 0;
    const { written, sampled, pieces, pieceBytes } = progress;
    progress.sampled = written;
    if (written === sampled) return 0;
    if (pieceBytes > 0) return ((written - sampled) * pieces) / pieceBytes;
    return known.bytes === 0 ? undefined : ((written - sampled) * known.tokens) / known.bytes;
  }

  return {
    take(underWay) {
      const now = clock.monotonic();
      const seconds = (now - takenAt) / 1000;
      takenAt = now;
      let tokens: number | undefined = fresh;
      fresh = 0;
      for (const trace of underWay) {
        const more = tokensOf(trace);
        tokens = tokens === undefined || more === undefined ? undefined : tokens + more;
      }
      samples.push({
        at: Math.floor(clock.now() / 1000),
        in_flight: underWay.length,
        tokens_per_second:
          tokens === undefined || seconds === 0 ? null : Math.round((10 * tokens) / seconds) / 10,
      });
      if (samples.length > MOST_SAMPLES) samples.shift();
    },
    ended({ streamed, progress: { written, sampled }, outcome: { usage } }) {
      if (!streamed || written === 0 || usage === undefined) return;
      fresh += (usage.output * (written - sampled)) / written;
      known.bytes += written;
      known.tokens += usage.output;
      if (known.bytes <= MOST_KNOWN) return;
      known.bytes /= 2;
      known.tokens /= 2;
    },
    list: () => samples,
  };
}

/** Of several workers: each second once, its requests and tokens together. */
export function mergeSamples(all: readonly (readonly Sample[])[]): Sample[] {
  const merged = new Map<number, Sample>();
  for (const sample of all.flat()) {
    const before = merged.get(sample.at);
    merged.set(sample.at, before === undefined ? sample : plus(before, sample));
  }
  return [...merged.values()].sort((a, b) => a.at - b.at).slice(-MOST_SAMPLES);
}

/** A worker that does not know its tokens leaves those of the others. */
function plus(a: Sample, b: Sample): Sample {
  const [one, other] = [a.tokens_per_second, b.tokens_per_second];
  return {
    at: a.at,
    in_flight: a.in_flight + b.in_flight,
    tokens_per_second: one === null ? other : other === null ? one : Math.round(10 * (one + other)) / 10,
  };
}
