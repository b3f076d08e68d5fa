// Images and files of a request. A URL of data is taken apart; a URL of the web stays a URL: the gateway fetches nothing. The media
// type of a file comes from its first bytes, since clients often declare a wrong one and providers refuse it.
import type { DocumentPart, MediaSource } from '../../canonical/request.ts';
import { percentDecoded } from '../../percent.ts';

const DATA = 'data:';
const BASE64 = ';base64';
/** Characters: error messages show the type. */
const LONGEST_TYPE = 100;

/** The type and base64 of a data URL; undefined for another URL. */
function readDataUrl(url: string): { mediaType: string; data: string } | undefined {
  const comma = url.slice(0, DATA.length).toLowerCase() === DATA ? url.indexOf(',') : -1;
  if (comma === -1) return undefined;
  const head = url.slice(DATA.length, comma);
  const [type = ''] = head.split(';', 1);
  const mediaType = (type.slice(0, LONGEST_TYPE) || 'text/plain').toLowerCase();
  const rest = url.slice(comma + 1);
  if (head.slice(-BASE64.length).toLowerCase() === BASE64) return { mediaType, data: rest };
  return { mediaType, data: Buffer.from(percentDecoded(rest)).toString('base64') };
}

export function mediaSource(url: string): MediaSource {
  const data = readDataUrl(url);
  return data ? { kind: 'base64', ...data } : { kind: 'url', url };
}

const PDF_START = 'JVBERi'; // "%PDF-" in base64

function fileType(data: string, filename: string | undefined): string {
  const isPdf = data.startsWith(PDF_START) || filename?.toLowerCase().endsWith('.pdf');
  return isPdf ? 'application/pdf' : 'application/octet-stream';
}

/** A data URL; some clients send the base64 alone, or the URL of a file (OpenRouter's form). */
export function fileSource(text: string, filename: string | undefined): DocumentPart['source'] {
  if (/^https?:\/\//i.test(text)) return { kind: 'url', url: text };
  const data = readDataUrl(text);
  return data
    ? { kind: 'base64', ...data }
    : { kind: 'base64', mediaType: fileType(text, filename), data: text };
}

/** The first bytes of a file, as base64 shows them. */
const MAGIC: readonly (readonly [RegExp, string])[] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^JVBERi/, 'application/pdf'],
];

/** `data`: base64. Undefined: the bytes are not of a type that providers take. */
export function detectMediaType(data: string): string | undefined {
  const head = data.slice(0, 24);
  if (head.startsWith('UklGR')) {
    return Buffer.from(head, 'base64').toString('latin1', 8, 12) === 'WEBP' ? 'image/webp' : undefined;
  }
  return MAGIC.find(([pattern]) => pattern.test(head))?.[1];
}
