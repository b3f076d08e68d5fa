// Signatures of thinking blocks. A provider accepts only blocks that it signed itself, so the gateway marks the others and removes
// them when a client sends them back. The first mark means: signed by the gateway (thinking of the built-in provider, or of another
// model family). The second mark means: encrypted by a responses provider, and accepted only by that protocol.
import type { ReasoningPart } from './request.ts';

/** Base64 of nine bytes, so that the text after it is base64 of its own. */
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

/** Whether a provider signed the block, as far as the gateway can know; then that provider accepts it. */
export function isSealed({ signature, redacted }: ReasoningPart): boolean {
  const seal = redacted ?? signature ?? '';
  return seal !== '' && !isGatewaySignature(seal);
}

/** Whether a messages provider signed the block: it accepts no other thinking. */
export function isSealedForMessages(part: ReasoningPart): boolean {
  return isSealed(part) && !(part.redacted ?? part.signature ?? '').startsWith(ENCRYPTED_MARK);
}

/** Why the thinking of a request is left out: a model of another family began the open tool turn, or the provider refused the thinking. */
export type ThinkingCut = 'foreign' | 'refused';
