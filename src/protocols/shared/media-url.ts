// Images and files that stand in a request as URLs: of data, which is taken apart, or of the web. The gateway fetches nothing.
import type { DocumentPart, MediaSource } from '../../canonical/request.ts';

const DATA = 'data:';
const BASE64 = ';base64';
/** Characters: it stands in refusals. */
const LONGEST_TYPE = 100;

/** A data URL's type and base64; undefined where it is none. */
function readDataUrl(url: string): { mediaType: string; data: string } | undefined {
  const comma = url.slice(0, DATA.length).toLowerCase() === DATA ? url.indexOf(',') : -1;
  if (comma === -1) return undefined;
  const head = url.slice(DATA.length, comma);
  const [type = ''] = head.split(';', 1);
  const mediaType = (type.slice(0, LONGEST_TYPE) || 'text/plain').toLowerCase();
  const rest = url.slice(comma + 1);
  if (head.slice(-BASE64.length).toLowerCase() === BASE64) return { mediaType, data: rest };
  return { mediaType, data: Buffer.from(decodePercent(rest)).toString('base64') };
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
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

/** A data URL; some clients send the bare base64, or the address of a file, as to OpenRouter. */
export function fileSource(text: string, filename: string | undefined): DocumentPart['source'] {
  if (/^https?:\/\//i.test(text)) return { kind: 'url', url: text };
  const data = readDataUrl(text);
  return data
    ? { kind: 'base64', ...data }
    : { kind: 'base64', mediaType: fileType(text, filename), data: text };
}
