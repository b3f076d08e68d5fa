// What begins, goes on and ends in a stream, in every order: one after the other, all open at once, without a beginning or an end.
import type { JsonObject } from '../../src/canonical/json.ts';

/** The frames of a stream. */
export type MakeStream = (items: number) => string[];

export function times<T>(items: number, make: (at: number) => T): T[] {
  return Array.from({ length: Math.ceil(items) }, (_, at) => make(at));
}

export const event = (value: JsonObject & { type: string }): string =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;

/** What begins, goes on and ends. */
interface Stages {
  start: (at: number) => string;
  piece: (at: number) => string;
  end: (at: number) => string;
}

export function eachOrder(what: string, { start, piece, end }: Stages): [string, MakeStream][] {
  return [
    [`${what} in turn`, (items) => times(items / 3, (at) => [start(at), piece(at), end(at)]).flat()],
    [
      `${what} that are open at once`,
      (items) => [...times(items / 3, start), ...times(items / 3, piece), ...times(items / 3, end)],
    ],
    [
      `${what} that are open at once and end in reverse`,
      (items) => [
        ...times(items / 3, start),
        ...times(items / 3, piece),
        ...times(items / 3, (at) => end(Math.ceil(items / 3) - 1 - at)),
      ],
    ],
    [`${what} that do not end`, (items) => times(items / 2, (at) => [start(at), piece(at)]).flat()],
    [`${what} that begin only`, (items) => times(items, start)],
    [`${what} that go on without a beginning`, (items) => times(items, piece)],
    [`${what} of many pieces, of one`, (items) => [start(0), ...times(items, () => piece(0)), end(0)]],
    [`${what} that begin again and again`, (items) => times(items / 2, () => [start(0), piece(0)]).flat()],
    [
      `${what}, ten that take turns`,
      (items) => [...times(10, start), ...times(items, (at) => piece(at % 10)), ...times(10, end)],
    ],
  ];
}
