// Pages that a chat provider's answer names. A citation of this protocol holds an index that its own service alone can make,
// and few readers show any: the pages follow the text as a list, which every reader shows. Where JSON was asked for, a list
// would break it.
import type { Citation } from '../../canonical/request.ts';
import type { ReplyOptions } from '../protocol.ts';

const MOST_PAGES = 100;
/** Characters of a stranger's title. */
const MOST_TITLE = 200;

interface SourceList {
  add(citation: Citation): void;
  /** The pages that were not listed yet, to stand behind the text; '': none. */
  take(): string;
}

export function createSourceList({ responseFormat }: ReplyOptions): SourceList {
  const known = new Set<string>();
  const waiting: string[] = [];
  return {
    add({ protocol, url, title = '' }) {
      if (responseFormat !== undefined || protocol === 'messages' || url === undefined) return;
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
