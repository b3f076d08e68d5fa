// Loaded into a supervisor: its timers of a second, among them the heartbeat of its workers, run five times as fast. Workers keep theirs.
import process from 'node:process';

if (!process.argv.includes('--as-worker')) {
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (task, ms, ...rest) => setTimeout(task, ms === 1000 ? 200 : ms, ...rest);
}
