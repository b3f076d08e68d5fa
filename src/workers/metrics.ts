// The metrics of all workers as one page. Prometheus needs each worker's counters as series of their own, so each sample gets the label
// `worker`. A counter never falls: what a worker counted until it ended stays in the counters of its number.

interface Metrics {
  /** Adds a page of a process. Of processes with one number, the newest comes last. */
  add(worker: number, pid: number, page: string): void;
  /** To be called when a process has ended. `page`: its last one, or empty. */
  ended(worker: number, pid: number, page: string): void;
  /** The page of all workers. */
  read(): string;
}

type Samples = Map<string, number>;

interface Page {
  worker: number;
  counters: Samples;
  gauges: Samples;
}

interface Family {
  head: string[];
  /** Of all workers, without their label, in the order of their first appearance. */
  samples: Set<string>;
}

export function createMetrics(): Metrics {
  const families = new Map<string, Family>();
  const pages = new Map<number, Page>();
  const left = new Map<number, Samples>();

  function parse(worker: number, text: string): Page {
    const page: Page = { worker, counters: new Map(), gauges: new Map() };
    let family: Family = { head: [], samples: new Set() };
    let values = page.gauges;
    for (const line of text.split('\n')) {
      const [, kind, name = '', rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
      if (kind !== undefined) {
        family = families.get(name) ?? { head: [], samples: new Set() };
        families.set(name, family);
        if (!family.head.includes(line)) family.head.push(line);
        if (kind === 'TYPE') values = rest === 'gauge' ? page.gauges : page.counters;
      } else if (line !== '' && !line.startsWith('#')) {
        // A value of a label can hold a space.
        const end = line.lastIndexOf(' ');
        const sample = line.slice(0, end);
        family.samples.add(sample);
        values.set(sample, Number(line.slice(end + 1)));
      }
    }
    return page;
  }

  function valueOf(sample: string, worker: number): number | undefined {
    let value = left.get(worker)?.get(sample);
    for (const page of pages.values()) {
      if (page.worker !== worker) continue;
      const count = page.counters.get(sample);
      if (count !== undefined) value = (value ?? 0) + count;
      // While a worker is replaced, the gauge of the new one counts.
      else value = page.gauges.get(sample) ?? value;
    }
    return value;
  }

  return {
    add: (worker, pid, page) => void pages.set(pid, parse(worker, page)),
    ended(worker, pid, page) {
      const last = page === '' ? pages.get(pid) : parse(worker, page);
      pages.delete(pid);
      const sums = left.get(worker) ?? new Map<string, number>();
      for (const [sample, count] of last?.counters ?? []) sums.set(sample, (sums.get(sample) ?? 0) + count);
      left.set(worker, sums);
    },
    read() {
      const workers = [...new Set([...left.keys(), ...[...pages.values()].map(({ worker }) => worker)])];
      workers.sort((a, b) => a - b);
      const lines = [...families.values()].flatMap(({ head, samples }) => {
        const rows = workers.flatMap((worker) =>
          [...samples].flatMap((sample) => {
            const value = valueOf(sample, worker);
            return value === undefined ? [] : [`${labelled(sample, worker)} ${value}`];
          }),
        );
        return rows.length === 0 ? [] : [...head, ...rows];
      });
      return lines.map((line) => `${line}\n`).join('');
    },
  };
}

/** A name cannot hold `{`. */
function labelled(sample: string, worker: number): string {
  const [, name = '', rest = ''] = /^([^{]+)(.*)$/.exec(sample) ?? [];
  const label = `worker="${worker}"`;
  return rest === '' || rest === '{}' ? `${name}{${label}}` : `${name}{${label},${rest.slice(1)}`;
}
