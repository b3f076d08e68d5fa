// Checks one provider from outside, step by step: can it be reached, does it list its models, does it stream an answer, does it
// call tools?
import { NoAnswer } from '../../cancellation.ts';
import { FailureError } from '../../errors.ts';
import type { ProviderConfig } from '../../config/config.ts';
import { SIM } from '../../config/providers.ts';
import { listModels, type ModelList } from '../../providers/discover.ts';
import type { Target } from '../../routing/catalog.ts';
import { CliError } from '../../cli-error.ts';
import { LIST_MS, plainQuery, type Inventory } from '../inventory.ts';
import { failureOf, messageOf, type ProbeDeps, type ProviderReport, type Step } from './report.ts';
import { plural } from '../../plural.ts';

interface CheckOptions {
  inventory: Inventory;
  deep: boolean;
  probe: ProbeDeps;
}

/** What is checked: a provider, by its model that was named or else by one of its own. */
export interface Choice {
  provider: ProviderConfig;
  target?: Target | undefined;
}

/** `name`: a provider's name, or `provider/model`. Throws GatewayError if no such provider or model exists. */
export async function chosen(name: string, inventory: Inventory): Promise<Choice> {
  const provider = inventory.providers.find((each) => each.name === name);
  if (provider !== undefined) {
    const known = targetOf(provider, inventory);
    if (known !== undefined) return { provider, target: known };
    const { models } = await listModels(inventory.client, provider, { timeoutMs: LIST_MS });
    inventory.routing.setDiscovered(provider.name, models);
    return { provider, target: targetOf(provider, inventory) };
  }
  const [target] = inventory.routing.resolve(plainQuery(name)).targets;
  if (target === undefined) throw new CliError(`no provider serves ${name} now`);
  return { provider: target.provider, target };
}

export async function checkProvider(choice: Choice, options: CheckOptions): Promise<ProviderReport> {
  const { provider } = choice;
  const all: Step[] = [];
  for await (const step of steps(choice, options)) all.push(step);
  // If list and request fail with the same message, report it once.
  const failures = all.filter(({ ok }) => ok === false).map(({ detail }) => detail);
  const checks = all.filter(
    ({ ok, detail }) => ok !== null || !failures.some((failure) => failure.includes(detail)),
  );
  return { provider: provider.name, ok: checks.every(({ ok }) => ok !== false), checks };
}

async function* steps(
  { provider, target: named }: Choice,
  { inventory, deep, probe }: CheckOptions,
): AsyncGenerator<Step> {
  let listed: ModelList | undefined;
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
    inventory.routing.setDiscovered(provider.name, listed.models);
    yield* missingModels(provider, listed);
  }
  const target = named ?? targetOf(provider, inventory);
  if (target === undefined) {
    yield { check: 'streaming', ok: null, detail: 'not tried: no model is known' };
    return;
  }
  const { generating } = await import('./answer.ts');
  const generated = await generating(target, deep, probe);
  yield* generated;
  // A model that calls no tool may keep all else.
  if (!deep || generated.some(({ check, ok }) => ok === false && check !== 'tools')) return;
  const { checkRules } = await import('./rule-check.ts');
  yield* await checkRules(target, probe);
}

/** Whether the provider sent no response. Any other failure is a response: many servers have no list. */
function isUnreachable(error: unknown): boolean {
  if (error instanceof FailureError) return error.failure.status === undefined;
  return error instanceof NoAnswer;
}

function* missingModels(provider: ProviderConfig, { models: listed, more }: ModelList): Generator<Step> {
  if (provider.models === null && provider.name === SIM) {
    yield { check: 'models', ok: true, detail: listed.map((name) => `${SIM}/${name}`).join(', ') };
    return;
  }
  if (provider.models === null) {
    yield {
      check: 'models',
      ok: true,
      detail: `lists ${more ? 'more than ' : ''}${plural(listed.length, 'model')}; clients may use any name`,
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
    if (more) {
      const first = plural(listed.length, 'model');
      yield {
        check: 'models',
        ok: null,
        detail: `${missingNames}: not among the first ${first} that it lists`,
      };
      return;
    }
    yield {
      check: 'models',
      ok: false,
      detail: `it does not list ${missingNames}; correct the name, or remove it`,
    };
  }
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

function addressOf({ name, baseUrls, protocols }: ProviderConfig): string {
  if (name === SIM) return 'built in';
  return (protocols[0] && baseUrls[protocols[0]]) ?? '';
}
