// The control socket on real sockets and files: who can use it, where it is, what is left of a killed process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { call, findGateways as find, stream } from '../../src/control/client.ts';
import { ControlError, type ControlHandler } from '../../src/control/calls.ts';
import { socketFolders } from '../../src/control/place.ts';
import { startControl, type ControlServer } from '../../src/control/server.ts';
import { createLog, silentLog } from '../../src/log.ts';

const STATUS = { pid: 7, urls: ['http://127.0.0.1:1'], database: '/d/gateway.db', since: '' };
const statusRow: ControlHandler = { method: 'GET', path: '/status', handle: () => STATUS };

interface Place {
  folder: string;
  env: Record<string, string>;
}

function place(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-control-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const runtime = join(folder, 'run');
  mkdirSync(runtime, { mode: 0o700 });
  return { folder, env: { XDG_RUNTIME_DIR: runtime, TMPDIR: runtime } };
}

async function serve(
  { folder, env }: Place,
  handlers: ControlHandler[] = [statusRow],
  log = silentLog,
): Promise<ControlServer> {
  const server = await startControl({ dataFolder: folder, env, handlers, log });
  onTestFinished(() => server.close());
  return server;
}

const findGateways = async (...where: Parameters<typeof find>) => (await find(...where)).running;

const modeOf = (file: string): number => lstatSync(file).mode & 0o777;
const socketsIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith('.sock'));

describe('a control socket', () => {
  it('is in the data folder, named by its pid, open to its owner alone, and gone when it is closed', async () => {
    const at = place();
    const server = await serve(at);
    const { address } = server;
    expect(address).toBe(join(at.folder, `gateway-${process.pid}.sock`));
    expect(modeOf(address)).toBe(0o600);
    expect(await findGateways(at.folder, at.env)).toEqual([{ address, status: STATUS }]);
    server.close();
    expect(existsSync(address)).toBe(false);
    expect(await findGateways(at.folder, at.env)).toEqual([]);
  });

  it('leaves the file mode of the process unchanged', async () => {
    const at = place();
    const before = process.umask(0o027);
    onTestFinished(() => void process.umask(before));
    await serve(at);
    writeFileSync(join(at.folder, 'later'), '');
    expect(modeOf(join(at.folder, 'later'))).toBe(0o640);
  });

  it('of two gateways on one folder has two names, also with one pid', async () => {
    const at = place();
    const [first, second] = [await serve(at), await serve(at)];
    expect(second.address).toBe(join(at.folder, `gateway-${process.pid}-1.sock`));
    const found = await findGateways(at.folder, at.env);
    expect(found.map(({ address }) => address).sort()).toEqual([first.address, second.address].sort());
  });

  it('of a path that is too long is in a folder of the user, which is removed at the end', async () => {
    const at = place();
    const folder = join(at.folder, 'x'.repeat(120));
    mkdirSync(folder);
    const server = await serve({ ...at, folder });
    const { address } = server;
    const own = socketFolders(folder, at.env)[1]?.path ?? '';
    expect(address).toBe(join(own, `gateway-${process.pid}.sock`));
    expect(modeOf(own)).toBe(0o700);
    expect(await findGateways(folder, at.env)).toHaveLength(1);
    server.close();
    expect(existsSync(own)).toBe(false);
  });

  it('is not created in a folder that others can change', async () => {
    const at = place();
    chmodSync(at.folder, 0o777);
    const { address } = await serve(at);
    expect(address).toContain(join(at.folder, 'run'));
    expect(socketsIn(at.folder)).toEqual([]);
    expect(await findGateways(at.folder, at.env)).toHaveLength(1);
  });

  it('is not created through a link, or in a folder of the user that others can enter', async () => {
    const at = place();
    chmodSync(at.folder, 0o777);
    const elsewhere = join(at.folder, 'elsewhere');
    mkdirSync(elsewhere, { mode: 0o700 });
    const own = socketFolders(at.folder, at.env)[1]?.path ?? '';
    symlinkSync(elsewhere, own);
    const linked = await serve(at);
    expect(linked.address.startsWith('/tmp/gateway-')).toBe(true);
    linked.close();
    rmSync(own);
    mkdirSync(own, { mode: 0o755 });
    const open = await serve(at);
    expect(open.address.startsWith('/tmp/gateway-')).toBe(true);
    expect([...readdirSync(elsewhere), ...readdirSync(own)]).toEqual([]);
  });

  it('cannot be created: the reasons are named', async () => {
    const at = place();
    chmodSync(at.folder, 0o777);
    const blocked = socketFolders(at.folder, at.env).slice(1);
    for (const { path } of blocked) writeFileSync(path, '');
    onTestFinished(() => blocked.forEach(({ path }) => rmSync(path, { force: true })));
    await expect(serve(at)).rejects.toThrow(/other users can change .*; .* is not a folder/);
  });

  it('does not replace a file with its name', async () => {
    const at = place();
    const file = join(at.folder, `gateway-${process.pid}.sock`);
    writeFileSync(file, 'mine');
    const { address } = await serve(at);
    expect(address).not.toBe(file);
    expect(lstatSync(file).isFile()).toBe(true);
  });
});

/** A process that listens on the path and ends without removing it. */
async function leaveSocket(file: string): Promise<void> {
  const script = `require('net').createServer().listen(${JSON.stringify(file)}, () => process.kill(process.pid, 'SIGKILL'))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
  await once(child, 'exit');
}

describe('a stale socket', () => {
  it('is ignored by readers and removed at the next start', async () => {
    const at = place();
    const stale = join(at.folder, 'gateway-4194999.sock');
    await leaveSocket(stale);
    expect(socketsIn(at.folder)).toHaveLength(1);
    expect(await findGateways(at.folder, at.env)).toEqual([]);
    const { address } = await serve(at);
    await expect.poll(() => existsSync(stale)).toBe(false);
    expect(await findGateways(at.folder, at.env)).toMatchObject([{ address }]);
  });

  it('of the own pid could be of a gateway that starts now in another container: the next name is used', async () => {
    const at = place();
    const stale = join(at.folder, `gateway-${process.pid}.sock`);
    await leaveSocket(stale);
    const fresh = await serve(at);
    expect(fresh.address).toBe(join(at.folder, `gateway-${process.pid}-1.sock`));
  });

  it('is not what a server of another program listens on', async () => {
    const at = place();
    const file = join(at.folder, 'gateway-4194999.sock');
    const other = createServer((socket) => socket.destroy()).listen(file);
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    await serve(at);
    expect(await findGateways(at.folder, at.env)).toHaveLength(1);
    expect(existsSync(file)).toBe(true);
  });

  it('is not a link: readers follow none', async () => {
    const at = place();
    const { address } = await serve(at);
    symlinkSync(address, join(at.folder, 'gateway-1.sock'));
    expect(await findGateways(at.folder, at.env)).toHaveLength(1);
  });
});

describe('a call', () => {
  it('carries a query and JSON both ways', async () => {
    const { address } = await serve(place(), [
      { method: 'POST', path: '/echo', handle: ({ query, body }) => Promise.resolve([query.get('a'), body]) },
    ]);
    expect(await call({ address }, 'POST', '/echo?a=b%20c', { x: ['é'] })).toEqual(['b c', { x: ['é'] }]);
    expect(await call({ address }, 'POST', '/echo')).toEqual([null, null]);
  });

  it('is refused with a message for an unknown path, a wrong method, and by the handler', async () => {
    const refuse: ControlHandler = {
      method: 'POST',
      path: '/refuse',
      handle() {
        throw new ControlError(409, 'not now');
      },
    };
    const { address } = await serve(place(), [refuse]);
    await expect(call({ address }, 'GET', '/nothing')).rejects.toMatchObject({ status: 404 });
    await expect(call({ address }, 'GET', '/refuse')).rejects.toMatchObject({ status: 405 });
    await expect(call({ address }, 'POST', '/refuse')).rejects.toMatchObject({
      status: 409,
      message: 'not now',
    });
  });

  it('that its command does not finish is no fault in the log', async () => {
    let logged = '';
    const log = createLog({ format: 'json', stream: { write: (text: string) => (logged += text) } });
    const { address } = await serve(
      place(),
      [{ method: 'POST', path: '/stop', handle: () => 'stopped' }],
      log,
    );
    const stop = (): Promise<unknown> => call({ address }, 'POST', '/stop');
    const socket = connect(address);
    await once(socket, 'connect');
    socket.write('POST /stop HTTP/1.1\r\nHost: control\r\nContent-Length: 9\r\n\r\n{');
    // By the answers to these, the gateway has read the beginning, and then the end of the connection.
    expect(await stop()).toBe('stopped');
    socket.destroy();
    await once(socket, 'close');
    expect([await stop(), await stop()]).toEqual(['stopped', 'stopped']);
    log.flush();
    expect(logged).toBe('');
  });

  it('that meets a fault answers without its details, and the log has it once', async () => {
    let logged = '';
    const log = createLog({ format: 'json', stream: { write: (text: string) => (logged += text) } });
    const broken: ControlHandler = {
      method: 'GET',
      path: '/broken',
      handle: () => Promise.reject(new Error('inside')),
    };
    const { address } = await serve(place(), [broken], log);
    for (let at = 0; at < 3; at += 1) {
      await expect(call({ address }, 'GET', '/broken')).rejects.toThrow('its log has the reason');
    }
    log.flush();
    expect(logged.match(/inside/g)).toHaveLength(1);
  });
});

describe('a stream', () => {
  it('gives events in their order, ends with the gateway, and tells the handler when the reader leaves', async () => {
    let send: (event: unknown) => void = () => undefined;
    let stopped = 0;
    const live: ControlHandler = {
      method: 'GET',
      path: '/live',
      open(_request, sendEvent) {
        send = sendEvent;
        send({ n: 0 });
        return () => void (stopped += 1);
      },
    };
    const server = await serve(place(), [live]);
    const left: unknown[] = [];
    for await (const event of stream(server, '/live')) {
      left.push(event);
      if (left.length === 2) break;
      send({ n: 'é\n' });
    }
    expect(left).toEqual([{ n: 0 }, { n: 'é\n' }]);
    await expect.poll(() => stopped).toBe(1);
    for await (const event of stream(server, '/live')) {
      expect(event).toEqual({ n: 0 });
      server.close();
    }
    await expect.poll(() => stopped).toBe(2);
  });

  it('of a slow reader is bounded, and says how many events it lacks', async () => {
    let send: (event: unknown) => void = () => undefined;
    const live: ControlHandler = {
      method: 'GET',
      path: '/live',
      open(_request, sendEvent) {
        send = sendEvent;
        send('first');
        return () => undefined;
      },
    };
    const server = await serve(place(), [live]);
    const events = stream(server, '/live');
    expect((await events.next()).value).toBe('first');
    const text = 'x'.repeat(64 * 1024);
    let sent = 0;
    for (; sent < 100; sent += 1) send(text);
    let read = 0;
    let dropped = 0;
    for await (const event of events) {
      if (typeof event === 'string') read += 1;
      else if ('dropped' in (event as object)) ({ dropped } = event as { dropped: number });
      else {
        expect({ sent: read + dropped }).toEqual(event);
        break;
      }
      // Passes once enough of what waits is read.
      send({ sent });
      sent += 1;
    }
    expect(dropped).toBeGreaterThan(50);
  });

  it('is refused with a message for an unknown path', async () => {
    const server = await serve(place());
    await expect(stream(server, '/live').next()).rejects.toMatchObject({ status: 404 });
  });
});
