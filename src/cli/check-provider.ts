// Checks one provider from outside, step by step: can it be reached, does it list its models, does it stream an answer, does it
// call tools? The request is encoded and decoded by the code that serves clients.
import { readBody } from '../providers/exchange.ts';
import { FailureError, type ProviderFailure } from '../errors.ts';
import type { ProviderConfig } from '../config/config.ts';
import { SIM } from '../config/providers.ts';
import { keyHint } from '../gateway/outbound/fallback-policy.ts';
import { redact } from '../gateway/outbound/redact.ts';
import { listModels } from '../providers/discover.ts';
import { type Target, protocolFor } from '../routing/catalog.ts';
import { LIST_MS, type Inventory } from './inventory.ts';
import { NEVER_CANCELLED } from '../cancellation.ts';
import type { StreamEvent } from '../canonical/reply.ts';
import { PROTOCOL_NAMES, type GenerationRequest, type ProtocolName } from '../canonical/request.ts';
import { openFrames } from '../gateway/outbound/provider-reply.ts';
import { headersFor } from '../gateway/outbound/build-request.ts';

import type { Ids } from '../ids.ts';
import type { StreamDecoder } from '../protocols/protocol.ts';
import { protocols } from '../protocols/registry.ts';
import type { ProviderClient } from '../providers/client.ts';
import type { ReplyBody } from '../providers/reply-body.ts';
import { plural } from '../plural.ts';

export interface Step {
  check: 'reachable' | 'key' | 'models' | 'streaming' | 'tools';
  /** null: unknown, which is not a failure. */
  ok: boolean | null;
  detail: string;
}

export interface ProviderReport {
  provider: string;
  ok: boolean;
  checks: Step[];
}

interface CheckOptions {
  inventory: Inventory;
  deep: boolean;
  probe: ProbeDeps;
}

export async function checkProvider(
  provider: ProviderConfig,
  options: CheckOptions,
): Promise<ProviderReport> {
  const all: Step[] = [];
  for await (const step of steps(provider, options)) all.push(step);
  // If list and request fail with the same message, report it once.
  const failures = all.filter(({ ok }) => ok === false).map(({ detail }) => detail);
  const checks = all.filter(
    ({ ok, detail }) => ok !== null || !failures.some((failure) => failure.includes(detail)),
  );
  return { provider: provider.name, ok: checks.every(({ ok }) => ok !== false), checks };
}

async function* steps(
  provider: ProviderConfig,
  { inventory, deep, probe }: CheckOptions,
): AsyncGenerator<Step> {
  let listed: string[] | undefined;
  try {
    listed = await listModels(inventory.client, provider, { timeoutMs: LIST_MS });
  } catch (error) {
    const message = messageOf(failureOf(error), provider);
    if (isUnreachable(error)) {
      yield { check: 'reachable', ok: false, detail: `${addressOf(provider)}: ${message}` };
      return;
    }
    yield { check: 'reachable', ok: true, detail: addressOf(provider) };
    yield { check: 'models', ok: null, detail: message };
  }
  if (listed !== undefined) {
    yield { check: 'reachable', ok: true, detail: addressOf(provider) };
    // Some servers send their list without a key: only the request below shows whether the key is valid.
    inventory.routing.setDiscovered(provider.name, listed);
    yield* missingModels(provider, listed);
  }
  const target = targetOf(provider, inventory);
  if (target === undefined) {
    yield { check: 'streaming', ok: null, detail: 'not tried: no model is known' };
    return;
  }
  yield* await generating(target, deep, probe);
}

/** Whether the provider sent no response. Any other failure is a response: many servers have no list. */
function isUnreachable(error: unknown): boolean {
  if (error instanceof FailureError) return error.failure.status === undefined;
  return error instanceof Error && error.name === 'TimeoutError';
}

function* missingModels(provider: ProviderConfig, listed: readonly string[]): Generator<Step> {
  if (provider.models === null && provider.name === SIM) {
    yield { check: 'models', ok: true, detail: listed.map((name) => `${SIM}/${name}`).join(', ') };
    return;
  }
  if (provider.models === null) {
    yield {
      check: 'models',
      ok: true,
      detail: `lists ${plural(listed.length, 'model')}; clients may use any name`,
    };
    return;
  }
  const names = new Set(listed.flatMap((name) => [name, name.replace(/^models\//, '')]));
  const missing = provider.models.filter(
    ({ upstream }) => !names.has(upstream) && !names.has(`${upstream}:latest`),
  );
  const count = provider.models.length;
  if (missing.length === 0)
    yield { check: 'models', ok: true, detail: `lists ${plural(count, 'configured model')}` };
  else {
    const missingNames = missing.map(({ upstream }) => upstream).join(', ');
    yield {
      check: 'models',
      ok: false,
      detail: `it does not list ${missingNames}; correct the name, or remove it`,
    };
  }
}

/** `deep`: tools too, and each of the provider's protocols. */
async function generating(target: Target, deep: boolean, deps: ProbeDeps): Promise<Step[]> {
  const { protocols: spoken } = target.provider;
  const steps: Step[] = [];
  for (const name of deep ? spoken : [protocolFor(target)]) {
    const label = deep && spoken.length > 1 ? `${target.key} (${name})` : target.key;
    steps.push(...(await generatingIn(name, label, target, deep, deps)));
  }
  // The key is the same for every protocol.
  return steps.filter(({ check, ok }, at) => check !== 'key' || !ok || at === 0);
}

async function generatingIn(
  name: ProtocolName,
  label: string,
  target: Target,
  deep: boolean,
  deps: ProbeDeps,
): Promise<Step[]> {
  const { provider } = target;
  const steps: Step[] = [];
  try {
    await probeStream(target, name, false, deps);
    if (provider.apiKey !== undefined) steps.push({ check: 'key', ok: true, detail: 'accepted' });
    steps.push({ check: 'streaming', ok: true, detail: label });
    if (!deep) return steps;
    const events = await probeStream(target, name, true, deps);
    const called = calledTool(events);
    steps.push({
      check: 'tools',
      ok: called,
      detail: called ? label : `${label} did not call the tool that it must call`,
    });
  } catch (error) {
    const failure = failureOf(error);
    const check = failure.kind === 'provider_key' ? 'key' : steps.length > 0 ? 'tools' : 'streaming';
    steps.push({
      check,
      ok: false,
      detail: `${label}: ${messageOf(failure, provider)}${keyHint(failure, target)}`,
    });
  }
  return steps;
}

/** The target to ask: the first model of the file, else the preset's default model, else the first of the provider's list. */
function targetOf(provider: ProviderConfig, { routing }: Inventory): Target | undefined {
  const own = routing
    .models(null)
    .flatMap(({ targets }) => targets.filter((target) => target.provider.name === provider.name));
  const name = provider.models?.[0]?.id ?? provider.defaultModel ?? own[0]?.model;
  if (name === undefined) return undefined;
  const entry = routing.model(`${provider.name}/${name}`, null);
  return entry?.targets.find((target) => target.provider.name === provider.name);
}

function failureOf(error: unknown): ProviderFailure {
  if (error instanceof FailureError) return error.failure;
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
}

function messageOf({ status, message }: ProviderFailure, provider: ProviderConfig): string {
  const text = redact(message, provider);
  return status === undefined ? text : `${status}, ${text}`;
}

function addressOf({ name, baseUrls, protocols }: ProviderConfig): string {
  if (name === SIM) return 'built in';
  return (protocols[0] && baseUrls[protocols[0]]) ?? '';
}

// The request that a check sends.

const MAX_TOKENS = 64;
const LIMITS = { maxReply: 1024 * 1024, maxValues: 100_000 };
const TOOL = 'report_status';

interface ProbeDeps {
  client: ProviderClient;
  ids: Ids;
}

/** Sends one small request and collects the events of its stream. Throws FailureError if the stream is not complete. */
async function probeStream(
  target: Target,
  name: ProtocolName,
  tool: boolean,
  { client, ids }: ProbeDeps,
): Promise<StreamEvent[]> {
  const { provider } = target;
  const protocol = protocols[name];
  const base = provider.baseUrls[protocol.name] ?? '';
  const { body } = protocol.provider.encodeRequest(requestFor(target, tool), target.upstream, target.traits);
  const reply = await client.open(
    {
      url: base + protocol.provider.path,
      method: 'POST',
      headers: headersFor(provider, protocol.name, true),
      body: Buffer.from(JSON.stringify(body)),
      stream: true,
      timeout: provider.timeout,
    },
    NEVER_CANCELLED,
  );
  if (reply.status !== 200) {
    const text = (await readBody(reply.body, LIMITS.maxReply)).toString('utf8');
    throw new FailureError({
      ...protocol.provider.decodeError(reply.status, reply.headers(), text),
      status: reply.status,
    });
  }
  return collect(reply.body, protocol.provider.createStreamDecoder({ ids, traits: target.traits }));
}

/** Whether the model called the tool, with arguments that are JSON. */
function calledTool(events: readonly StreamEvent[]): boolean {
  const isCalled = events.some((event) => event.type === 'tool_start' && event.name === TOOL);
  const text = events.map((event) => (event.type === 'tool_delta' ? event.text : '')).join('');
  try {
    JSON.parse(text || '{}');
    return isCalled;
  } catch {
    return false;
  }
}

function requestFor(target: Target, tool: boolean): GenerationRequest {
  const text = tool ? `Call the tool ${TOOL} with the status "ok".` : 'Answer with the one word: ok';
  const request: GenerationRequest = {
    protocol: PROTOCOL_NAMES[0],
    model: target.model,
    stream: true,
    includeUsage: true,
    messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
    maxOutputTokens: tool ? 4 * MAX_TOKENS : MAX_TOKENS,
    native: [],
  };
  if (!tool) return request;
  return {
    ...request,
    tools: [
      {
        type: 'function',
        name: TOOL,
        description: 'Reports a status.',
        parameters: { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] },
      },
    ],
    ...(target.traits.forcedTools !== 'never' && { toolChoice: { type: 'required' as const } }),
  };
}

function collect(body: ReplyBody, decoder: StreamDecoder): Promise<StreamEvent[]> {
  return new Promise((resolve, reject) => {
    const events: StreamEvent[] = [];
    const source = openFrames(body, LIMITS);
    const fail = (failure: ProviderFailure): void => {
      source.abort();
      reject(new FailureError(failure));
    };
    const take = (more: readonly StreamEvent[]): void => {
      events.push(...more);
      const last = events.at(-1);
      if (last?.type === 'error') fail(last.failure);
      if (last?.type !== 'end') return;
      source.release();
      resolve(events);
    };
    source.read({
      frames: (frames) => frames.forEach((frame) => take(decoder.push(frame))),
      end: (clean) => take(decoder.finish(clean)),
      fail,
    });
  });
}
