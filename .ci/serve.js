// serve.js COMMAND FOLDER: runs a command that starts a gateway, as a newcomer does, with folders of its own and no provider's key, and
// then the `curl` line that it prints. Ends it with SIGTERM. The exit code says whether all of that went well.
import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as after } from 'node:timers/promises';

const [, , command, folder] = process.argv;
const INSTALL_MS = 900_000;
const END_MS = 30_000;

const isOther = (name) => /^(GATEWAY|XDG)_|_API_KEY$/.test(name);
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOther(name)));
for (const kind of ['CONFIG', 'DATA', 'STATE', 'CACHE'])
  env[`XDG_${kind}_HOME`] = join(folder, 'home', kind.toLowerCase());
// The usual port may be in use on a developer's machine.
env.GATEWAY_PORT = String(await freePort());

const child = spawn('sh', ['-c', command], { env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
let shown = '';
let ended;
child.stdout.setEncoding('utf8').on('data', (text) => {
  process.stdout.write(text);
  shown += text;
});
child.on('exit', (code, signal) => (ended = code ?? signal));

const lines = await until(() => /^export GATEWAY_KEY=.*\ncurl .*$/m.exec(shown)?.[0], INSTALL_MS);
const answer = lines === undefined ? undefined : spawnSync('sh', ['-c', lines], { env, encoding: 'utf8' });
if (answer !== undefined) process.stdout.write(`CI: the printed lines answer ${answer.stdout}\n`);
const isAnswered = /"content":\s*"[^"]*Hello!/.test(answer?.stdout ?? '');
if (!isAnswered) process.stderr.write('CI: the gateway did not start, or its curl line was not answered\n');

if (ended === undefined) process.kill(-child.pid, 'SIGTERM');
const isOver = await until(() => ended !== undefined, END_MS);
if (!isOver) {
  process.stderr.write('CI: the gateway did not end after SIGTERM\n');
  process.kill(-child.pid, 'SIGKILL');
}
process.exitCode = isAnswered && isOver ? 0 : 1;

/** What `look` returns once that is something; undefined after `ms`, or when the command has ended. */
async function until(look, ms) {
  for (const end = Date.now() + ms; Date.now() < end; await after(100)) {
    const found = look();
    if (found || ended !== undefined) return found;
  }
  return undefined;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
