// The gateway's own mark on what seals a block of thinking: a signature that the built-in provider made, or one of another
// family's. No other provider takes such a block, so that it is known, and taken out, when a client sends it back.

/** Base64 of nine bytes, so that what follows is read on its own. */
const MARK = 'Z2F0ZXdheTog';

export function markOwn(seal: string): string {
  return MARK + seal;
}

export function isOwn(seal: string): boolean {
  return seal.startsWith(MARK);
}
