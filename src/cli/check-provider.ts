// What can be found out about one provider from outside, step by step; a step that fails spares the later ones.
import { FailureError, type ProviderFailure } from '../errors.ts';
import type { ProviderConfig } from '../config/config.ts';
import { SIM } from '../config/providers.ts';
import { keyHint } from '../gateway/outbound/fallback-policy.ts';
import { redact } from '../gateway/outbound/redact.ts';
import { listModels } from '../providers/discover.ts';
import type { Target } from '../routing/catalog.ts';
import { calledTool, probeStream, type ProbeDeps } from './probe.ts';
import { LIST_MS, type Inventory } from './inventory.ts';

export interface Step {
  check: 'reachable' | 'key' | 'models' | 'streaming' | 'tools';
  /** null: it could not be found out, which is no fault. */
  ok: boolean | null;
  detail: string;
}

export interface ProviderReport {
  provider: string;
  ok: boolean;
  checks: Step[];
}

interface CheckOptions {
  survey: Inventory;
  deep: boolean;
  probe: ProbeDeps;
}

export async function checkProvider(
  provider: ProviderConfig,
  options: CheckOptions,
): Promise<ProviderReport> {
  const found: Step[] = [];
  for await (const step of steps(provider, options)) found.push(step);
  // A list that was refused in the words in which the request was: one failure.
  const failed = found.filter(({ ok }) => ok === false).map(({ detail }) => detail);
  const checks = found.filter(
    ({ ok, detail }) => ok !== null || !failed.some((said) => said.includes(detail)),
  );
  return { provider: provider.name, ok: checks.every(({ ok }) => ok !== false), checks };
}

async function* steps(provider: ProviderConfig, { survey, deep, probe }: CheckOptions): AsyncGenerator<Step> {
  let listed: string[] | undefined;
  try {
    listed = await listModels(survey.client, provider, { timeoutMs: LIST_MS });
  } catch (error) {
    const said = wordsOf(failureOf(error), provider);
    if (isAway(error)) {
      yield { check: 'reachable', ok: false, detail: `${addressOf(provider)}: ${said}` };
      return;
    }
    yield { check: 'reachable', ok: true, detail: addressOf(provider) };
    yield { check: 'models', ok: null, detail: said };
  }
  if (listed !== undefined) {
    yield { check: 'reachable', ok: true, detail: addressOf(provider) };
    // Some servers give their list to anybody: only the request that follows tells whether the key counts.
    survey.routing.setDiscovered(provider.name, listed);
    yield* missingModels(provider, listed);
  }
  const target = targetOf(provider, survey);
  if (target === undefined) {
    yield { check: 'streaming', ok: null, detail: 'not tried: no model is known' };
    return;
  }
  yield* await generating(target, deep, probe);
}

/** No answer began; any other failure is an answer, and many servers have no list. */
function isAway(error: unknown): boolean {
  if (error instanceof FailureError) return error.failure.status === undefined;
  return error instanceof Error && error.name === 'TimeoutError';
}

function* missingModels(provider: ProviderConfig, listed: readonly string[]): Generator<Step> {
  if (provider.models === null && provider.name === SIM) {
    yield { check: 'models', ok: true, detail: listed.map((name) => `${SIM}/${name}`).join(', ') };
    return;
  }
  if (provider.models === null) {
    yield { check: 'models', ok: true, detail: `lists ${listed.length}; any name is taken` };
    return;
  }
  const known = new Set(listed.flatMap((name) => [name, name.replace(/^models\//, '')]));
  const missing = provider.models.filter(
    ({ upstream }) => !known.has(upstream) && !known.has(`${upstream}:latest`),
  );
  const count = provider.models.length;
  if (missing.length === 0) yield { check: 'models', ok: true, detail: `all ${count} are there` };
  else {
    const names = missing.map(({ upstream }) => upstream).join(', ');
    yield {
      check: 'models',
      ok: false,
      detail: `it does not list ${names}; correct the name, or take it out`,
    };
  }
}

async function generating(target: Target, deep: boolean, deps: ProbeDeps): Promise<Step[]> {
  const { provider, key } = target;
  const steps: Step[] = [];
  try {
    await probeStream(target, false, deps);
    if (provider.apiKey !== undefined) steps.push({ check: 'key', ok: true, detail: 'accepted' });
    steps.push({ check: 'streaming', ok: true, detail: key });
    if (!deep) return steps;
    const events = await probeStream(target, true, deps);
    const called = calledTool(events);
    steps.push({
      check: 'tools',
      ok: called,
      detail: called ? key : `${key} did not call the tool that it was told to call`,
    });
  } catch (error) {
    const failure = failureOf(error);
    const check = failure.kind === 'provider_key' ? 'key' : steps.length > 0 ? 'tools' : 'streaming';
    steps.push({
      check,
      ok: false,
      detail: `${key}: ${wordsOf(failure, provider)}${keyHint(failure, target)}`,
    });
  }
  return steps;
}

/** The first model that answers text: of the file, the preset's, or of the provider's own list. */
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

function wordsOf({ status, message }: ProviderFailure, provider: ProviderConfig): string {
  const said = redact(message, provider);
  return status === undefined ? said : `${status}, ${said}`;
}

function addressOf({ name, baseUrls, protocols }: ProviderConfig): string {
  if (name === SIM) return 'built in';
  return (protocols[0] && baseUrls[protocols[0]]) ?? '';
}
