// What a responses request is changed in before it is relayed to a server that would refuse it.
import { isObject } from '../../canonical/json.ts';
import { responsesArguments } from '../shared/relay/arguments.ts';
import { objectsIn, type RelayRule } from '../shared/relay/fit.ts';
import {
  fittedEffort,
  fittedSampling,
  objectRoots,
  withinOutput,
  withoutRefused,
} from '../shared/relay/rules.ts';

const EFFORT = ['reasoning', 'effort'];

const leastOutput: RelayRule = ({ value: { max_output_tokens: asked }, traits: { minOutput }, set }) => {
  if (typeof asked === 'number' && asked < minOutput)
    set(['max_output_tokens'], minOutput, `the least that this server takes: ${minOutput}`);
};

const forcedCalls: RelayRule = ({ value, traits, set }) => {
  const { tool_choice: choice, reasoning } = value;
  const isNamed = isObject(choice) && choice.type === 'function';
  if (choice !== 'required' && !isNamed) return;
  const effort = isObject(reasoning) ? reasoning.effort : undefined;
  const thinks = effort === undefined ? traits.thinksByDefault : effort !== 'none';
  if (
    traits.forcedTools === 'always' ||
    (traits.forcedTools === 'not_thinking' && !(thinks && traits.thinksByDefault))
  )
    return;
  const canBeOff =
    effort === undefined &&
    traits.forcedTools === 'not_thinking' &&
    traits.efforts.includes('none') &&
    traits.thinkingOff === 'always';
  if (canBeOff) set(EFFORT, 'none', 'thinking is switched off for a forced call');
  else set(['tool_choice'], 'auto', 'this model takes no forced call while it thinks: sent as auto');
};

const imageDetail: RelayRule = ({ value, traits, set, drop }) => {
  for (const [index, item] of objectsIn(value.input)) {
    for (const [at, part] of objectsIn(item.content)) {
      if (part.type !== 'input_image' || part.detail === undefined) continue;
      const path = ['input', index, 'content', at, 'detail'];
      if (traits.imageDetail === 'none') drop(path, 'this server refuses it');
      else if (part.detail === 'original' && traits.imageDetail === 'usual')
        set(path, 'high', 'original was sent as high');
    }
  }
};

export const RELAY_RULES: readonly RelayRule[] = [
  withoutRefused,
  withinOutput('max_output_tokens'),
  leastOutput,
  fittedSampling,
  fittedEffort(EFFORT),
  forcedCalls,
  objectRoots(['parameters']),
  imageDetail,
  responsesArguments,
];
