// What a messages request is changed in before it is relayed to a server that would refuse it.
import { isObject } from '../../canonical/json.ts';
import { isEffort, effortOf } from '../shared/effort.ts';
import type { Warning } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import { messagesInputs } from '../shared/relay/arguments.ts';
import { objectsIn, type FittedHeaders, type RelayRule } from '../shared/relay/fit.ts';
import {
  fittedEffort,
  fittedSampling,
  isSwitchedOff,
  objectRoots,
  withinOutput,
  withoutRefused,
} from '../shared/relay/rules.ts';

const EFFORT = ['output_config', 'effort'];

/** Thinking in a form that the model refuses: `enabled` for `adaptive` or the reverse, or off for a model that always thinks. */
const thinking: RelayRule = ({ value, traits, set, drop }) => {
  const { thinking: asked, output_config: output, max_tokens: limit } = value;
  if (!isObject(asked)) return;
  if (traits.thinking === false) return drop(['thinking'], 'this model does not think');
  if (asked.type === 'enabled' && !traits.thinkingBudget && traits.thinkingAdaptive) {
    const { budget_tokens: budget, ...rest } = asked;
    set(['thinking'], { ...rest, type: 'adaptive' }, 'sent as adaptive');
    const isGraded = isObject(output) && isEffort(output.effort);
    if (typeof budget === 'number' && !isGraded && traits.efforts.length > 0) {
      const effort = effortOf(budget);
      const fitted = effort === 'minimal' && !traits.efforts.includes(effort) ? 'low' : effort;
      set(
        ['output_config'],
        { ...(isObject(output) ? output : {}), effort: fitted },
        `the budget was sent as effort ${fitted}`,
      );
    }
  } else if (asked.type === 'adaptive' && isOfBudgets(traits)) {
    const most = typeof limit === 'number' ? limit - 512 : LEAST_BUDGET;
    if (most < LEAST_BUDGET) return drop(['thinking'], 'the limit leaves no room to think');
    set(['thinking'], { type: 'enabled', budget_tokens: Math.min(most, USUAL_BUDGET) }, 'sent with a budget');
  } else if (asked.type === 'disabled' && traits.thinkingOff === 'between_tools') {
    set(
      ['thinking', 'type'],
      'between_tools',
      'this model can be kept from thinking before its first call alone',
    );
  } else if (asked.type === 'disabled' && traits.thinkingOff === 'never') {
    drop(['thinking'], 'this model cannot be kept from thinking');
  }
};

/** Only of a model that is known to think: for others these traits are a guess. */
function isOfBudgets({ thinking, thinkingAdaptive, thinkingBudget }: Traits): boolean {
  return thinking === true && !thinkingAdaptive && thinkingBudget;
}

const LEAST_BUDGET = 1024;
const USUAL_BUDGET = 10_000;

const forcedCalls: RelayRule = ({ value, traits, set }) => {
  const { tool_choice: choice, thinking: asked } = value;
  if (!isObject(choice) || (choice.type !== 'any' && choice.type !== 'tool')) return;
  const thinks = isObject(asked) ? !isSwitchedOff(value) : traits.thinksByDefault;
  if (traits.forcedTools === 'always' || (traits.forcedTools === 'not_thinking' && !thinks)) return;
  if (traits.forcedTools === 'not_thinking' && asked === undefined && traits.thinkingOff === 'always') {
    return set(['thinking'], { type: 'disabled' }, 'thinking is switched off for a forced call');
  }
  const { name: _name, ...rest } = choice;
  set(
    ['tool_choice'],
    { ...rest, type: 'auto' },
    'this model takes no forced call while it thinks: sent as auto',
  );
};

const lateSystem: RelayRule = ({ value, traits, isKnown, set }) => {
  if (traits.midSystem || !(isKnown || traits.lateSystem === 'user')) return;
  for (const [index, message] of objectsIn(value.messages)) {
    if (message.role === 'system') {
      set(['messages', index, 'role'], 'user', 'late system text was sent as a message of the user');
    }
  }
};

const endWithUser: RelayRule = ({ value: { messages }, traits, add }) => {
  if (traits.lastRole === 'any') return;
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isObject(last) || last.role !== 'assistant') return;
  // Results answer calls, and a paused turn continues.
  if (objectsIn(last.content).some(([, { type }]) => type === 'tool_use' || type === 'server_tool_use'))
    return;
  const more = { role: 'user', content: 'Continue.' };
  add('append', ['messages'], more, 'this model goes on only after the user');
};

export const RELAY_RULES: readonly RelayRule[] = [
  withoutRefused,
  withinOutput('max_tokens'),
  fittedSampling(EFFORT),
  thinking,
  fittedEffort(EFFORT),
  forcedCalls,
  objectRoots(['input_schema']),
  lateSystem,
  messagesInputs,
  endWithUser,
];

const BETA = 'anthropic-beta';
const NOT_THESE: Warning = {
  effect: 'dropped',
  field: { path: BETA },
  detail: 'this server refuses some of its values',
};

export function fitHeaders(headers: readonly string[], { rejectFields }: Traits): FittedHeaders {
  const refused = rejectFields.flatMap((entry) =>
    entry.startsWith(`${BETA}=`) ? [entry.slice(BETA.length + 1)] : [],
  );
  const at = refused.length === 0 ? -1 : headers.findIndex((name, index) => index % 2 === 0 && name === BETA);
  if (at === -1) return { headers };
  const given = (headers[at + 1] ?? '').split(',').map((value) => value.trim());
  const taken = given.filter((value) => !refused.includes(value));
  if (taken.length === given.length) return { headers };
  const rest = taken.length === 0 ? [] : [BETA, taken.join(',')];
  return { headers: [...headers.slice(0, at), ...rest, ...headers.slice(at + 2)], warning: NOT_THESE };
}
