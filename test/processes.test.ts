import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { processAt } from '../src/processes.ts';

it('finds a process that runs, and none that has ended', async () => {
  expect(processAt(process.pid)).toBe('own');
  const child = spawn(process.execPath, ['-e', '']);
  const { pid = 0 } = child;
  await once(child, 'exit');
  expect(processAt(pid)).toBeUndefined();
});

it.runIf(process.platform === 'linux')(
  'counts a process that nobody asks for its exit code as ended',
  async () => {
    // The shell becomes a program that does not know the child which it started; its echo says that it did.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(line.toString());
      parent.stdin.write('started');
      await once(parent.stdout, 'data');
      expect(processAt(pid)).toBe('own');
      process.kill(pid, 'SIGKILL');
      await vi.waitFor(() => expect(processAt(pid)).toBeUndefined());
      expect(() => process.kill(pid, 0)).not.toThrow();
    } finally {
      parent.stdin.end();
    }
  },
);

it('tells the process of another user from its own', () => {
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
  try {
    expect(processAt(1)).toBe('foreign');
  } finally {
    kill.mockRestore();
  }
});
