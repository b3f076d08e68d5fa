// What a responses request is changed in before it is relayed to a server that would refuse it.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import { answerInWords } from '../shared/encode-context.ts';
import { asUsersText } from '../shared/texts/native-text.ts';
import { responsesArguments } from '../shared/relay/arguments.ts';
import { objectsIn, type RelayRule } from '../shared/relay/fit.ts';
import { orderRules } from '../shared/relay/order.ts';
import {
  fittedEffort,
  fittedSampling,
  objectRoots,
  withinOutput,
  withoutRefused,
} from '../shared/relay/rules.ts';
import { saysJson } from './request/encode-format.ts';
import { withNone } from './request/encode-reasoning.ts';
import {
  BRIDGE,
  CONTINUE,
  isResult,
  isSystem,
  merge,
  OPENING,
  textsIn,
  withFirst,
} from './request/server-rules.ts';

const EFFORT = ['reasoning', 'effort'];

const leastOutput: RelayRule = ({ value: { max_output_tokens: asked }, traits: { minOutput }, set }) => {
  if (typeof asked === 'number' && asked < minOutput)
    set(['max_output_tokens'], minOutput, `the least that this server takes: ${minOutput}`);
};

const nearest = fittedEffort(EFFORT);
const effort: RelayRule = (fitting) => nearest({ ...fitting, traits: withNone(fitting.traits) });

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
    withNone(traits).efforts.includes('none') &&
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

const answerFormat: RelayRule = ({ value, traits, set, add }) => {
  const { text, input } = value;
  const format = isObject(text) ? text.format : undefined;
  if (!isObject(format)) return;
  const { responseFormats: forms, jsonWord } = traits;
  const put = (form: JsonObject, why: string): void => set(['text', 'format'], form, why);
  let words: string | undefined;
  if (format.type === 'json_object' && !forms.includes('json_object') && forms.includes('json_schema')) {
    put(
      { type: 'json_schema', name: 'answer', schema: { type: 'object' } },
      'sent as the schema of an object',
    );
  } else if (
    format.type === 'json_schema' &&
    !forms.includes('json_schema') &&
    forms.includes('json_object')
  ) {
    put({ type: 'json_object' }, 'this server takes no schema: it was sent in words');
    const schema = isObject(format.schema) ? format.schema : {};
    words = answerInWords({ type: 'json_schema', schema });
  } else if (format.type === 'json_object' && jsonWord && !saysJson(input)) {
    words = answerInWords({ type: 'json_object' });
  }
  if (words === undefined) return;
  const why = 'a line of the input says what JSON the answer is';
  if (Array.isArray(input)) add('prepend', ['input'], withFirst([], words, traits)[0] ?? null, why);
  else set(['input'], withFirst(input, words, traits), why);
};

/** Late system text, and texts in a list. */
const messages: RelayRule = ({ value, traits, set }) => {
  const { strictAlternation, lateSystem, contentLists } = traits;
  const takesLate = lateSystem === 'system' && !strictAlternation;
  if (takesLate && contentLists) return;
  let hasSpoken = false;
  for (const [index, item] of objectsIn(value.input)) {
    const path = ['input', index] as const;
    const joined = item.role === undefined ? undefined : textsIn(item.content);
    if (isSystem(item) && hasSpoken && !takesLate) {
      const why = 'late system text was sent as a message of the user';
      set([...path, 'role'], 'user', why);
      const text = joined ?? item.content;
      if (typeof text === 'string') set([...path, 'content'], asUsersText(text), why);
    } else if (!contentLists && joined !== undefined) {
      set([...path, 'content'], joined, 'texts in a list were joined');
    }
    hasSpoken ||= !isSystem(item);
  }
};

export const ORDER_RULES = orderRules({
  list: 'input',
  isResult,
  hasCalls: () => false,
  merge,
  opening: OPENING,
  bridge: BRIDGE,
  ending: CONTINUE,
});

export const RELAY_RULES: readonly RelayRule[] = [
  withoutRefused,
  withinOutput('max_output_tokens'),
  leastOutput,
  fittedSampling(EFFORT),
  effort,
  forcedCalls,
  objectRoots(['parameters']),
  imageDetail,
  answerFormat,
  messages,
  responsesArguments,
];
