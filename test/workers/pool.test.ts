// Which workers there are: after crashes, while they are replaced, and at the end. Processes are promises here, and time is moved by hand.
import { describe, expect, it } from 'vitest';
import { createPool, pauseAfter, type Exit, type Launched } from '../../src/workers/pool.ts';
import type { Logger } from '../../src/log.ts';
import { manualClock } from '../helpers/clock.ts';

interface Fake extends Launched<string> {
  number: number;
  leads: boolean;
  stops: string[];
  killed: boolean;
  hangs: boolean;
  /** It had been busy. */
  answerLate(): void;
  serve(): void;
  fail(reason: string): void;
  end(exit?: Exit): void;
}

function fake(number: number, leads: boolean, pid: number): Fake {
  let settle: { resolve: (value: string) => void; reject: (error: Error) => void };
  const ready = new Promise<string>((resolve, reject) => {
    settle = { resolve, reject };
  });
  ready.catch(() => undefined);
  let end: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((resolve) => {
    end = resolve;
  });
  let answer = (): void => undefined;
  const made: Fake = {
    number,
    pid,
    leads,
    ready,
    exited,
    stops: [],
    killed: false,
    hangs: false,
    serve: () => settle.resolve('ready'),
    fail: (reason) => settle.reject(new Error(reason)),
    end(exit = { code: null, signal: 'SIGKILL' }) {
      settle.reject(new Error('ended'));
      end(exit);
    },
    stop: async (how) => void made.stops.push(how),
    lead() {
      made.leads = true;
    },
    beat: () => (made.hangs ? new Promise<void>((resolve) => (answer = resolve)) : Promise.resolve()),
    answerLate() {
      made.hangs = false;
      answer();
    },
    kill() {
      made.killed = true;
      made.end();
    },
  };
  return made;
}

const END_MS = 5000;

function setUp(count = 2, endMs = END_MS) {
  const clock = manualClock();
  const launched: Fake[] = [];
  const records: { message: string; fields: object | undefined }[] = [];
  const write = (message: string, fields?: object): void => void records.push({ message, fields });
  const log: Logger = { info: write, warn: write, error: write, flush: () => undefined };
  const pool = createPool<string, Fake>({
    count,
    launch(number, leads) {
      const made = fake(number, leads, 100 + launched.length);
      launched.push(made);
      return made;
    },
    endMs: () => endMs,
    clock,
    log,
  });
  return { clock, launched, records, pool };
}

async function started(count = 2, endMs = END_MS) {
  const parts = setUp(count, endMs);
  const start = parts.pool.start();
  for (const worker of parts.launched) worker.serve();
  await start;
  return parts;
}

/** Lets promises run on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const states = ({ pool }: ReturnType<typeof setUp>): string[] =>
  pool.members.map(({ number, state, process: { pid } }) => `${number} ${state} ${pid}`);

describe('the start', () => {
  it('is over when all serve, and the first leads', async () => {
    const parts = await started();
    expect(states(parts)).toEqual(['1 serving 100', '2 serving 101']);
    expect(parts.launched.map(({ leads }) => leads)).toEqual([true, false]);
  });

  it('fails with the reason of the worker that cannot serve, and leaves none', async () => {
    const { pool, launched } = setUp();
    const start = pool.start();
    launched[0]?.serve();
    launched[1]?.fail('the port is in use');
    await expect(start).rejects.toThrow('the port is in use');
    expect(launched.map(({ killed }) => killed)).toEqual([true, true]);
    expect(pool.members).toEqual([]);
  });
});

const isEnd = ({ message }: { message: string }): boolean => message.startsWith('a worker ended');

describe('a worker that ends', () => {
  it('is started again at once, and another one leads meanwhile', async () => {
    const parts = await started();
    parts.launched[0]?.end();
    await settled();
    expect(states(parts)).toEqual(['2 serving 101', '1 starting 102']);
    expect(parts.pool.leader?.number).toBe(2);
    expect(parts.launched[1]?.leads).toBe(true);
    expect(parts.records).toEqual([
      {
        message: 'a worker ended: it is started again',
        fields: { worker: 1, pid: 100, signal: 'SIGKILL', pause_ms: 0 },
      },
    ]);
  });

  it('is started again after a growing pause when it ends soon, again and again', async () => {
    const { clock, launched, records } = await started();
    for (const pause of [0, 1000, 2000, 4000]) {
      launched.findLast(({ number }) => number === 1)?.end({ code: 1, signal: null });
      await settled();
      expect(records.findLast(isEnd)?.fields).toMatchObject({ code: 1, pause_ms: pause });
      const before = launched.length;
      if (pause > 0) {
        clock.advance(pause - 1);
        expect(launched).toHaveLength(before);
        clock.advance(1);
      }
      expect(launched).toHaveLength(pause > 0 ? before + 1 : before);
    }
  });

  it('has no pause after it served for a while', async () => {
    const { clock, launched, records } = await started();
    for (let round = 0; round < 3; round += 1) {
      const worker = launched.findLast(({ number }) => number === 1);
      worker?.serve();
      await settled();
      clock.advance(10_000);
      worker?.end();
      await settled();
      expect(records.findLast(isEnd)?.fields).toMatchObject({ pause_ms: 0 });
    }
  });

  it('waits 30 s at most', () => {
    expect([1, 2, 3, 6, 7, 100].map(pauseAfter)).toEqual([0, 1000, 2000, 16_000, 30_000, 30_000]);
  });
});

describe('replacing all', () => {
  it('ends an old worker only after the new one serves, one after the other', async () => {
    const parts = await started();
    const { launched, pool } = parts;
    const replaced = pool.replaceAll();
    await settled();
    expect(launched).toHaveLength(3);
    expect(launched[0]?.stops).toEqual([]);
    launched[2]?.serve();
    await settled();
    expect(launched[0]?.stops).toEqual(['retire']);
    expect(launched).toHaveLength(4);
    expect(pool.isReplacing).toBe(true);
    launched[3]?.serve();
    expect(await replaced).toBeUndefined();
    expect(states(parts)).toEqual(['1 stopping 100', '2 stopping 101', '1 serving 102', '2 serving 103']);
    expect([pool.isReplacing, pool.leader?.process.pid]).toEqual([false, 102]);
    launched[0]?.end({ code: 0, signal: null });
    await settled();
    expect([launched.length, parts.records]).toEqual([4, []]);
  });

  it('stops at a new worker that does not serve: the old ones stay', async () => {
    const parts = await started();
    const replaced = parts.pool.replaceAll();
    await settled();
    parts.launched[2]?.fail('the database is damaged');
    expect(await replaced).toBe('the database is damaged');
    await settled();
    expect(states(parts)).toEqual(['1 serving 100', '2 serving 101']);
    expect(parts.launched.map(({ stops }) => stops)).toEqual([[], [], []]);
  });
});

it('the end waits for every worker, and starts none again', async () => {
  const { launched, pool } = await started();
  let isOver = false;
  const stop = pool.stop().then(() => {
    isOver = true;
  });
  expect(launched.map(({ stops }) => stops)).toEqual([['stop'], ['stop']]);
  launched[0]?.end({ code: 0, signal: null });
  await settled();
  expect(isOver).toBe(false);
  launched[1]?.end({ code: 0, signal: null });
  await stop;
  expect(launched).toHaveLength(2);
});

describe('a worker that hangs', () => {
  it('is killed at the end, after the time that it has for its requests', async () => {
    const { pool, launched, clock, records } = await started();
    const [first, second] = launched;
    const end = pool.stop();
    first?.end({ code: 0, signal: null });
    await settled();
    clock.advance(END_MS - 1);
    expect(second?.killed).toBe(false);
    clock.advance(1);
    expect(second?.killed).toBe(true);
    await end;
    expect(first?.killed).toBe(false);
    expect(records.map(({ message }) => message)).toEqual(['a worker did not end in time: it is killed']);
  });

  it('is killed after a new one took its place', async () => {
    const { pool, launched, clock } = await started(1);
    const replaced = pool.replaceAll();
    await settled();
    launched[1]?.serve();
    expect(await replaced).toBeUndefined();
    clock.advance(END_MS);
    await settled();
    expect(launched[0]?.killed).toBe(true);
    expect(pool.members.map(({ process }) => process)).toEqual([launched[1]]);
  });
});

describe('a worker that does not answer its heartbeat', () => {
  const BEATS = 11;
  const beats = async (clock: ReturnType<typeof manualClock>, count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      clock.advance(1000);
      await settled();
    }
  };

  it('is killed and started again; one that answers late is not', async () => {
    const parts = await started();
    const [first, second] = parts.launched;
    for (let round = 0; round < 3; round += 1) {
      if (second !== undefined) second.hangs = true;
      await beats(parts.clock, BEATS - 2);
      second?.answerLate();
      await settled();
    }
    if (first !== undefined) first.hangs = true;
    await beats(parts.clock, BEATS);
    expect([first?.killed, second?.killed]).toEqual([true, false]);
    expect(parts.records.map(({ message, fields }) => [message, fields])).toEqual([
      ['a worker hangs: it is ended', { worker: 1, pid: 100, silent_ms: 10_000 }],
      ['a worker ended: it is started again', { worker: 1, pid: 100, signal: 'SIGKILL', pause_ms: 0 }],
    ]);
    expect(states(parts)).toEqual(['2 serving 101', '1 starting 102']);
  });

  it('is not killed because the machine slept', async () => {
    const { clock, launched } = await started(1);
    const [worker] = launched;
    if (worker !== undefined) worker.hangs = true;
    clock.advance(1000);
    for (let night = 0; night < 5; night += 1) clock.sleep(8 * 3_600_000);
    expect(worker?.killed).toBe(false);
  });

  it('is killed while it ends its requests, too, and not started again', async () => {
    const parts = await started(1, 60_000);
    const replaced = parts.pool.replaceAll();
    await settled();
    parts.launched[1]?.serve();
    await replaced;
    const [old] = parts.launched;
    if (old !== undefined) old.hangs = true;
    await beats(parts.clock, BEATS - 1);
    expect(old?.killed).toBe(false);
    await beats(parts.clock, 1);
    expect(old?.killed).toBe(true);
    expect(states(parts)).toEqual(['1 serving 101']);
  });
});

describe('a worker that hangs in its start', () => {
  const START_MS = 30_000;
  const REASON = 'a worker does not serve 30 s after its start: it is killed';

  it('fails the start of the gateway', async () => {
    const { pool, launched, clock } = setUp();
    const start = pool.start();
    launched[0]?.serve();
    const outcome = expect(start).rejects.toThrow(REASON);
    clock.advance(START_MS);
    await outcome;
    expect(pool.members).toEqual([]);
  });

  it('ends a reload with the reason, and the old worker stays', async () => {
    const parts = await started(1);
    const { pool, launched, clock } = parts;
    const replaced = pool.replaceAll();
    await settled();
    // The old worker answers meanwhile.
    for (let at = 1000; at < START_MS; at += 1000) {
      clock.advance(1000);
      await settled();
    }
    clock.advance(999);
    expect([launched[1]?.killed, pool.isReplacing]).toEqual([false, true]);
    clock.advance(1);
    expect(await replaced).toBe(REASON);
    await settled();
    expect([launched[1]?.killed, launched[0]?.stops, pool.isReplacing]).toEqual([true, [], false]);
    expect(states(parts)).toEqual(['1 serving 100']);
    const again = pool.replaceAll();
    await settled();
    launched[2]?.serve();
    expect(await again).toBeUndefined();
  });

  it('is killed and started again after a growing pause: the time of its start is no service', async () => {
    const { launched, clock, records } = await started(1);
    launched[0]?.end();
    await settled();
    for (const pause of [1000, 2000]) {
      const worker = launched.at(-1);
      clock.advance(START_MS);
      await settled();
      expect(worker?.killed).toBe(true);
      expect(records.slice(-2)).toMatchObject([
        { message: 'a worker does not start', fields: { worker: 1, reason: REASON } },
        { message: 'a worker ended: it is started again', fields: { pause_ms: pause } },
      ]);
      clock.advance(pause);
      expect(launched.at(-1)).not.toBe(worker);
    }
  });
});

it('many orders to replace the workers are two at most: the one under way, and one for all others', async () => {
  const { pool, launched } = await started(1);
  const replaced = pool.replaceAll();
  await settled();
  const others = Array.from({ length: 100 }, () => pool.replaceAll());
  launched[1]?.serve();
  await replaced;
  await settled();
  launched[2]?.serve();
  expect(await Promise.all(others)).toEqual(others.map(() => undefined));
  expect(launched).toHaveLength(3);
  expect(pool.isReplacing).toBe(false);
});
