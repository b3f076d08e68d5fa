// The end of a request from outside, told once to everyone who asked.
import { expect, it } from 'vitest';
import { CancellationSource, cancelledAfter } from '../src/cancellation.ts';

it('tells each listener once, and keeps the first reason', () => {
  const source = new CancellationSource();
  const told: string[] = [];
  const both = ['a', 'b'].map((name) => (): void => void told.push(name));
  for (const listener of both) source.subscribe(listener);
  expect(source.reason).toBeUndefined();
  const first = new Error('first');
  source.cancel(first);
  source.cancel(new Error('second'));
  expect(told).toEqual(['a', 'b']);
  expect(source.reason).toBe(first);
});

it('does not tell who left before, nor who comes afterwards', () => {
  const source = new CancellationSource();
  const told: string[] = [];
  const early = (): void => void told.push('early');
  source.subscribe(early);
  source.unsubscribe(early);
  source.unsubscribe(early);
  source.cancel(new Error('gone'));
  source.subscribe(() => told.push('late'));
  expect(told).toEqual([]);
});

it('does not tell a listener that another one took off meanwhile', () => {
  const source = new CancellationSource();
  const told: string[] = [];
  const second = (): void => void told.push('second');
  source.subscribe(() => source.unsubscribe(second));
  source.subscribe(second);
  source.cancel(new Error('gone'));
  expect(told).toEqual([]);
});

it('ends by itself after its time, with a reason that says how long it waited', async () => {
  const cancellation = cancelledAfter(1);
  await new Promise<void>((resolve) => {
    cancellation.subscribe(resolve);
    if (cancellation.reason !== undefined) resolve();
    const alive = setInterval(() => {
      if (cancellation.reason !== undefined) clearInterval(alive);
    }, 1);
  });
  expect(cancellation.reason?.message).toBe('no answer within 1 ms');
});
