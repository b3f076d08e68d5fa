// Results of the legacy role `function` name no call but a function: which call each of them answers.

/** The calls of one name in one turn, in their order. */
interface Turn {
  at: number;
  ids: string[];
  /** How many of them a result was bound to, or passed over. */
  next: number;
}

export interface LegacyResults {
  /** An id for a legacy call, which has none: made by count, so that the same history gives the same ids. */
  nextId(): string;
  /** `at`: the place of the call's message. */
  called(name: string, id: string, at: number): void;
  /** A result that names its call. */
  answered(id: string): void;
  /** The call that a result for `name` belongs to: the nearest that waits for one, else the nearest, else none that was made. */
  idFor(name: string): string;
}

export function createLegacyResults(): LegacyResults {
  let count = 0;
  /** The turns that called a name and wait for results, the newest last. */
  const open = new Map<string, Turn[]>();
  const newest = new Map<string, string>();
  const done = new Set<string>();

  function nextId(): string {
    count += 1;
    return `call_fn_${count}`;
  }

  function waiting(name: string): string | undefined {
    const turns = open.get(name) ?? [];
    for (let turn = turns.at(-1); turn !== undefined; turn = turns.at(-1)) {
      const id = turn.ids[turn.next++];
      if (id === undefined) turns.pop();
      else if (!done.has(id)) return id;
    }
    return undefined;
  }

  return {
    nextId,
    called(name, id, at) {
      newest.set(name, id);
      // Some models count their ids anew in every turn.
      done.delete(id);
      let turns = open.get(name);
      if (turns === undefined) open.set(name, (turns = []));
      const last = turns.at(-1);
      if (last?.at === at) last.ids.push(id);
      else turns.push({ at, ids: [id], next: 0 });
    },
    answered: (id) => void done.add(id),
    idFor(name) {
      const id = waiting(name) ?? newest.get(name) ?? nextId();
      done.add(id);
      return id;
    },
  };
}
