// What the system says of a process and its children: processor time and resident memory. Linux's /proc, because it
// tells the same of any gateway, whatever it is written in.
import { readdirSync, readFileSync } from 'node:fs';

/** Where only ticks are known, a hundredth of a second each on every Linux. */
const TICK_US = 10_000;

/** Microseconds on a processor since the start, all threads, kernel included. */
export function cpuMicros(pid: number): number {
  return sum(tree(pid).map((each) => precise(each) ?? ticks(each)));
}

/** Microseconds since the start of the machine, of all cores. What another machine on the same hardware took is not idle. */
export function machineMicros(): { idle: number } {
  const fields = read('/proc/stat')?.split('\n', 1)[0]?.split(/ +/).slice(1) ?? [];
  // Idle, and idle while a disk is waited for.
  return { idle: (Number(fields[3] ?? 0) + Number(fields[4] ?? 0)) * TICK_US };
}

/** Resident memory in KiB. */
export function residentKib(pid: number): number {
  return sum(
    tree(pid).map((each) => Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${each}/status`) ?? '')?.[1] ?? 0)),
  );
}

/** Nanoseconds from the scheduler, of every thread; undefined where the kernel keeps none. */
function precise(pid: number): number | undefined {
  const threads = threadsOf(pid).map((thread) => read(`/proc/${pid}/task/${thread}/schedstat`));
  if (threads[0] === undefined) return undefined;
  return sum(threads.map((text) => Number(text?.split(' ')[0] ?? 0))) / 1000;
}

function ticks(pid: number): number {
  // The name in parentheses may hold spaces; user and system time are the 14th and 15th fields.
  const fields = read(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_US;
}

function tree(pid: number): number[] {
  const children = threadsOf(pid)
    .flatMap((thread) => (read(`/proc/${pid}/task/${thread}/children`) ?? '').split(' '))
    .filter((child) => child !== '');
  return [pid, ...children.flatMap((child) => tree(Number(child)))];
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Threads and processes end while they are read. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
