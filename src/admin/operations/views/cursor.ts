// The cursor of a page, without what reads one: the process of a report writes it, too.
import type { z } from 'zod';

/** What sorts a list: its values, and the schema that a cursor must fit. */
export interface Order<Item, Place extends z.ZodTuple> {
  /** Differs for each list: a cursor of another one is refused. */
  list: string;
  place: Place;
  placeOf: (item: Item, index: number) => z.output<Place>;
}

export function encodeCursor<Item, Place extends z.ZodTuple>(
  { list }: Pick<Order<Item, Place>, 'list'>,
  place: z.output<Place>,
): string {
  return Buffer.from(JSON.stringify([list, ...place])).toString('base64url');
}

/** The page of a list that the database sorts and bounds: `items` has one more than the page if there is a next one. */
export function pageOfRows<Item, Place extends z.ZodTuple>(
  items: readonly Item[],
  limit: number,
  order: Pick<Order<Item, Place>, 'list' | 'placeOf'>,
): { items: Item[]; next: string | null } {
  const page = items.slice(0, limit);
  const last = items.length > limit ? page.at(-1) : undefined;
  return {
    items: page,
    next: last === undefined ? null : encodeCursor(order, order.placeOf(last, limit - 1)),
  };
}
