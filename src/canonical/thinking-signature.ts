// What seals a block of thinking. The gateway has a mark of its own, for a signature that the built-in provider made or one of
// another family's: no other provider takes such a block, so that it is known, and taken out, when a client sends it back.
import type { ReasoningPart } from './request.ts';

/** Base64 of nine bytes, so that what follows is read on its own. */
const MARK = 'Z2F0ZXdheTog';

export function signAsGateway(seal: string): string {
  return MARK + seal;
}

export function isGatewaySignature(seal: string): boolean {
  return seal.startsWith(MARK);
}

/** A provider of messages sealed it, as far as can be seen: such a provider takes no other thinking back. */
export function isSealed({ signature, redacted }: ReasoningPart): boolean {
  const seal = redacted ?? signature ?? '';
  return seal !== '' && !isGatewaySignature(seal);
}
