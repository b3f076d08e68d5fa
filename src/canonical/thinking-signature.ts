// What seals a block of thinking. The gateway has a mark of its own, for a signature that the built-in provider made or one of
// another family's: no other provider takes such a block, so that it is known, and taken out, when a client sends it back.
// A second mark stands before what a responses provider encrypted: only that protocol takes it back.
import type { ReasoningPart } from './request.ts';

/** Base64 of nine bytes, so that what follows is read on its own. */
const MARK = 'Z2F0ZXdheTog';
/** Base64 of the nine letters `responses`. */
const ENCRYPTED_MARK = 'cmVzcG9uc2Vz';

export function signAsGateway(seal: string): string {
  return MARK + seal;
}

export function isGatewaySignature(seal: string): boolean {
  return seal.startsWith(MARK);
}

/** A reasoning item of a responses provider: its id, and its content as only that provider can read it. */
export interface EncryptedReasoning {
  id: string;
  content: string;
}

/** As a signature, which clients of other protocols hand back unread. */
export function signatureOfEncrypted({ id, content }: EncryptedReasoning): string {
  return `${ENCRYPTED_MARK}${id}.${content}`;
}

/** Undefined: a signature of another kind. */
export function encryptedInSignature(signature: string): EncryptedReasoning | undefined {
  if (!signature.startsWith(ENCRYPTED_MARK)) return undefined;
  const dot = signature.indexOf('.', ENCRYPTED_MARK.length);
  if (dot === -1) return undefined;
  return { id: signature.slice(ENCRYPTED_MARK.length, dot), content: signature.slice(dot + 1) };
}

/** A provider sealed it, as far as can be seen, and takes it back. */
export function isSealed({ signature, redacted }: ReasoningPart): boolean {
  const seal = redacted ?? signature ?? '';
  return seal !== '' && !isGatewaySignature(seal);
}

/** A provider of messages sealed it: such a provider takes no other thinking back. */
export function isSealedForMessages(part: ReasoningPart): boolean {
  return isSealed(part) && !(part.redacted ?? part.signature ?? '').startsWith(ENCRYPTED_MARK);
}

/**
 * Why the request's thinking is left out: the open tool turn was thought by a model of another family; or the provider refused
 * thinking that came back to it.
 */
export type ThinkingCut = 'foreign' | 'refused';
