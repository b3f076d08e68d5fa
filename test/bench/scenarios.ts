// What is measured, and how much it may cost: rows of data. PERFORMANCE's release gates stand here.
import type { Size } from './bodies.ts';
import { PACES, type Kind, type Wire } from './replies.ts';
import type { TargetName } from './targets.ts';

export interface Gate {
  /** A ratio to a reference's median, or to nothing: then the limits are the row's own unit. */
  against: TargetName | null;
  release: number;
  /** What we are out for. */
  goal: number;
  /** The figure must be so high at least. */
  least?: boolean;
}

/** Processor time of one request, or of one text frame of a stream. */
export interface Scenario {
  id: string;
  client: Wire;
  provider: Wire;
  size: Size;
  kind: Kind;
  connections: number;
  gate: Gate;
}

interface Family {
  name: string;
  size: Size;
  kind: Kind;
  connections: number;
  routes: readonly Route[];
  relayed: Gate;
  translated?: Gate;
}

type Route = readonly [client: Wire, provider: Wire];

/** Those of one client follow each other. */
const ALL: readonly Route[] = [
  ['chat', 'chat'],
  ['chat', 'messages'],
  ['chat', 'responses'],
  ['messages', 'messages'],
  ['messages', 'chat'],
  ['responses', 'responses'],
  ['responses', 'chat'],
  ['responses', 'messages'],
];
const FIRST_TWO = ALL.filter((route) => !route.includes('responses'));
const RELAYED = FIRST_TWO.filter(([client, provider]) => client === provider);

const to =
  (against: Gate['against']) =>
  (release: number, goal: number): Gate => ({ against, release, goal });
const bare = to('bare');
const floor = to('floor');
const absolute = to(null);

const FAMILIES: readonly Family[] = [
  {
    name: 'small',
    size: 'small',
    kind: 'whole',
    connections: 16,
    routes: ALL,
    relayed: bare(1.5, 1.1),
    translated: bare(1.8, 1.3),
  },
  {
    name: 'paced',
    size: 'small',
    kind: 'paced',
    connections: 24,
    routes: ALL,
    relayed: bare(1.2, 1.05),
    translated: bare(1.5, 1.25),
  },
  {
    name: 'burst',
    size: 'small',
    kind: 'burst',
    connections: 24,
    routes: FIRST_TWO,
    relayed: bare(1.2, 1.05),
    translated: bare(2, 1.4),
  },
  {
    name: 'agent',
    size: 'agent',
    kind: 'whole',
    connections: 4,
    routes: FIRST_TWO,
    relayed: floor(1.2, 0.5),
    translated: floor(1.5, 1.1),
  },
  {
    name: 'image',
    size: 'image',
    kind: 'whole',
    connections: 4,
    routes: RELAYED,
    relayed: floor(1.1, 0.4),
  },
];

/** `small chat`, `small chat to messages`, … */
export const SCENARIOS: readonly Scenario[] = FAMILIES.flatMap(
  ({ name, routes, relayed, translated = relayed, ...workload }) =>
    routes.map(([client, provider]) => {
      const isRelayed = client === provider;
      const id = isRelayed ? `${name} ${client}` : `${name} ${client} to ${provider}`;
      return { id, client, provider, gate: isRelayed ? relayed : translated, ...workload };
    }),
);

/** Small requests of a gateway in two forms, which take turns. */
export interface Comparison {
  id: string;
  /** The last is the subject. */
  targets: readonly TargetName[];
  gate: Gate;
  /** `compared` without it. */
  rounds?: 'comparedLong' | 'comparedOften';
  connections: number;
}

export const COMPARISONS: readonly Comparison[] = [
  {
    id: 'postgres small chat',
    targets: ['bare', 'gateway', 'postgres'],
    gate: to('gateway')(1.6, 1.3),
    connections: 16,
  },
  {
    id: 'postgres busy chat',
    targets: ['bare', 'gateway', 'postgres'],
    gate: to('gateway')(1.6, 1.3),
    connections: 64,
  },
  {
    id: 'observed small chat',
    targets: ['gateway', 'observed'],
    gate: to('gateway')(1.03, 1.01),
    rounds: 'comparedOften',
    connections: 16,
  },
];

/** Two workers beside one, on all cores. */
export const WORKERS = {
  cost: {
    id: 'workers small chat',
    targets: ['one worker', 'two workers'],
    gate: to('one worker')(1.2, 1.05),
    rounds: 'comparedLong',
    connections: 128,
  } satisfies Comparison,
  throughput: {
    id: 'workers throughput',
    unit: 'of the ceiling',
    gate: { ...absolute(0.9, 1), least: true },
  },
};

/** Rows that are not processor time. */
export const OTHER_ROWS = {
  latency: { unit: 'µs added, p50 at 100/s', gate: bare(1.5, 1.1) },
  latencyTail: { unit: 'µs added, p99 at 100/s' },
  /** What PostgreSQL adds to the latency of SQLite, in commits of one row at the same rate. */
  commits: { unit: 'commits of latency', gate: absolute(1.5, 1) },
  streams: { unit: 'KiB a slow stream', gate: absolute(70, 50) },
  start: { unit: 'ms to the first 200', gate: absolute(300, 200) },
  idle: { unit: 'MiB when idle', gate: absolute(90, 75) },
  loaded: { unit: 'MiB at most during requests' },
  steady: { unit: 'MiB after requests' },
  rate: { unit: 'requests/s, p99 < 20 ms' },
  firstText: { unit: 'µs added to the first text', gate: bare(2.5, 1.5) },
  laterText: { unit: 'µs added to a later text' },
  besideBursts: { unit: 'ms to the first text beside 50 bursts', gate: bare(6, 2) },
} as const;

export function unitOf({ kind }: Scenario): string {
  return kind === 'whole' ? 'µs a request' : 'µs a chunk';
}

/** How many units an answer is. */
export function unitsOf(kind: Kind): number {
  return kind === 'whole' ? 1 : PACES[kind].chunks;
}
