// The type of a file by its first bytes: clients declare what they like, and providers refuse what is not so.

/** The first bytes of a file, as base64 shows them. */
const MAGIC: readonly (readonly [RegExp, string])[] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^JVBERi/, 'application/pdf'],
];

/** `data`: base64. Undefined where the bytes are of none of the types that providers take. */
export function detectMediaType(data: string): string | undefined {
  const head = data.slice(0, 24);
  if (head.startsWith('UklGR')) {
    return Buffer.from(head, 'base64').toString('latin1', 8, 12) === 'WEBP' ? 'image/webp' : undefined;
  }
  return MAGIC.find(([pattern]) => pattern.test(head))?.[1];
}
