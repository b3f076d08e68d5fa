// Where control sockets are, for each platform: what can be checked without that platform.
import { describe, expect, it } from 'vitest';
import { folderFault, pidOf, socketAddress, socketFolders } from '../../src/control/place.ts';

describe('on Windows', () => {
  const folders = (data: string) => socketFolders(data, { TMPDIR: '/tmp' }, 'win32');
  const [folder] = folders('/data/one');

  it('a gateway has a named pipe, with its pid behind a hash of the data folder', () => {
    expect(folders('/data/one')).toEqual([
      {
        path: '\\\\.\\pipe\\',
        prefix: expect.stringMatching(/^gateway-[0-9a-f]{12}-$/) as string,
        own: false,
      },
    ]);
    if (folder === undefined) throw new Error('no folder');
    const address = socketAddress(folder, '4711');
    expect(address).toBe(`\\\\.\\pipe\\${folder.prefix}4711`);
    expect(pidOf(address)).toBe(4711);
    expect(pidOf(socketAddress(folder, '4711-2'))).toBe(4711);
  });

  it('two data folders have pipes of different names, one folder always the same', () => {
    expect(folders('/data/one')).toEqual(folders('/data/../data/one'));
    expect(folders('/data/two')[0]?.prefix).not.toBe(folder?.prefix);
  });

  it('a pipe needs no folder, and its name is never too long', () => {
    const [long] = folders(`/data/${'x'.repeat(300)}`);
    expect(long && folderFault(long)).toBeUndefined();
  });
});

describe('elsewhere', () => {
  it('a socket is in the data folder, else in a folder of the user below each temporary folder', () => {
    const found = socketFolders('/data', { XDG_RUNTIME_DIR: '/run/user/1', TMPDIR: 'relative' }, 'linux');
    expect(found[0]).toEqual({ path: '/data', prefix: 'gateway-', own: false });
    expect(found.slice(1).map(({ path, own }) => [path.replace(/gateway-.*/, ''), own])).toEqual([
      ['/run/user/1/', true],
      ['/tmp/', true],
    ]);
    expect(found[0] && socketAddress(found[0], '4711')).toBe('/data/gateway-4711.sock');
    expect(pidOf('/data/gateway-4711-1.sock')).toBe(4711);
  });
});
