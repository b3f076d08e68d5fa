// Files that take long begin first: what one worker does alone at the end keeps all others waiting. Vitest knows the times of its
// last run; a fresh checkout has none.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONG = [
  'admin/page.browser',
  'e2e/workers',
  'growth',
  'e2e/workers-together',
  'admin/page-situations.browser',
  'cli/running/status',
  'store/postgres',
  'store/postgres-nodes',
  'cli/process',
  'deploy/nginx',
  'promises/program',
  'cli/run',
  'gateway/truncation',
  'cli/running/dashboard',
  'deploy/prometheus',
  'e2e/signals',
  'e2e/postgres-outage',
  'translation/laws',
  'cli/running/background',
  'promises/process',
  'gateway/faults',
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
