// Connections through a SOCKS5 proxy (RFC 1928, with the password of RFC 1929). The proxy looks up the provider's name: it may be one
// that only the proxy's network knows.
import { isIP, type Socket } from 'node:net';
import type { buildConnector } from 'undici';
import type { Clock } from '../../clock.ts';
import { OWN_PROXY, ProxyFailed } from './proxy.ts';

const VERSION = 5;
const NO_PASSWORD = 0;
const PASSWORD = 2;
const NONE_ACCEPTABLE = 0xff;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const DEFAULT_PORT = 1080;

interface Options {
  proxy: URL;
  /** To the proxy. */
  connect: buildConnector.connector;
  /** From the tunnel's end on: the TLS of the provider. */
  secure: buildConnector.connector;
  /** Milliseconds for the words with the proxy. */
  timeout: number;
  clock: Pick<Clock, 'after'>;
}

export function throughSocks5({ proxy, connect, secure, timeout, clock }: Options): buildConnector.connector {
  const { hostname, port } = proxy;
  const address = hostname.replace(/^\[|\]$/g, '');
  return (options, callback) => {
    const fail = (error: Error): void =>
      callback(error instanceof ProxyFailed ? error : new ProxyFailed(OWN_PROXY, { cause: error }), null);
    const to = { hostname: address, host: address, protocol: 'http:', port: port || String(DEFAULT_PORT) };
    connect(to, (error, socket) => {
      if (error !== null) return fail(error);
      const late = new ProxyFailed(OWN_PROXY, { cause: timedOut() });
      const cancel = clock.after(timeout, () => socket.destroy(late));
      negotiate(socket, proxy, options).then(
        () => {
          cancel();
          if (options.protocol === 'https:') secure({ ...options, httpSocket: socket }, callback);
          else callback(null, socket);
        },
        (failure: Error) => {
          cancel();
          socket.on('error', () => undefined).destroy();
          fail(failure);
        },
      );
    });
  };
}

function timedOut(): Error {
  return Object.assign(new Error('the proxy is silent'), { code: 'UND_ERR_CONNECT_TIMEOUT' });
}

async function negotiate(
  socket: Socket,
  { username, password }: URL,
  to: buildConnector.Options,
): Promise<void> {
  const methods = username === '' ? [NO_PASSWORD] : [NO_PASSWORD, PASSWORD];
  socket.write(Buffer.from([VERSION, methods.length, ...methods]));
  const [version, method = NONE_ACCEPTABLE] = await take(socket, 2);
  if (version !== VERSION) throw new ProxyFailed(OWN_PROXY, { refusal: 'does not speak SOCKS5' });
  if (method === NONE_ACCEPTABLE || !methods.includes(method))
    throw new ProxyFailed(OWN_PROXY, { status: 407 });
  if (method === PASSWORD) {
    const words = [username, password].map((word) => Buffer.from(decodeURIComponent(word)).subarray(0, 255));
    socket.write(Buffer.concat([Buffer.from([1]), ...words.flatMap((word) => [lengthOf(word), word])]));
    const [, refused = 1] = await take(socket, 2);
    if (refused !== 0) throw new ProxyFailed(OWN_PROXY, { status: 407 });
  }
  const port = Number(to.port || (to.protocol === 'https:' ? 443 : 80));
  const asked = Buffer.from([VERSION, CONNECT, 0]);
  socket.write(Buffer.concat([asked, addressOf(to.hostname), Buffer.from([port >> 8, port & 0xff])]));
  const [, reply = 1, , kind] = await take(socket, 4);
  if (reply !== 0) throw new ProxyFailed(OWN_PROXY, { refusal: REPLIES[reply] ?? `refused (${reply})` });
  const length = kind === IPV4 ? 4 : kind === IPV6 ? 16 : ((await take(socket, 1))[0] ?? 0);
  await take(socket, length + 2);
}

const REPLIES: Readonly<Record<number, string>> = {
  1: 'failed',
  2: 'does not allow the connection to the provider',
  3: 'could not reach the network of the provider',
  4: 'could not reach the provider',
  5: 'was refused by the provider',
  6: 'could not reach the provider in time',
  7: 'does not make connections',
  8: 'does not take this kind of address',
};

const lengthOf = (word: Buffer): Buffer => Buffer.from([word.length]);

function addressOf(hostname: string): Buffer {
  const address = hostname.replace(/^\[|\]$/g, '');
  const version = isIP(address);
  if (version === 4) return Buffer.from([IPV4, ...address.split('.').map(Number)]);
  if (version === 6) return Buffer.concat([Buffer.from([IPV6]), bytesOfIpv6(address)]);
  const name = Buffer.from(address).subarray(0, 255);
  return Buffer.concat([Buffer.from([NAME]), lengthOf(name), name]);
}

/** URLs hold these addresses without an IPv4 part: `new URL` writes it in hexadecimal. */
function bytesOfIpv6(address: string): Buffer {
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (part = ''): string[] => (part === '' ? [] : part.split(':'));
  const [first, last] = [groups(before), groups(after)];
  const zeros = Array<string>(8 - first.length - last.length).fill('0');
  return Buffer.from([...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** Exactly these bytes: what follows them is the provider's. */
function take(socket: Socket, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (tell: () => void): void => {
      socket.off('readable', look).off('error', fail).off('close', closed);
      tell();
    };
    const look = (): void => {
      const bytes = socket.read(length) as Buffer | null;
      if (bytes !== null && bytes.length === length) settle(() => resolve(bytes));
    };
    const fail = (error: Error): void => settle(() => reject(error));
    const closed = (): void => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
    socket.on('readable', look).on('error', fail).on('close', closed);
    if (socket.destroyed) closed();
    else look();
  });
}
