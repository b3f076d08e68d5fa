// What a check finds out about one provider, and how its failures read.
import type { ProviderConfig } from '../../config/config.ts';
import { FailureError, type ProviderFailure } from '../../errors.ts';
import { redact } from '../../providers/redact.ts';
import type { Ids } from '../../ids.ts';
import type { ProviderClient } from '../../providers/client.ts';

export interface Step {
  check: 'reachable' | 'key' | 'models' | 'streaming' | 'tools' | 'rules';
  /** null: unknown, which is not a failure. */
  ok: boolean | null;
  detail: string;
}

export interface ProviderReport {
  provider: string;
  ok: boolean;
  checks: Step[];
}

export interface ProbeDeps {
  client: ProviderClient;
  ids: Ids;
}

export function failureOf(error: unknown): ProviderFailure {
  if (error instanceof FailureError) return error.failure;
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
}

export function messageOf({ status, message }: ProviderFailure, provider: ProviderConfig): string {
  const text = redact(message, provider);
  return status === undefined ? text : `${status}, ${text}`;
}
