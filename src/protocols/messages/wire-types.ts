// The messages protocol's own shapes, as the encoders write them. What is read is checked member by member instead:
// compatible servers leave out half of it. https://docs.claude.com/en/api/messages
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { Ids } from '../../ids.ts';

export type WireCacheControl = { type: 'ephemeral'; ttl?: '5m' | '1h' };

export interface WireUsage extends JsonObject {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation?: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
  output_tokens: number;
  output_tokens_details?: { thinking_tokens: number };
  service_tier?: string;
}

export interface WireStop extends JsonObject {
  stop_reason: string | null;
  stop_sequence: string | null;
  stop_details: { type: 'refusal'; category: string | null; explanation: string | null } | null;
}

/** The whole answer, with the members that the service writes into every one, as its strictest readers expect it. */
export interface WireMessage extends WireStop {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: JsonObject[];
  usage: WireUsage;
}

export interface WireTurn extends JsonObject {
  role: 'user' | 'assistant' | 'system';
  content: JsonObject[];
}

/** The definition of a tool that a `tool_addition` brings with it. A set of tools of a server is known to the provider alone. */
export function addedTool({ tool }: JsonObject): JsonObject | undefined {
  const definition = isObject(tool) ? tool.definition : undefined;
  return isObject(definition) && definition.type !== 'mcp_toolset' ? definition : undefined;
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

export function flag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

export function list(value: unknown): JsonValue[] {
  return Array.isArray(value) ? (value as JsonValue[]) : [];
}

const ID_PREFIX = 'msg_';

/** An id of this protocol is unchanged; an id of another protocol gets the form of this one. */
export function messageId(id: string, ids: Ids): string {
  return id.startsWith(ID_PREFIX) ? id : ID_PREFIX + ids.random(24);
}
