// Loaded into a process: SIGUSR2 makes it hang as a bug would.
import process from 'node:process';

process.on('SIGUSR2', () => {
  for (;;);
});
