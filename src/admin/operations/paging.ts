// Pages of a list. A cursor names the last item of a page by the values that the list is sorted by; the next page begins after it. A
// client can write any cursor, so it is taken only with the list's name and values that the list has.
import { z } from 'zod';
import { Problem } from '../reply.ts';
import { encodeCursor, type Order } from './views/cursor.ts';

export const count = z.int().min(0);
/** An ID, as keys have them. */
export const id = z.string().regex(/^\w{1,64}$/);

/** undefined: the first page. Throws Problem 400. */
export function decodeCursor<Item, Place extends z.ZodTuple>(
  order: Pick<Order<Item, Place>, 'list' | 'place'>,
  cursor: string | undefined,
): z.output<Place> | undefined {
  if (cursor === undefined) return undefined;
  try {
    const [list, ...values] = z
      .array(z.unknown())
      .parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    const place = order.place.parse(values);
    if (list === order.list && encodeCursor(order, place) === cursor) return place;
  } catch {
    // Not JSON, or not the values of this list.
  }
  throw new Problem(400, 'invalid_cursor', 'this cursor is not one that the list gave; begin without one');
}

interface PageQuery {
  limit: number;
  cursor?: string | undefined;
}

/** A page of a list in memory, which `order` sorts. `next` is null at its end. */
export function pageOf<Item, Place extends z.ZodTuple>(
  items: readonly Item[],
  { limit, cursor }: PageQuery,
  order: Order<Item, Place>,
): { items: Item[]; next: string | null } {
  const after = decodeCursor(order, cursor);
  const from =
    after === undefined ? 0 : items.findIndex((item, at) => isAfter(order.placeOf(item, at), after));
  const page = from < 0 ? [] : items.slice(from, from + limit);
  const last = page.at(-1);
  const isEnd = last === undefined || from + limit >= items.length;
  return {
    items: page,
    next: isEnd ? null : encodeCursor(order, order.placeOf(last, from + page.length - 1)),
  };
}

function isAfter(place: readonly unknown[], other: readonly unknown[]): boolean {
  for (const [at, value] of place.entries()) {
    const compared = other[at];
    if (value !== compared) return (value as number | string) > (compared as number | string);
  }
  return false;
}
