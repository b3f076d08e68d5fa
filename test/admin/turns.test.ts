// Whose report is made next: programs with a token stand in line, the page goes before them.
import { expect, it } from 'vitest';
import type { Session } from '../../src/admin/sessions.ts';
import { createTurns, type Asker, type Turns } from '../../src/admin/turns.ts';
import { CancellationSource, NEVER_CANCELLED, type Cancellation } from '../../src/cancellation.ts';
import { gate } from '../helpers/scripted-provider.ts';

const token = (id: string): Asker => ({ id, session: undefined });
const PAGE: Asker = { id: 'ses_owner', session: {} as Session };

/** Reports that end when the test says so. */
function reports(turns: Turns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    ask: (name: string, asker: Asker, cancellation: Cancellation = NEVER_CANCELLED): Promise<string> => {
      const held = gate();
      ends.set(name, () => held.open());
      return turns.take(asker, cancellation, async () => {
        begun.push(name);
        await held.opened;
        return name;
      });
    },
    end: (name: string): void => ends.get(name)?.(),
  };
}

it('P36: one report is made at a time, the page waits for one report of others, whatever stands in line', async () => {
  const { ask, begun, end } = reports(createTurns());
  const first = ask('a1', token('a'));
  const [second, third] = [ask('a2', token('a')), ask('b1', token('b'))];
  const [pageFirst, pageSecond] = [ask('page1', PAGE), ask('page2', PAGE)];
  end('a1');
  expect(await first).toBe('a1');
  end('page1');
  expect(await pageFirst).toBe('page1');
  end('page2');
  expect(await pageSecond).toBe('page2');
  end('a2');
  expect(await second).toBe('a2');
  end('b1');
  expect(await third).toBe('b1');
  expect(begun).toEqual(['a1', 'page1', 'page2', 'a2', 'b1']);
});

it('P36: a token has two reports at most: a third is refused at once, and one that ended makes room', async () => {
  const { ask, begun, end } = reports(createTurns());
  const first = ask('a1', token('a'));
  const second = ask('a2', token('a'));
  await expect(ask('a3', token('a'))).rejects.toMatchObject({ status: 429, code: 'too_many_reports' });
  const other = ask('b1', token('b'));
  end('a1');
  await first;
  const fourth = ask('a4', token('a'));
  await expect(ask('a5', token('a'))).rejects.toMatchObject({ status: 429 });
  for (const name of ['a2', 'b1', 'a4']) end(name);
  await Promise.all([second, other, fourth]);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a4']);
});

it('who leaves the line makes room, and a report that fails gives its turn on', async () => {
  const turns = createTurns();
  const { ask, begun, end } = reports(turns);
  const leaving = new CancellationSource();
  const failed = turns.take(token('a'), NEVER_CANCELLED, () => Promise.reject(new Error('no database')));
  const waiting = ask('a2', token('a'), leaving);
  leaving.cancel(new Error('the client left'));
  await expect(waiting).rejects.toThrow('the client left');
  await expect(failed).rejects.toThrow('no database');
  await expect(ask('a3', token('a'), leaving)).rejects.toThrow('the client left');
  end('a4');
  const fourth = ask('a4', token('a'));
  end('a4');
  expect(await fourth).toBe('a4');
  expect(begun).toEqual(['a4']);
});
