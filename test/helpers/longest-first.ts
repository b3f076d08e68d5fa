// Files that take long begin first: what one worker does alone at the end keeps all others waiting. Vitest knows the times of its
// last run; a fresh checkout has none. Those that mostly wait, for a process or a time-out, stand between those that compute:
// where several of them ran at once, the cores would be idle.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONG = [
  'store/postgres-nodes',
  'admin/page.browser',
  'growth',
  'e2e/workers',
  'store/postgres',
  'deploy/prometheus',
  'admin/page-situations.browser',
  'deploy/nginx',
  'cli/running/status',
  'gateway/faults',
  'translation/laws',
  'gateway/traces',
  'promises/program',
  'cli/process',
  'cli/run',
  'e2e/workers-together',
  'admin/page-busy.browser',
  'gateway/truncation',
  'store/sqlite',
  'admin/events',
  'e2e/signals',
  'promises/requests',
  'store/usage-sums',
  'gateway/reload',
  'packaging',
  'e2e/process',
  'e2e/postgres-outage',
  'translation/long-answers',
  'cli/screens',
  'admin/security',
  'protocols/sse/delta-template',
  'translation/matrix',
  'promises/process',
  'promises/keys',
  'cli/running/background',
  'admin/reports',
  'store/processes',
  'promises/database',
  'server/unread',
  'observe/request-record',
  'promises/streams',
  'observe/usage-spool',
  'observe/health-publisher',
].map((name) => `/test/${name}.test.ts`);

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONG.findIndex((name) => moduleId.endsWith(name));
  return rank === -1 ? LONG.length : rank;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}
