// What comes together is done together: by whoever calls in two turns of the event loop; what is alone is done at once.
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGathering } from '../src/gathering.ts';

/** Time stands still where a test does not move it on. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

function gatherer(): { add: (item: string) => void; batches: string[] } {
  const batches: string[] = [];
  let items = '';
  const gather = createGathering(() => {
    const { length } = items;
    batches.push(items);
    items = '';
    return length;
  });
  return {
    batches,
    add(item) {
      items += item;
      gather();
    },
  };
}

async function twoTurns(): Promise<void> {
  await turn();
  await turn();
}

describe('a gathering', () => {
  it('does at once what is alone', () => {
    const { add, batches } = gatherer();
    vi.advanceTimersByTime(1);
    add('a');
    expect(batches).toEqual(['a']);
    vi.advanceTimersByTime(1);
    add('b');
    expect(batches).toEqual(['a', 'b']);
  });

  it('does together what follows closely, in the same turn and in the next', async () => {
    const { add, batches } = gatherer();
    vi.advanceTimersByTime(1);
    add('a');
    add('b');
    add('c');
    await turn();
    add('d');
    expect(batches).toEqual(['a']);
    await turn();
    expect(batches).toEqual(['a', 'bcd']);
    await twoTurns();
    expect(batches).toEqual(['a', 'bcd']);
  });

  it('waits where there were several the last time, until one was alone again', async () => {
    const { add, batches } = gatherer();
    add('a');
    add('b');
    await twoTurns();
    expect(batches).toEqual(['ab']);
    vi.advanceTimersByTime(1);
    add('c');
    expect(batches).toEqual(['ab']);
    await twoTurns();
    expect(batches).toEqual(['ab', 'c']);
    vi.advanceTimersByTime(1);
    add('d');
    expect(batches).toEqual(['ab', 'c', 'd']);
  });

  it('waits for no other after a turn that was long', async () => {
    const { add, batches } = gatherer();
    add('a');
    vi.advanceTimersByTime(5);
    await turn();
    expect(batches).toEqual(['a']);
  });

  it('may be called for again by what it runs', async () => {
    let runs = 0;
    const gather = createGathering(() => {
      if (++runs === 1) gather();
      return 1;
    });
    gather();
    await twoTurns();
    await twoTurns();
    expect(runs).toBe(2);
  });
});
