// Files that take long begin first: what one worker does alone at the end keeps all others waiting. Vitest knows the times of its
// last run; a fresh checkout has none.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONG = [
  'e2e/workers',
  'admin/page.browser',
  'growth',
  'translation/laws',
  'gateway/truncation',
  'e2e/workers-together',
  'gateway/faults',
  'cli/process',
  'store/postgres-nodes',
  'cli/run',
  'cli/running/status',
  'store/sqlite',
  'translation/long-answers',
  'deploy/prometheus',
  'store/postgres',
  'promises/program',
  'store/processes',
  'gateway/traces',
  'deploy/nginx',
  'server/unread',
  'admin/page-situations.browser',
  'promises/streams',
  'gateway/reload',
  'cli/screens',
  'e2e/postgres-outage',
  'config/watch',
  'admin/security',
  'promises/process',
  'translation/matrix',
  'e2e/signals',
  'admin/events',
  'protocols/sse/delta-template',
  'cli/running/background',
  'translation/round-trip',
  'admin/page-busy.browser',
  'promises/requests',
  'admin/reports',
  'promises/database',
  'e2e/process',
  'observe/health-publisher',
  'translation/readers',
  'observe/request-record',
  'gateway/held',
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
