// The same protocol on both sides: frames and bodies go on as they came; only usage, the finish and errors are looked at.
import type { Usage } from '../../canonical/usage.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import type { Frame, Run } from '../../protocols/sse/splitter.ts';
import { TRUNCATED, type PumpStep, type FrameWriter } from './pump.ts';

const NOTHING = Buffer.alloc(0);

export function createRelay(protocol: Protocol, usageAsked: boolean): FrameWriter {
  const watch = protocol.relay.createWatch({ usageAsked });
  let usage: Usage | undefined;
  let stopped = false;

  /** One frame goes out as it is; several in one write. */
  function joined(kept: readonly Frame[]): Buffer {
    const [only] = kept;
    if (only === undefined) return NOTHING;
    return kept.length === 1 ? only.bytes : Buffer.concat(kept.map(({ bytes }) => bytes));
  }

  function move(frames: readonly Frame[]): PumpStep {
    const kept: Frame[] = [];
    for (const frame of frames) {
      const seen = watch(frame);
      if (seen.usage !== undefined) usage = seen.usage;
      if (seen.stopped === true) stopped = true;
      if (seen.failure !== undefined) return { bytes: joined(kept), failure: seen.failure };
      if (seen.drop !== true) kept.push(frame);
      if (seen.terminal === true) return { bytes: joined(kept), complete: true };
    }
    return { bytes: joined(kept) };
  }

  return {
    move,
    /** Nearly always nothing in it matters, and it goes on as the Buffer that came: 0.5 us in place of 5 for eight frames. */
    moveRun: (run: Run) => (protocol.relay.isQuiet(run.text) ? { bytes: run.bytes } : move(run.frames())),
    finish: (clean) =>
      clean && stopped ? { bytes: NOTHING, complete: true } : { bytes: NOTHING, failure: TRUNCATED },
    usage: () => usage,
  };
}
