// Whether the calls of an answer are repaired, and what is needed for it: the tools that the request offers.
import { GatewayError } from '../../errors.ts';
import type { ReverseMapping } from '../../canonical/reverse-mapping.ts';
import { offeredTools } from '../../repair/offered-tools.ts';
import type { ScannerOptions } from '../../repair/text-scanner.ts';
import type { Inbound } from '../inbound/read-request.ts';

export type ToolRepair = ScannerOptions;

/**
 * For requests that offer tools to a provider with `repair_tools`. An answer of the client's own protocol is relayed as it came where
 * it holds members that only its own bytes keep.
 */
export function repairOf(
  inbound: Inbound,
  { toolNames, customTools, structuredTool }: ReverseMapping,
  crossing: boolean,
): ToolRepair | undefined {
  if (structuredTool !== undefined) return undefined;
  if (!crossing && inbound.protocol.client.lossesOfRewriting(inbound.value).length > 0) return undefined;
  try {
    const { tools = [], toolChoice, responseFormat } = inbound.decode();
    if (tools.length === 0 || toolChoice?.type === 'none') return undefined;
    const offered = offeredTools(tools, toolNames, customTools);
    return { offered, isJsonAsked: responseFormat !== undefined };
  } catch (error) {
    // What no other protocol can take is relayed, and its answer with it.
    if (error instanceof GatewayError && !crossing) return undefined;
    throw error;
  }
}
