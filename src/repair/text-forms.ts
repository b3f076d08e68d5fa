// How models write a call as text if their server does not read it: one row for each form.
import { bareJson, fenced } from './forms/bare-json.ts';
import { form, type TextForm } from './forms/form.ts';
import { functionTag, invokes, toolCallTag } from './forms/tags.ts';
import { DEEPSEEK, deepseek, harmony, jsonBehind, kimi, mistral } from './forms/tokens.ts';

/** Tried in this order if one opening is the beginning of another. */
export const TEXT_FORMS: readonly TextForm[] = [
  form('<tool_call>', '<tool_call>', toolCallTag),
  form('<function=>', '<function=', (cursor, offered) => [functionTag(cursor, offered)]),
  form('[TOOL_CALLS]', '[TOOL_CALLS]', mistral),
  form('<|python_tag|>', '<|python_tag|>', jsonBehind(['<|eom_id|>', '<|eot_id|>'])),
  form('<|tool_call|>', '<|tool_call|>', jsonBehind(['<|/tool_call|>'])),
  form('Harmony', '<|channel|>', harmony),
  form('Harmony', '<|start|>assistant<|channel|>', harmony),
  form('DeepSeek', DEEPSEEK.begin, deepseek),
  form('DSML', '<｜DSML｜function_calls>', invokes('｜DSML｜', '</｜DSML｜function_calls>')),
  form('<minimax:tool_call>', '<minimax:tool_call>', invokes('', '</minimax:tool_call>')),
  form('<function_calls>', '<function_calls>', invokes('', '</function_calls>')),
  form('Kimi', '<|tool_calls_section_begin|>', kimi),
  bareJson('{'),
  bareJson('[{'),
  fenced('json'),
  fenced('tool_call'),
  fenced(''),
];
