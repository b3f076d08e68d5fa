// The pages that an answer names, as a list behind its text, for protocols without another place for them: every reader shows text. Where
// JSON was asked for, a list would break it.
import type { Citation, ClientProtocolName } from '../../../canonical/request.ts';
import type { ReplyOptions } from '../../interface/answer.ts';

const MOST_PAGES = 100;
/** Characters of a stranger's title. */
const MOST_TITLE = 200;

export interface SourceList {
  add(citation: Citation): void;
  /** The pages that are still to be listed after the text; '': none. */
  take(): string;
}

/** `own`: whose citations the text holds as they came. */
export function createSourceList({ responseFormat }: ReplyOptions, own?: ClientProtocolName): SourceList {
  const known = new Set<string>();
  const waiting: string[] = [];
  return {
    add(citation) {
      const { url, title = '' } = citation;
      if (responseFormat !== undefined || citation.protocol === own || url === undefined) return;
      if (known.has(url) || known.size === MOST_PAGES) return;
      known.add(url);
      const name = title.slice(0, MOST_TITLE).replace(/\s+/g, ' ').trim();
      waiting.push(`[${known.size}] ${name === '' ? '' : `${name}: `}${url}`);
    },
    take() {
      const pages = waiting.splice(0);
      return pages.length === 0 ? '' : `\n\nSources:\n${pages.join('\n')}`;
    },
  };
}
