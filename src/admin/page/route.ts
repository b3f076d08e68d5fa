// The place in the page as the fragment of its URL: `#/requests/ID?errors=true`. A reload, a bookmark and the back button keep it.
import type { Query } from './api.ts';
import { percentDecoded } from '../../percent.ts';

export interface Place {
  /** The view: `now`, `usage`, … */
  view: string;
  /** What stands after the view: the id of a request. */
  item: string | undefined;
  query: Readonly<Record<string, string>>;
}

export interface ViewProps {
  place: Place;
  /** Changes the query of the place; undefined removes a member. `isMore`: the last change goes on (typing), and Back undoes both. */
  change: (query: Query, isMore?: boolean) => void;
}

const FIRST_VIEW = 'now';

export function readPlace(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', item] = path.split('/').map(percentDecoded);
  return {
    view: view === '' ? FIRST_VIEW : view,
    item,
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** Views of the same requests: what one of them is limited to stays when another one is chosen. */
const OF_REQUESTS = ['usage', 'requests', 'conversations'];
const COMMON = ['since', 'until', 'account'];
const queries = new Map<string, Query>();
let common: Query = {};

/** To be called with each place that is shown. */
export function rememberPlace({ view, item, query }: Place): void {
  if (item !== undefined || !OF_REQUESTS.includes(view)) return;
  const { cursor: _, ...own } = query;
  queries.set(view, own);
  common = Object.fromEntries(COMMON.map((name) => [name, query[name]]));
}

/** The view as it was left, of the window and the account that are looked at now. */
export function hrefOfView(view: string): string {
  return OF_REQUESTS.includes(view) ? hrefOf(view, { ...queries.get(view), ...common }) : hrefOf(view);
}

/** Members without a value are left out. */
export function hrefOf(view: string, query: Query = {}, item?: string): string {
  const given = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
  );
  const text = new URLSearchParams(given).toString();
  const path = item === undefined ? view : `${view}/${encodeURIComponent(item)}`;
  return `#/${path}${text === '' ? '' : `?${text}`}`;
}
