// The stub's clock in the text of a frame: how long after it was written did it come? All processes of a machine share that clock.

const DIGITS = 16;
/** A place in a text for the microseconds of the clock. */
export const MARK = `@${'0'.repeat(DIGITS)}`;

const MARKS = /@(\d{16})/g;

/** In microseconds, the same for all processes of the machine. */
export function clockMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** A copy with the first marks replaced by these times. */
export function stamped(bytes: Buffer, times: readonly number[]): Buffer {
  const copy = Buffer.from(bytes);
  let at = 0;
  for (const time of times) {
    at = copy.indexOf(MARK, at, 'latin1');
    if (at < 0) break;
    copy.write(String(time).padStart(DIGITS, '0'), at + 1, 'latin1');
    at += MARK.length;
  }
  return copy;
}

/** The times in a text; marks without one are left out. */
export function timesIn(text: string): number[] {
  return [...text.matchAll(MARKS)].map(([, digits]) => Number(digits)).filter((time) => time > 0);
}

export function withoutTimes(text: string): string {
  return text.replaceAll(MARKS, MARK);
}
