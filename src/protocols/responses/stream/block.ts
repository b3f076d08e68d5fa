// A block of the canonical events on its way into the items of a stream. One item is on the wire at a time.
import type { JsonObject } from '../../../canonical/json.ts';
import type { StreamEvent } from '../../../canonical/reply.ts';
import type { Citation, NativePart } from '../../../canonical/request.ts';

export type CallStart = Extract<StreamEvent, { type: 'tool_start' }>;

/** A canonical block, from its start on, with what came of it while another item was on the wire. */
export interface Block {
  readonly kind: 'text' | 'refusal' | 'reasoning' | 'call' | 'native';
  /** The item that takes its pieces, once it is on the wire. */
  item?: { delta(piece: string, tokens?: readonly JsonObject[]): string };
  /** Log probabilities of the text that comes next. */
  tokens?: JsonObject[];
  held: string;
  /** Characters so far. */
  length: number;
  citations: Citation[];
  ended: boolean;
  readonly call?: CallStart;
  readonly native?: NativePart;
  signature?: string;
  readonly redacted?: string;
  /** Reasoning in the model's own words. */
  readonly raw?: true;
}

export function deltaOf(block: Block, piece: string): string {
  const { item, tokens } = block;
  if (tokens === undefined) return item?.delta(piece) ?? '';
  block.tokens = undefined;
  return item?.delta(piece, tokens) ?? '';
}
