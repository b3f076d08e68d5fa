// Lists from strangers may be longer than the arguments that a call can take.

/** As `list.push(...more)`, for any number of items. */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const item of more) list.push(item);
}
