// Counted nouns in messages to people.

/** `1 request`, `2 requests`. `shown`: the number as the message writes it (`1,000`, `1.2M`). */
export function plural(count: number, noun: string, shown = String(count)): string {
  return `${shown} ${noun}${count === 1 ? '' : 's'}`;
}
