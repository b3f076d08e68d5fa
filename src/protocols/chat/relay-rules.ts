// What a chat request is changed in before it is relayed to a server that would refuse it.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { chatArguments } from '../shared/relay/arguments.ts';
import { objectsIn, type Fitting, type RelayRule } from '../shared/relay/fit.ts';
import {
  fittedEffort,
  fittedSampling,
  objectRoots,
  withinOutput,
  withoutRefused,
} from '../shared/relay/rules.ts';
import { BUDGETS, isEffort } from '../shared/effort.ts';
import { answerInWords } from '../shared/encode-context.ts';
import { fittedBudget, thinkingSwitch } from './request/encode-reasoning.ts';
import { UNSIGNED } from './request/encode-tools.ts';
import { BRIDGE, CONTINUE, merge, OPENING } from './request/server-rules.ts';
import { orderRules } from '../shared/relay/order.ts';
import { asUsersText } from '../shared/texts/native-text.ts';
import { fitToolId } from '../shared/tools/tool-names.ts';

const EFFORT = ['reasoning_effort'];

/** The limit's name, where the server refuses the other one. */
const limitsName: RelayRule = ({ value, traits: { maxTokensField, rejectFields }, rename }) => {
  const isNewer = maxTokensField === 'max_completion_tokens';
  const given = isNewer ? 'max_tokens' : 'max_completion_tokens';
  if (value[given] === undefined || value[maxTokensField] !== undefined) return;
  if (isNewer || rejectFields.includes(given)) rename([given], maxTokensField, `sent as ${maxTokensField}`);
};

const noStreamOptions: RelayRule = ({ value, traits, drop }) => {
  if (!traits.streamUsage && value.stream_options !== undefined)
    drop(['stream_options'], 'this server takes none');
};

const USUAL_STOPS = 4;

/** Nobody cuts the text of a relayed answer: what the server cannot stop at is named. */
const fewerStops: RelayRule = ({ value: { stop }, traits: { maxStop }, drop, set }) => {
  if (stop === undefined || stop === null) return;
  const all = Array.isArray(stop) ? stop : [stop];
  // The usual bound is a guess where nothing is known.
  if (all.length <= maxStop || maxStop >= USUAL_STOPS) return;
  if (maxStop === 0) drop(['stop'], 'this server takes no stop sequences');
  else set(['stop'], all.slice(0, maxStop), `this server takes ${maxStop} stop sequences`);
};

/** False: there is no member that switches it. What a model does by default needs none. */
function switchThinking(on: boolean, { traits, value, set }: Fitting): boolean {
  const member = thinkingSwitch(on, traits);
  if (member === undefined) return false;
  const [name, state] = member;
  const isNeeded = !on || !traits.thinksByDefault;
  if (isNeeded && value[name] === undefined) set([name], state, `thinking is switched ${on ? 'on' : 'off'}`);
  return true;
}

/** How much, for a model that has a switch and no grades. */
const effortAsBudget: RelayRule = ({ value, traits, set }) => {
  const { reasoning_effort: effort, thinking_budget: budget } = value;
  const isGraded = traits.efforts.some((grade) => grade !== 'none');
  if (traits.budgetRange.length === 0 || isGraded || budget !== undefined) return;
  if (!isEffort(effort) || effort === 'none') return;
  const tokens = fittedBudget(BUDGETS[effort], traits);
  set(['thinking_budget'], tokens, `the effort was sent as a budget of ${tokens} tokens`);
};

const noMaxOnChat: RelayRule = ({ value, traits, set }) => {
  if (value.reasoning_effort !== 'max' || traits.maxEffortOnChat) return;
  set(EFFORT, 'xhigh', 'this model takes max on other protocols alone: sent as xhigh');
};

const adaptiveThinking: RelayRule = ({ value: { thinking }, traits: { thinkingForm }, set }) => {
  if (thinkingForm === 'adaptive' && isObject(thinking) && thinking.type === 'enabled') {
    set(['thinking', 'type'], 'adaptive', 'sent as adaptive');
  } else if (thinkingForm === 'type' && isObject(thinking) && thinking.type === 'adaptive') {
    set(['thinking', 'type'], 'enabled', 'sent as enabled');
  }
};

function isThinking({ value, traits }: Fitting): boolean {
  const { reasoning_effort: effort, thinking, enable_thinking: enabled } = value;
  if (effort === 'none' || enabled === false) return false;
  if (isObject(thinking)) return thinking.type !== 'disabled';
  return effort !== undefined || enabled === true || traits.thinksByDefault;
}

const asksToThink = ({ reasoning_effort: effort, thinking, enable_thinking: enabled }: JsonObject): boolean =>
  effort !== undefined || thinking !== undefined || enabled !== undefined;

const toolsBesideThinking: RelayRule = (fitting) => {
  const { value, traits, set } = fitting;
  if (traits.toolsWhileThinking !== 'not_on_chat' || !Array.isArray(value.tools) || value.tools.length === 0)
    return;
  if (isThinking(fitting) && traits.efforts.includes('none')) {
    set(EFFORT, 'none', 'this model takes no tools on chat while it thinks: sent as none');
  }
};

const forcedCalls: RelayRule = (fitting) => {
  const { value, traits, set, drop } = fitting;
  const { tool_choice: choice } = value;
  const isNamed = isObject(choice) && choice.type === 'function';
  if (choice !== 'required' && !isNamed) return;
  // Of a model that thinks only when it is asked to, the rule is not known.
  const refusesNow = traits.forcedTools === 'not_thinking' && traits.thinksByDefault && isThinking(fitting);
  if (traits.forcedTools === 'never' || refusesNow) {
    const canBeOff = refusesNow && traits.thinkingOff === 'always' && !asksToThink(value);
    if (canBeOff && switchThinking(false, fitting)) return;
    set(['tool_choice'], 'auto', 'this model takes no forced call while it thinks: sent as auto');
    return;
  }
  if (!isNamed || traits.namedToolChoice) return;
  set(['tool_choice'], 'required', 'this server takes words alone: sent as required');
  const name = isObject(choice.function) ? choice.function.name : undefined;
  const isMeant = ([, tool]: [number, JsonObject]): boolean =>
    isObject(tool.function) && tool.function.name === name;
  const tools = objectsIn(value.tools);
  const meant = tools.find(isMeant);
  if (meant === undefined) return;
  for (const tool of tools) if (tool !== meant) drop(['tools', tool[0]], 'the named tool alone was sent');
};

const responseFormat: RelayRule = (fitting) => {
  const { value, traits, set, add } = fitting;
  const { response_format: format, messages } = value;
  if (!isObject(format)) return;
  const takes = (type: 'json_object' | 'json_schema'): boolean => traits.responseFormats.includes(type);
  if (format.type === 'json_object' && !takes('json_object') && takes('json_schema')) {
    const schema = { name: 'answer', schema: { type: 'object' } };
    set(['response_format'], { type: 'json_schema', json_schema: schema }, 'sent as the schema of an object');
    return;
  }
  if (format.type === 'json_schema' && !takes('json_schema') && takes('json_object')) {
    const given = isObject(format.json_schema) ? format.json_schema.schema : undefined;
    const schema = isObject(given) ? given : {};
    set(['response_format'], { type: 'json_object' }, 'this server takes no schema: it was sent in words');
    const content = answerInWords({ type: 'json_schema', schema });
    add('prepend', ['messages'], { role: 'system', content }, 'the schema of the answer was sent in words');
  } else if (
    format.type === 'json_object' &&
    traits.jsonWord &&
    !/json/i.test(JSON.stringify(messages ?? []))
  ) {
    const message = { role: 'system', content: answerInWords({ type: 'json_object' }) };
    add(
      'prepend',
      ['messages'],
      message,
      'this server demands the word JSON: a line of system text was added',
    );
  }
};

/** Roles, contents, ids and reasoning of messages. */
const messages: RelayRule = (fitting) => {
  const { value, traits, set } = fitting;
  let hasSpoken = false;
  for (const [index, message] of objectsIn(value.messages)) {
    const { role, content } = message;
    const path = ['messages', index] as const;
    const isSystem = role === 'system' || role === 'developer';
    const takesLate = traits.lateSystem === 'system' && !traits.strictAlternation;
    if (role === 'developer' && traits.systemRole === 'system' && fitting.isKnown) {
      set([...path, 'role'], 'system', 'the role developer was sent as system');
    }
    const isLate = isSystem && hasSpoken && !takesLate;
    if (isLate) late(path, content, fitting);
    if (!isSystem) hasSpoken = true;
    if (!isLate && !traits.contentLists && isTexts(content))
      set([...path, 'content'], textsIn(content), 'texts in a list were joined');
    for (const [at, part] of objectsIn(content)) imageDetail([...path, 'content', at], part, fitting);
    if (role === 'assistant') reasoning(path, message, fitting);
    if (traits.thoughtSignatures) signature(path, message, fitting);
    if (traits.toolIds !== 'any') ids(path, message, fitting);
  }
};

/** Beside what the user says, it would not be known as the system's. */
function late(path: readonly (string | number)[], content: JsonValue | undefined, { set }: Fitting): void {
  const why = 'late system text was sent as a message of the user';
  set([...path, 'role'], 'user', why);
  const text = isTexts(content) ? textsIn(content) : content;
  if (typeof text === 'string') set([...path, 'content'], asUsersText(text), why);
}

function textsIn(parts: readonly JsonValue[]): string {
  return parts.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('\n\n');
}

function isTexts(content: JsonValue | undefined): content is JsonValue[] {
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((part) => isObject(part) && part.type === 'text' && typeof part.text === 'string')
  );
}

function imageDetail(
  path: readonly (string | number)[],
  part: JsonObject,
  { traits, set, drop }: Fitting,
): void {
  const detail = isObject(part.image_url) ? part.image_url.detail : undefined;
  if (detail === undefined) return;
  if (traits.imageDetail === 'none') drop([...path, 'image_url', 'detail'], 'this server refuses it');
  else if (detail === 'original') {
    set([...path, 'image_url', 'detail'], 'high', 'original was sent as high');
  }
}

/** A turn with calls that must have its reasoning, and has none. */
function reasoning(path: readonly (string | number)[], message: JsonObject, fitting: Fitting): void {
  const { replayReasoning, reasoningField: field, reasoningFill } = fitting.traits;
  const calls = message.tool_calls;
  const other = field === 'reasoning' ? 'reasoning_content' : 'reasoning';
  if (typeof message[other] === 'string' && message[field] === undefined && replayReasoning !== 'never') {
    fitting.rename([...path, other], field, `sent as ${field}`);
    return;
  }
  if (replayReasoning === 'never') {
    if (!fitting.isKnown) return;
    for (const name of ['reasoning_content', 'reasoning']) {
      if (typeof message[name] === 'string')
        fitting.drop([...path, name], 'this model takes no reasoning back');
    }
    return;
  }
  if (!Array.isArray(calls) || calls.length === 0 || !isThinking(fitting)) return;
  const given = message[field];
  if (typeof given === 'string' && (given !== '' || reasoningFill === '')) return;
  fitting.set(
    [...path, field],
    reasoningFill,
    'a turn with calls must have reasoning: a blank stands for it',
  );
}

function signature(path: readonly (string | number)[], message: JsonObject, { set }: Fitting): void {
  const [first] = objectsIn(message.tool_calls);
  if (first === undefined || first[1].extra_content !== undefined) return;
  set(
    [...path, 'tool_calls', first[0], 'extra_content'],
    UNSIGNED,
    'a call without a signature got the value for none',
  );
}

function ids(path: readonly (string | number)[], message: JsonObject, { traits, set }: Fitting): void {
  const why = 'ids of calls were fitted to this server';
  const fit = (place: readonly (string | number)[], id: JsonValue | undefined): void => {
    if (typeof id !== 'string') return;
    const fitted = fitToolId(id, traits.toolIds);
    if (fitted !== id) set([...path, ...place], fitted, why);
  };
  fit(['tool_call_id'], message.tool_call_id);
  for (const [at, call] of objectsIn(message.tool_calls)) fit(['tool_calls', at, 'id'], call.id);
}

export const ORDER_RULES = orderRules({
  list: 'messages',
  isResult: ({ role }) => role === 'tool',
  hasCalls: ({ tool_calls: calls, function_call: legacy }) => calls !== undefined || legacy !== undefined,
  merge,
  opening: OPENING,
  bridge: BRIDGE,
  ending: CONTINUE,
});

export const RELAY_RULES: readonly RelayRule[] = [
  withoutRefused,
  withinOutput('max_tokens', 'max_completion_tokens'),
  limitsName,
  noStreamOptions,
  fittedSampling(EFFORT),
  fewerStops,
  effortAsBudget,
  fittedEffort(EFFORT, switchThinking),
  noMaxOnChat,
  adaptiveThinking,
  toolsBesideThinking,
  forcedCalls,
  responseFormat,
  objectRoots(['function', 'parameters']),
  messages,
  chatArguments,
];
