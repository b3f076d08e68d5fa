// A certificate that nobody signed but itself, made anew for each run: no key lies in the tree. Just enough of X.509, as DER.
import { createPrivateKey, createSign, generateKeyPairSync } from 'node:crypto';

function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const oid = (...bytes: number[]): Buffer => der(0x06, Buffer.from(bytes));
const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

/** For a DNS name. `key` and `cert` are PEM. */
export function selfSigned(name: string): { key: string; cert: string } {
  // A key of RSA takes half a second.
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const commonName = sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(name)))));
  const alternative = sequence(oid(0x55, 0x1d, 0x11), der(0x04, sequence(der(0x82, Buffer.from(name)))));
  const authority = sequence(oid(0x55, 0x1d, 0x13), der(0x04, sequence(der(0x01, Buffer.from([0xff])))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ECDSA_WITH_SHA256,
    commonName,
    sequence(der(0x17, Buffer.from('240101000000Z')), der(0x17, Buffer.from('490101000000Z'))),
    commonName,
    publicKey,
    der(0xa3, sequence(authority, alternative)),
  );
  const signature = createSign('sha256').update(body).sign(createPrivateKey(privateKey));
  const whole = sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    key: privateKey,
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}
