// The way to one provider: its own proxy, and the certificates that are trusted on it.
import { resolve } from 'node:path';
import type { ConfigFault, NetworkConfig } from '../config.ts';
import type { FileProvider } from '../schema/schema.ts';
import { readFileValue } from '../variables/secret-files.ts';

/** Bytes of a file of certificates: all public ones of the world are a quarter of that. */
const MOST_CERTIFICATES = 1024 * 1024;

export function networkOf(
  { proxy, ca: file }: FileProvider,
  folder: string,
): { config?: NetworkConfig; faults: ConfigFault[] } {
  if (proxy === undefined && file === undefined) return { faults: [] };
  if (file === undefined) return { config: { proxy, ca: undefined }, faults: [] };
  const read = readFileValue(resolve(folder, file), MOST_CERTIFICATES);
  const fault = 'fault' in read ? `names a file that ${read.fault}` : certificateFault(read.text);
  if (fault !== undefined)
    return { faults: [{ path: ['ca'], message: `${fault}; name one of certificates (PEM)` }] };
  return { config: { proxy, ca: 'text' in read ? read.text : undefined }, faults: [] };
}

/** A file without certificates, or with a damaged one, would only show when the first request fails. */
function certificateFault(text: string): string | undefined {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'names a file that holds no certificate';
  // Commands that read a file without `ca` need not load it.
  const { X509Certificate } = process.getBuiltinModule('node:crypto');
  try {
    for (const block of blocks) new X509Certificate(block);
    return undefined;
  } catch {
    return 'names a file that holds a certificate which cannot be read';
  }
}
