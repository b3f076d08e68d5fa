// Work in the background takes the lock of SQLite in short steps, with pauses in which others write.
import { expect, it } from 'vitest';
import { createPace, inSteps } from '../../src/store/sqlite/background.ts';
import { StoreError } from '../../src/store/store.ts';

/** A connection on which each row takes so many milliseconds. */
function slowConnection(rows: number, msOfRow: () => number) {
  let time = 0;
  let left = rows;
  const steps: number[] = [];
  const pauses: number[] = [];
  const connection = {
    closed: false,
    isWaitedFor: false,
    runOnce: <Result>(task: (statements: object, db: never) => Result): Promise<Result> =>
      new Promise((resolve) => resolve(task({}, undefined as never))),
  };
  const timing = {
    now: () => time,
    pause: (ms: number) => {
      pauses.push(ms);
      time += ms;
      return Promise.resolve();
    },
  };
  const step = (_: object, most: number): boolean => {
    const done = Math.min(most, left);
    left -= done;
    time += done * msOfRow();
    steps.push(done);
    return done === most;
  };
  return { connection, timing, step, steps, pauses, left: () => left };
}

it.each([0.001, 0.01, 0.1, 1])(
  'P42: steps of rows that take %s ms last for milliseconds',
  async (msOfRow) => {
    const { connection, timing, step, steps, pauses, left } = slowConnection(20_000, () => msOfRow);
    await inSteps(connection, step, 64, timing);
    expect(left()).toBe(0);
    expect(Math.max(...steps.slice(1)) * msOfRow).toBeLessThanOrEqual(16);
    // Fewer steps than rows: a quick step grows.
    expect(steps.length).toBeLessThanOrEqual(Math.max(20, (20_000 * msOfRow) / 4));
    expect(pauses).toHaveLength(steps.length - 1);
  },
);

it('P42: a pause lasts as long as the step before it, and a step that was too long is followed by a smaller one', async () => {
  let slow = 1;
  const { connection, timing, step, steps, pauses } = slowConnection(1000, () => slow);
  await inSteps(
    connection,
    (statements, most) => {
      slow = steps.length === 1 ? 10 : 0.05;
      return step(statements, most);
    },
    10,
    timing,
  );
  expect(pauses[0]).toBe(15);
  expect(pauses[1]).toBe((steps[1] ?? 0) * 10);
  expect(steps[2]).toBeLessThan(steps[1] ?? 0);
});

it('P42: no step begins while a task of this process waits, or another process has the lock', async () => {
  const { connection, timing, step, steps, pauses } = slowConnection(10, () => 1);
  connection.isWaitedFor = true;
  const pause = timing.pause;
  let locked = 0;
  timing.pause = (ms) => {
    if (pauses.length === 2) connection.isWaitedFor = false;
    return pause(ms);
  };
  const runOnce = connection.runOnce;
  connection.runOnce = (task) => {
    locked += 1;
    return locked < 3 ? Promise.reject(new StoreError('busy', 'locked')) : runOnce(task);
  };
  await inSteps(connection, step, 64, timing);
  expect(steps).toEqual([10]);
  expect(pauses).toEqual([15, 15, 15, 15, 15]);
});

it('work that finds the database locked for two seconds fails, and other errors end it at once', async () => {
  const { connection, timing, step, pauses } = slowConnection(10, () => 1);
  connection.runOnce = () => Promise.reject(new StoreError('busy', 'locked'));
  await expect(inSteps(connection, step, 64, timing)).rejects.toMatchObject({ kind: 'busy' });
  expect(pauses.length).toBeGreaterThan(100);
  connection.runOnce = () => Promise.reject(new StoreError('unavailable', 'full'));
  await expect(inSteps(connection, step, 64, timing)).rejects.toMatchObject({ kind: 'unavailable' });
});

it('a connection that is closed ends the work', async () => {
  const { connection, timing, step, steps } = slowConnection(1e9, () => 1);
  const pause = timing.pause;
  timing.pause = (ms) => {
    connection.closed = steps.length > 3;
    return pause(ms);
  };
  await inSteps(connection, step, 64, timing);
  expect(steps).toHaveLength(4);
});

it('P42: batches that follow each other at once have pauses, and short ones none', async () => {
  let time = 0;
  let long = 20;
  const pauses: number[] = [];
  const timing = {
    now: () => time,
    pause: (ms: number) => {
      pauses.push(ms);
      time += ms;
      return Promise.resolve();
    },
  };
  const run = <Result>(task: (statements: object, db: never) => Result): Promise<Result> =>
    Promise.resolve(task({}, undefined as never));
  const inPace = createPace<object>({ run }, timing);
  const write = (): void => void (time += long);
  await inPace(write);
  await inPace(write);
  expect(pauses).toEqual([20]);
  long = 5;
  await inPace(write);
  await inPace(write);
  expect(pauses).toEqual([20, 20, 15]);
  long = 1;
  time += 100;
  await inPace(write);
  await inPace(write);
  expect(pauses).toEqual([20, 20, 15]);
});
