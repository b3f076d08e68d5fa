// What a target's model refuses by its rules: for each rule the request that it changes, and traits that leave it unchanged.
// Only what differs from the tolerant defaults is said by a rule.
import { EFFORTS, PROTOCOL_NAMES, type ResponseFormat } from '../../canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../canonical/traits.ts';
import { cutArguments, sampleAt } from '../../protocols/refusals/samples.ts';
import {
  ANSWER_SCHEMA,
  byNameOrId,
  CALL,
  called,
  noCall,
  noJson,
  OK,
  picture,
  say,
  stillThinks,
  user,
  weather,
  when,
  type RefusedRule,
  type Wire,
} from './rule.ts';

const LONG_ID = `call_${'Ab1'.repeat(25)}`;

export function refusedRules(wire: Wire): RefusedRule[] {
  return [
    ...thinkingRules(wire),
    ...toolRules(wire),
    ...formatRules(wire),
    ...samplingRules(wire),
    ...messageRules(wire),
    ...historyRules(wire),
    ...memberRules(wire),
  ];
}

/** Rules that no small request can show. */
export function unaskedRules({ imageUrl, rejectFields }: Traits): string[] {
  const members = rejectFields.filter((path) => sampleAt(path) === undefined);
  return [...when(!imageUrl, 'images by their address'), ...members];
}

function thinkingRules({ traits }: Wire): RefusedRule[] {
  const { thinking, efforts, thinkingOff, thinkingForm, maxEffortOnChat } = traits;
  const messages = [user(OK)];
  const grades = efforts.filter((effort) => effort !== 'none');
  if (thinking === false || grades.length === 0) {
    const takes: Partial<Traits> = { thinking: true, efforts: ['low', 'medium', 'high'] };
    return [{ name: 'no effort', asked: { messages, reasoning: { effort: 'high' } }, takes }];
  }
  const missing = EFFORTS.filter((effort) => effort !== 'none' && !efforts.includes(effort));
  const off: Partial<Traits> = {
    thinkingOff: 'always',
    ...(thinkingForm === 'effort' && { efforts: ['none', ...grades] }),
  };
  return [
    ...missing.map((effort) => ({
      name: `no effort ${effort}`,
      asked: { messages, reasoning: { effort } },
      takes: { efforts: EFFORTS.filter((other) => other === effort || efforts.includes(other)) },
    })),
    ...when(!maxEffortOnChat && efforts.includes('max'), {
      name: 'no effort max in this protocol',
      asked: { messages, reasoning: { effort: 'max' as const } },
      takes: { maxEffortOnChat: true },
    }),
    ...when<RefusedRule>(thinkingOff === 'never' || thinkingOff === 'between_tools', {
      name: 'thinking is never off',
      asked: { messages, reasoning: { mode: 'off' } },
      ignored: stillThinks,
      takes: off,
    }),
    ...when<RefusedRule>(thinkingOff === 'up_to_high', {
      name: 'thinking is not off beside max',
      asked: { messages, reasoning: { mode: 'off', effort: 'max' } },
      takes: { thinkingOff: 'always' },
    }),
    ...budgetRules(traits),
  ];
}

function budgetRules({ thinkingBudget, budgetRange }: Traits): RefusedRule[] {
  const messages = [user(OK)];
  const [least, most] = budgetRange;
  return [
    ...when(!thinkingBudget, {
      name: 'no budget of thinking',
      asked: { messages, reasoning: { mode: 'on' as const, budgetTokens: 1024 }, maxOutputTokens: 4096 },
      takes: { thinkingBudget: true },
    }),
    ...when(most !== undefined, {
      name: `a budget of ${most ?? 0} tokens at most`,
      asked: { messages, reasoning: { mode: 'on' as const, budgetTokens: 2 * (most ?? 0) } },
      takes: { budgetRange: [least ?? 1, 2 * (most ?? 0)] },
    }),
  ];
}

function toolRules({ traits }: Wire): RefusedRule[] {
  const messages = [user(CALL)];
  const tools = [weather];
  if (traits.tools === false) {
    return [{ name: 'no tools', asked: { messages, tools }, takes: { tools: true }, isAbility: true }];
  }
  const required = { messages, tools, toolChoice: { type: 'required' as const } };
  const thinks = traits.thinking === true || traits.thinksByDefault;
  return [
    ...when<RefusedRule>(traits.forcedTools === 'never', {
      name: 'no forced call',
      asked: required,
      ignored: noCall,
      takes: { forcedTools: 'always' },
    }),
    ...when<RefusedRule>(traits.forcedTools === 'not_thinking' && thinks, {
      name: 'no forced call while thinking',
      asked: { ...required, reasoning: { mode: 'on', effort: 'high' }, maxOutputTokens: 4096 },
      ignored: noCall,
      takes: { forcedTools: 'always' },
    }),
    ...when<RefusedRule>(!traits.namedToolChoice && traits.forcedTools !== 'never', {
      name: 'no call of a named tool',
      asked: { messages, tools, toolChoice: { type: 'tool', name: weather.name } },
      ignored: noCall,
      takes: { namedToolChoice: true },
    }),
    ...when(traits.schemaRoot === 'object', {
      name: 'no tool with a union',
      asked: { messages: [user(OK)], tools: [byNameOrId] },
      takes: { schemaRoot: 'any' as const },
    }),
    ...when<RefusedRule>(traits.toolsWhileThinking === 'not_on_chat', {
      name: 'no tools while thinking in this protocol',
      asked: { messages: [user(OK)], tools, reasoning: { mode: 'on', effort: 'low' } },
      takes: { toolsWhileThinking: 'always' },
    }),
  ];
}

function formatRules({ traits }: Wire): RefusedRule[] {
  const { structuredOutput, responseFormats, formatsWithTools, jsonWord, tools } = traits;
  const messages = [user('What is 2 + 2?')];
  const missing = (
    format: Traits['responseFormats'][number],
    responseFormat: ResponseFormat,
  ): RefusedRule[] =>
    when(!responseFormats.includes(format), {
      name: format === 'json_schema' ? 'no JSON by a schema' : 'no JSON of any form',
      asked: { messages: [user('What is 2 + 2? Answer in JSON.')], responseFormat },
      ignored: noJson,
      takes: { responseFormats: [...responseFormats, format] },
    });
  if (structuredOutput === false) {
    const takes = { structuredOutput: true };
    const asked = { messages, responseFormat: ANSWER_SCHEMA };
    return [{ name: 'no structured output', asked, ignored: noJson, takes }];
  }
  return [
    ...missing('json_schema', ANSWER_SCHEMA),
    ...missing('json_object', { type: 'json_object' }),
    ...when(!formatsWithTools && tools !== false, {
      name: 'no JSON by a schema beside tools',
      asked: { messages, responseFormat: ANSWER_SCHEMA, tools: [weather] },
      takes: { formatsWithTools: true },
    }),
    ...when<RefusedRule>(jsonWord && responseFormats.includes('json_object'), {
      name: 'no JSON of any form without its word',
      asked: {
        messages: [user('An object with the sum of 2 and 2.')],
        responseFormat: { type: 'json_object' },
      },
      ignored: noJson,
      takes: { jsonWord: false },
    }),
  ];
}

function samplingRules({ traits }: Wire): RefusedRule[] {
  const { rejectsSampling, oneSamplingParameter, maxTemperature, maxStop, maxOutput, minOutput } = traits;
  const messages = [user(OK)];
  return [
    ...when(rejectsSampling, {
      name: 'no temperature',
      asked: { messages, temperature: 0.5 },
      takes: { rejectsSampling: false, ...(traits.thinksByDefault && { samplingWhileThinking: true }) },
    }),
    ...when(!rejectsSampling && oneSamplingParameter, {
      name: 'not temperature beside top_p',
      asked: { messages, temperature: 0.5, topP: 0.9 },
      takes: { oneSamplingParameter: false },
    }),
    ...when(!rejectsSampling && maxTemperature < DEFAULT_TRAITS.maxTemperature, {
      name: `temperature ${maxTemperature} at most`,
      asked: { messages, temperature: DEFAULT_TRAITS.maxTemperature },
      takes: { maxTemperature: DEFAULT_TRAITS.maxTemperature },
    }),
    ...when(maxStop < DEFAULT_TRAITS.maxStop, {
      name: maxStop === 0 ? 'no stop sequences' : `${maxStop} stop sequences at most`,
      asked: { messages, stop: Array.from({ length: maxStop + 1 }, (_, at) => `<end ${at + 1}>`) },
      takes: { maxStop: maxStop + 1 },
    }),
    ...when(maxOutput !== undefined, {
      name: `output of ${maxOutput ?? 0} tokens at most`,
      asked: { messages, maxOutputTokens: 2 * (maxOutput ?? 0) },
      takes: { maxOutput: 2 * (maxOutput ?? 0) },
    }),
    ...when(minOutput > 1, {
      name: `output of ${minOutput} tokens at least`,
      asked: { messages, maxOutputTokens: minOutput - 1 },
      takes: { minOutput: 1 },
    }),
  ];
}

function messageRules({ traits }: Wire): RefusedRule[] {
  const { vision, contentLists, lateSystem, strictAlternation, imageDetail, prefill, pdfInput } = traits;
  const seen = (detail?: string) => ({
    messages: [{ role: 'user' as const, parts: [...user(OK).parts, picture(detail)] }],
  });
  return [
    ...when<RefusedRule>(vision === false, {
      name: 'no image',
      asked: seen(),
      takes: { vision: true },
      isAbility: true,
    }),
    ...when<RefusedRule>(imageDetail === 'none' && vision !== false, {
      name: 'no detail of an image',
      asked: seen('low'),
      takes: { imageDetail: 'usual' },
    }),
    ...when(!contentLists, {
      name: 'no several texts in a message',
      asked: { messages: [user('Say one word.', OK)] },
      takes: { contentLists: true },
    }),
    ...when<RefusedRule>(lateSystem === 'user' || strictAlternation, {
      name: 'no late system message',
      asked: { messages: [user('Hello'), say('assistant', 'Hello!'), say('system', 'Be short.'), user(OK)] },
      takes: { lateSystem: 'system', strictAlternation: false },
    }),
    ...when<RefusedRule>(strictAlternation, {
      name: 'no two turns of one role',
      asked: { messages: [user('Hello'), user(OK)] },
      takes: { strictAlternation: false },
    }),
    ...when(!prefill, {
      name: 'no answer that is begun',
      asked: { messages: [user(OK), say('assistant', 'The one word:')] },
      takes: { prefill: true },
    }),
    ...when<RefusedRule>(!pdfInput, {
      name: 'no PDF',
      asked: { messages: [{ role: 'user', parts: [...user(OK).parts, pdf()] }] },
      takes: { pdfInput: true },
      isAbility: true,
    }),
  ];
}

/** One empty page. */
function pdf() {
  const text =
    '%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n';
  const data = Buffer.from(text).toString('base64');
  return {
    type: 'document' as const,
    source: { kind: 'base64' as const, mediaType: 'application/pdf', data },
  };
}

function historyRules({ traits, protocol }: Wire): RefusedRule[] {
  if (traits.tools === false) return [];
  const { userAfterTool, toolIds, replayReasoning, reasoningFill, thoughtSignatures, strictArguments } =
    traits;
  const tools = [weather];
  return [
    ...when(!userAfterTool, {
      name: 'no user after a tool',
      asked: { messages: [...called(), user(OK)], tools },
      takes: { userAfterTool: true },
    }),
    ...when<RefusedRule>(toolIds !== 'any', {
      name: 'no long ids of calls',
      asked: { messages: called(LONG_ID), tools },
      takes: { toolIds: 'any' },
    }),
    ...when<RefusedRule>(replayReasoning !== 'never', {
      name: 'no call without its reasoning',
      asked: { messages: called(), tools },
      takes: { replayReasoning: 'never' },
    }),
    ...when(replayReasoning !== 'never' && reasoningFill !== '', {
      name: 'no empty reasoning',
      asked: { messages: called(), tools },
      takes: { reasoningFill: '' },
    }),
    ...when(thoughtSignatures, {
      name: 'no call without a signature',
      asked: { messages: called(), tools },
      takes: { thoughtSignatures: false },
    }),
    ...when(strictArguments && protocol === PROTOCOL_NAMES[0], {
      name: 'no arguments that are no JSON',
      asked: { messages: called(), tools, edit: cutArguments },
      takes: { strictArguments: false },
    }),
  ];
}

/** Members of the default protocol, whose wire has the most of them. */
function memberRules({
  traits: { rejectFields, streamUsage, maxTokensField },
  protocol,
}: Wire): RefusedRule[] {
  const messages = [user(OK)];
  const members = rejectFields.flatMap((path): RefusedRule[] => {
    const edit = sampleAt(path);
    if (edit === undefined) return [];
    const takes = { rejectFields: rejectFields.filter((other) => other !== path) };
    // Some members stand in turns of the assistant.
    return [
      {
        name: `no ${path}`,
        asked: { messages: [user('Hi'), say('assistant', 'Hi!'), user(OK)], edit },
        takes,
      },
    ];
  });
  return [
    ...when(protocol === PROTOCOL_NAMES[0], members).flat(),
    ...when(!streamUsage, {
      name: 'no request for the usage of streams',
      asked: { messages },
      takes: { streamUsage: true },
    }),
    ...when<RefusedRule>(maxTokensField !== DEFAULT_TRAITS.maxTokensField, {
      name: 'no limit of the output by its older name',
      asked: { messages },
      takes: { maxTokensField: DEFAULT_TRAITS.maxTokensField },
    }),
  ];
}
