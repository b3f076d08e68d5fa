// Looks up another process by its id.
import { readFileSync } from 'node:fs';

/** `foreign`: of another user; undefined: none runs. A zombie has ended: in a container, nobody may ask for its exit code. */
export function processAt(pid: number): 'own' | 'foreign' | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'foreign' : undefined;
  }
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\)/s, '')) ? undefined : 'own';
  } catch {
    return 'own';
  }
}
