// Which files of `src` the built gateway runs through between two moments: V8's precise coverage, taken in the gateway's process.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { home, type Home, type Server } from './process.ts';

/** Runs in the gateway's process: a signal writes what ran since the signal before. */
const PROBE = `
import { Session } from 'node:inspector';
import { renameSync, writeFileSync } from 'node:fs';
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
process.on('SIGWINCH', () => {
  session.post('Profiler.takePreciseCoverage', (_, { result }) => {
    const scripts = result.filter(({ url }) => url.includes('/dist/cli/'));
    writeFileSync(process.env.COVERAGE_FILE + '.part', JSON.stringify(scripts));
    renameSync(process.env.COVERAGE_FILE + '.part', process.env.COVERAGE_FILE);
  });
});`;

interface Script {
  url: string;
  functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[];
}

/** Names of the functions that ran, by the path of their file. */
export type FilesRun = ReadonlyMap<string, readonly string[]>;

export interface CoveredGateway {
  shell: Home;
  server: Server;
  /** What ran since the last call. */
  filesRun: () => Promise<FilesRun>;
}

export async function coveredGateway(config: object): Promise<CoveredGateway> {
  const environment: Record<string, string> = {};
  const shell = home(environment);
  const file = join(shell.directory, 'coverage.json');
  environment.COVERAGE_FILE = file;
  environment.NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(PROBE)}`;
  shell.configure(config);
  const server = await shell.serve();
  return {
    shell,
    server,
    async filesRun() {
      rmSync(file, { force: true });
      server.child.kill('SIGWINCH');
      while (!existsSync(file)) await sleep(2);
      return filesOf(JSON.parse(readFileSync(file, 'utf8')) as Script[]);
    },
  };
}

function filesOf(scripts: readonly Script[]): FilesRun {
  const files = new Map<string, string[]>();
  for (const { url, functions } of scripts) {
    const sourceAt = sourcesOf(url);
    for (const { functionName, ranges } of functions) {
      // An export of the script, read by another one.
      if (functionName === 'get') continue;
      const [range] = ranges;
      const source = range && range.count > 0 ? sourceAt(range.startOffset) : undefined;
      if (source !== undefined) files.set(source, [...(files.get(source) ?? []), functionName]);
    }
  }
  return files;
}

const known = new Map<string, readonly { at: number; path: string }[]>();

/** In a built script, each module begins with a comment that names its file; a second copy of it has the suffix `?copy`. */
function sourcesOf(url: string): (offset: number) => string | undefined {
  let starts = known.get(url);
  if (starts === undefined) {
    const code = readFileSync(url.replace('file://', ''), 'utf8');
    starts = [...code.matchAll(/^\/\/ ((?:src|node_modules)\/[^\s?]+)\S*$/gm)].map(
      ({ index, 1: path = '' }) => ({
        at: index,
        path,
      }),
    );
    known.set(url, starts);
  }
  const sources = starts;
  return (offset) => {
    const path = sources.findLast(({ at }) => at < offset)?.path;
    return path?.startsWith('src/') ? path : undefined;
  };
}
