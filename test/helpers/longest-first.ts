// Files that take long begin first: what one worker does alone at the end keeps all others waiting. Vitest knows the times of its
// last run; a fresh checkout has none.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONG = [
  'e2e/workers',
  'admin/page.browser',
  'growth',
  'e2e/workers-together',
  'cli/running/status',
  'admin/page-situations.browser',
  'cli/process',
  'store/postgres',
  'deploy/nginx',
  'store/postgres-nodes',
  'cli/running/dashboard',
  'promises/program',
  'cli/run',
  'deploy/prometheus',
  'translation/laws',
  'admin/page-busy.browser',
  'gateway/traces',
  'translation/long-answers',
  'cli/running/background',
  'gateway/faults',
  'gateway/truncation',
  'promises/process',
  'e2e/postgres-outage',
  'e2e/signals',
  'gateway/proxy',
  'gateway/reload',
  'store/sqlite',
  'config/watch',
  'admin/security',
  'e2e/process',
  'cli/running/service',
  'server/unread',
  'admin/events',
  'store/processes',
  'cli/screens',
  'promises/streams',
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
