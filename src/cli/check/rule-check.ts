// Asks each rule of a target's model and says which ones the server does not keep, and the line of the configuration that says so.
import type { ProtocolName } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { ProviderFailure } from '../../errors.ts';
import { plural } from '../../plural.ts';
import type { Target } from '../../routing/catalog.ts';
import { askTaught, type Outcome } from './ask.ts';
import { configLines } from './config-lines.ts';
import { messageOf, type ProbeDeps, type Step } from './report.ts';
import { rulesOf, type Rule } from './rules.ts';

/** Models that think need them. */
const MAX_TOKENS = 1024;
/** Of a server without an answer: after it no rule can be judged. */
const isRefusal = ({ kind }: ProviderFailure): boolean => kind === 'invalid_request' || kind === 'too_large';

export async function checkRules(target: Target, name: ProtocolName, deps: ProbeDeps): Promise<Step[]> {
  const steps: Step[] = [];
  const kept: string[] = [];
  for (const rule of rulesOf(target.traits)) {
    const outcome = await asked(rule, {}, target, name, deps);
    if ('failure' in outcome && !isRefusal(outcome.failure)) {
      const detail = `${rule.name} and what follows: not known, ${messageOf(outcome.failure, target.provider)}`;
      steps.push({ check: 'rules', ok: null, detail });
      break;
    }
    const fault = faultOf(rule, outcome, target);
    if (fault === undefined) kept.push(rule.name);
    else {
      const line = await lineFor(rule, outcome, target, name, deps);
      steps.push({ check: 'rules', ok: false, detail: `${rule.name}: ${fault}; ${line}` });
    }
  }
  if (kept.length === 0) return steps;
  const detail = `${plural(kept.length, 'rule')} kept: ${kept.join(', ')}`;
  return [{ check: 'rules', ok: true, detail }, ...steps];
}

function asked(
  rule: Rule,
  traits: Partial<Traits>,
  target: Target,
  name: ProtocolName,
  deps: ProbeDeps,
): Promise<Outcome> {
  const changed = { ...target, traits: { ...target.traits, ...traits } };
  return askTaught(changed, name, { maxOutputTokens: MAX_TOKENS, ...rule.asked }, deps);
}

/** undefined: the server keeps the rule. */
function faultOf(rule: Rule, outcome: Outcome, { provider }: Target): string | undefined {
  if ('failure' in outcome) return `refused: ${messageOf(outcome.failure, provider)}`;
  if (Object.keys(outcome.taught).length > 0) return 'refused';
  return rule.ignored?.(outcome.answer.given);
}

/** What is proposed was tried, but for an ability, by which routes choose a model. */
async function lineFor(
  rule: Rule,
  outcome: Outcome,
  target: Target,
  name: ProtocolName,
  deps: ProbeDeps,
): Promise<string> {
  const write = (traits: Partial<Traits>): string =>
    `providers.${target.provider.name}: ${configLines(target, traits).join(' and ')}`;
  if ('answer' in outcome && Object.keys(outcome.taught).length > 0) return write(outcome.taught);
  for (const traits of rule.fixes) {
    const again = await asked(rule, traits, target, name, deps);
    if (faultOf(rule, again, target) === undefined) return write(traits);
  }
  return rule.lacks === undefined ? 'no flag is known to avoid it' : write(rule.lacks);
}
