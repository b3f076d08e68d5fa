// Reads Prometheus' text format as strictly as `promtool check metrics`, and throws at the first line that breaks a rule.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface ReadMetrics {
  /** By family: its type. */
  types: ReadonlyMap<string, string>;
  samples: readonly Sample[];
  /** The value of the one sample with these labels (and perhaps others); undefined: there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined;
  /** The sum of all samples with these labels. */
  sum(name: string, labels?: Record<string, string>): number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
const TYPES = new Set(['counter', 'gauge', 'histogram', 'summary']);

export async function scrape(url: string): Promise<ReadMetrics> {
  const response = await fetch(`${url}/metrics`);
  if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
  if (response.headers.get('content-type') !== 'text/plain; version=0.0.4; charset=utf-8')
    throw new Error('another content type');
  return readMetrics(await response.text());
}

export function readMetrics(text: string): ReadMetrics {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const types = new Map<string, string>();
  const helped = new Set<string>();
  const samples: Sample[] = [];
  const seen = new Set<string>();
  const closed = new Set<string>();
  let family = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    // prom-client writes an empty line between families.
    if (line === '') continue;
    if (kind !== undefined) {
      if (!NAME.test(name)) throw new Error(`not a name: ${line}`);
      if (name !== family) {
        if (closed.has(name)) throw new Error(`a family in two places: ${line}`);
        closed.add(family);
        family = name;
      }
      if (kind === 'HELP') addOnce(helped, name, line);
      else if (types.has(name) || !TYPES.has(rest)) throw new Error(`a wrong type: ${line}`);
      else types.set(name, rest);
      continue;
    }
    const sample = readSample(line);
    if (familyOf(sample.name, types) !== family) throw new Error(`outside of its family: ${line}`);
    addOnce(seen, `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`, line);
    samples.push(sample);
  }
  for (const [name, type] of types) checkFamily(name, type, helped, samples);
  const matching = (name: string, labels: Record<string, string>): Sample[] =>
    samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
  return {
    types,
    samples,
    value(name, labels = {}) {
      const found = matching(name, labels);
      if (found.length > 1) throw new Error(`${found.length} samples of ${name} ${JSON.stringify(labels)}`);
      return found[0]?.value;
    },
    sum: (name, labels = {}) => matching(name, labels).reduce((sum, { value }) => sum + value, 0),
  };
}

function addOnce(set: Set<string>, entry: string, line: string): void {
  if (set.has(entry)) throw new Error(`a second time: ${line}`);
  set.add(entry);
}

function readSample(line: string): Sample {
  const [, name = '', , body = '', number = ''] = /^([^\s{]+)(\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (!NAME.test(name)) throw new Error(`not a sample: ${line}`);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  for (let at = 0; at < body.length; at = LABEL.lastIndex) {
    const [, label = '', value = ''] = LABEL.exec(body) ?? [];
    if (label === '' || label in labels) throw new Error(`wrong labels: ${line}`);
    labels[label] = value.replace(/\\(["\\n])/g, (_, char) => (char === 'n' ? '\n' : String(char)));
  }
  if (!/^([+-]?Inf|NaN|Nan|-?[\d.]+(e[+-]?\d+)?)$/.test(number)) throw new Error(`not a number: ${line}`);
  return { name, labels, value: Number(number.replace('Inf', 'Infinity')) };
}

function familyOf(name: string, types: ReadonlyMap<string, string>): string {
  const base = name.replace(/_(bucket|sum|count)$/, '');
  const type = types.get(base);
  return name !== base && (type === 'histogram' || type === 'summary') ? base : name;
}

/** The rules of names that promtool checks. */
function checkFamily(
  name: string,
  type: string,
  helped: ReadonlySet<string>,
  samples: readonly Sample[],
): void {
  if (!helped.has(name)) throw new Error(`${name} has no help`);
  if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`${name} is a ${type}`);
  if (/_(ms|milliseconds|micros|minutes|hours|kb|percent)(_|$)/.test(name))
    throw new Error(`${name}: its unit`);
  if (/[A-Z]|:/.test(name)) throw new Error(`${name}: not in snake case`);
  if (type === 'histogram') checkHistogram(name, samples);
}

function checkHistogram(name: string, all: readonly Sample[]): void {
  const bounds = new Map<string, { le: number; total: number }>();
  const samples = all.filter((sample) => sample.name.startsWith(name));
  for (const sample of samples) {
    const { le, ...labels } = sample.labels;
    const series = JSON.stringify(labels);
    const last = bounds.get(series);
    if (sample.name === `${name}_bucket`) {
      const bound = Number(le?.replace('Inf', 'Infinity'));
      if (!(bound > (last?.le ?? -Infinity)) || sample.value < (last?.total ?? 0))
        throw new Error(`${name}: its buckets do not ascend`);
      bounds.set(series, { le: bound, total: sample.value });
    }
    if (sample.name === `${name}_count` && (last?.le !== Infinity || last.total !== sample.value))
      throw new Error(`${name}: its count is not that of its last bucket`);
  }
  // prom-client writes the head of a family without samples: no garbage was collected yet.
  if (bounds.size === 0 && samples.length > 0) throw new Error(`${name} has no buckets`);
}
