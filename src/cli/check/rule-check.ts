// Asks each rule of a target's model, in each protocol of its provider, and says which ones the server does not keep, and the line of the
// configuration that says so. What it takes must be taken; what it refuses must be refused, and what is sent in its place taken.
import type { ProtocolName } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import { GatewayError, type ProviderFailure } from '../../errors.ts';
import { plural } from '../../plural.ts';
import type { Target } from '../../routing/catalog.ts';
import { askTaught, bodyOf, type Asked, type Outcome } from './ask.ts';
import { configLines } from './config-lines.ts';
import { refusedRules, unaskedRules } from './refused-rules.ts';
import { messageOf, type ProbeDeps, type Step } from './report.ts';
import type { RefusedRule, TakenRule } from './rule.ts';
import { takenRules } from './taken-rules.ts';

/** Models that think need them. */
const MAX_TOKENS = 1024;

/** Some servers refuse what they do not know with a 404 or a 500. */
const isRefusal = ({ kind, status = 0 }: ProviderFailure): boolean =>
  kind === 'invalid_request' ||
  kind === 'too_large' ||
  kind === 'context_overflow' ||
  [404, 500].includes(status);

export async function checkRules(target: Target, deps: ProbeDeps): Promise<Step[]> {
  const { protocols } = target.provider;
  const steps: Step[] = [];
  for (const name of protocols) {
    const label = protocols.length > 1 ? `${name}: ` : '';
    steps.push(...(await new RuleCheck(target, name, deps).steps(label)));
  }
  const unasked = unaskedRules(target.traits);
  if (unasked.length > 0) {
    const detail = `not asked, since no small request shows it: ${unasked.join(', ')}`;
    steps.push({ check: 'rules', ok: null, detail });
  }
  return steps;
}

/** Of a server that gives no answer at all: after it no rule can be judged. */
class Interrupted extends Error {
  readonly failure: ProviderFailure;
  constructor(failure: ProviderFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** `false`: nothing breaks, but something is changed or left out that the server takes. */
interface Fault {
  breaks: boolean;
  what: string;
  line: string;
}

class RuleCheck {
  readonly #target: Target;
  readonly #name: ProtocolName;
  readonly #deps: ProbeDeps;
  /** By the body: several rules may send the same one. */
  readonly #outcomes = new Map<string, Promise<Outcome>>();

  constructor(target: Target, name: ProtocolName, deps: ProbeDeps) {
    this.#target = target;
    this.#name = name;
    this.#deps = deps;
  }

  async steps(label: string): Promise<Step[]> {
    const wire = { traits: this.#target.traits, protocol: this.#name };
    const steps: Step[] = [];
    const kept: string[] = [];
    const rules = [
      ...takenRules(wire).map((rule) => ({ name: rule.name, fault: () => this.#faultOfTaken(rule) })),
      ...refusedRules(wire).map((rule) => ({ name: rule.name, fault: () => this.#faultOfRefused(rule) })),
    ];
    for (const { name, fault: judge } of rules) {
      try {
        const fault = await judge();
        if (fault === 'kept') kept.push(name);
        else if (fault !== 'not here') {
          const detail = `${label}${name}: ${fault.what}; ${fault.line}`;
          steps.push({ check: 'rules', ok: fault.breaks ? false : null, detail });
        }
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error;
        const why = messageOf(error.failure, this.#target.provider);
        const detail = `${label}${name} and what follows: not known, ${why}`;
        steps.push({ check: 'rules', ok: null, detail });
        break;
      }
    }
    if (kept.length === 0) return steps;
    const detail = `${label}${plural(kept.length, 'rule')} kept: ${kept.join(', ')}`;
    return [{ check: 'rules', ok: true, detail }, ...steps];
  }

  async #faultOfTaken(rule: TakenRule): Promise<Fault | 'kept' | 'not here'> {
    if (!this.#isTaken(rule)) return 'not here';
    const outcome = await this.#asked(rule.asked, {});
    const what = this.#faultIn(rule, outcome);
    return what === undefined ? 'kept' : { breaks: true, what, line: await this.#lineFor(rule, outcome) };
  }

  /** Whether what is asked for is sent as it is, and the rule is one of this wire. */
  #isTaken({ asked, unless = {}, fixes, lacks }: TakenRule): boolean {
    const sent = this.#bodyWith(asked, {});
    if (sent === undefined || sent !== this.#bodyWith(asked, unless)) return false;
    const isOfWire = fixes.length === 0 || lacks !== undefined;
    return isOfWire || fixes.some((traits) => this.#bodyWith(asked, traits) !== sent);
  }

  async #faultOfRefused({
    asked,
    takes,
    ignored,
    isAbility,
  }: RefusedRule): Promise<Fault | 'kept' | 'not here'> {
    const { edit: _, ...given } = asked;
    const sent = isAbility === true ? undefined : this.#bodyWith(given, {});
    const unchanged = this.#bodyWith(asked, takes);
    // The rule is one of another wire.
    if (unchanged === undefined || sent === unchanged) return 'not here';
    if (sent !== undefined) {
      const instead = await this.#asked(given, {});
      const what = this.#faultIn({ asked: given }, instead);
      if (what !== undefined) {
        const line = this.#taughtLine(instead) ?? 'no flag is known to avoid it';
        return { breaks: true, what: `what is sent in its place is ${what}`, line };
      }
    }
    const outcome = await this.#asked(asked, takes, false);
    if ('failure' in outcome || ignored?.(outcome.answer.given) !== undefined) return 'kept';
    return { breaks: false, what: 'not kept, the server takes it', line: `to send it: ${this.#line(takes)}` };
  }

  /** Undefined: this protocol has no place for what is asked. */
  #bodyWith(asked: Asked, traits: Partial<Traits>): string | undefined {
    try {
      return JSON.stringify(bodyOf(this.#with(traits), this.#name, limited(asked)));
    } catch (error) {
      if (error instanceof GatewayError) return undefined;
      throw error;
    }
  }

  /** `learns`: asked again as a refusal teaches. Throws Interrupted where nothing can be judged. */
  async #asked(asked: Asked, traits: Partial<Traits>, learns = true): Promise<Outcome> {
    const key = `${learns} ${this.#bodyWith(asked, traits) ?? ''}`;
    let pending = this.#outcomes.get(key);
    if (pending === undefined) {
      const lessons = learns ? undefined : 0;
      pending = askTaught(this.#with(traits), this.#name, limited(asked), this.#deps, lessons);
      this.#outcomes.set(key, pending);
    }
    const outcome = await pending;
    if ('failure' in outcome && !isRefusal(outcome.failure)) throw new Interrupted(outcome.failure);
    return outcome;
  }

  #with(traits: Partial<Traits>): Target {
    return { ...this.#target, traits: { ...this.#target.traits, ...traits } };
  }

  /** undefined: the server keeps the rule. */
  #faultIn(rule: Pick<TakenRule, 'asked' | 'ignored'>, outcome: Outcome): string | undefined {
    if ('failure' in outcome) return `refused: ${messageOf(outcome.failure, this.#target.provider)}`;
    if (Object.keys(outcome.taught).length > 0) return 'refused';
    return rule.ignored?.(outcome.answer.given);
  }

  /** What is proposed was tried, but for an ability, by which routes choose a model. */
  async #lineFor(rule: TakenRule, outcome: Outcome): Promise<string> {
    const taught = this.#taughtLine(outcome);
    if (taught !== undefined) return taught;
    for (const traits of rule.fixes) {
      const again = await this.#asked(rule.asked, traits);
      if (this.#faultIn(rule, again) === undefined) return this.#line(traits);
    }
    return rule.lacks === undefined ? 'no flag is known to avoid it' : this.#line(rule.lacks);
  }

  #taughtLine(outcome: Outcome): string | undefined {
    if (!('answer' in outcome) || Object.keys(outcome.taught).length === 0) return undefined;
    return this.#line(outcome.taught);
  }

  #line(traits: Partial<Traits>): string {
    return `providers.${this.#target.provider.name}: ${configLines(this.#target, traits).join(' and ')}`;
  }
}

function limited(asked: Asked): Asked {
  return { maxOutputTokens: MAX_TOKENS, ...asked };
}
