// Files that take long begin first: what one worker does alone at the end keeps all others waiting. Vitest knows the times of its
// last run; a fresh checkout has none.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONG = [
  'admin/page.browser',
  'growth',
  'gateway/truncation',
  'cli/running/status',
  'cli/process',
  'promises/program',
  'cli/run',
  'cli/running/background',
  'e2e/signals',
  'store/postgres',
  'gateway/faults',
  'translation/laws',
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
