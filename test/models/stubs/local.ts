// Strict stubs of servers on the user's machine: what each refuses, by model.
import { openai } from '../../protocols/refusals/wordings.ts';
import { GRADES } from './makers.ts';
import {
  alternation,
  choiceInWords,
  efforts,
  endsWithUser,
  formats,
  imagesAsData,
  noDeveloper,
  on,
  refusal,
  switches,
  systemFirst,
  words,
  type Rule,
  type Stub,
} from './rule.ts';

/** The template of Qwen 3.8: one system message, thinking always, grades. */
const QWEN_TEMPLATE: readonly Rule[] = [
  systemFirst(),
  noDeveloper,
  efforts(['low', 'medium', 'xhigh']),
  switches(
    ['enabled', 'adaptive'],
    refusal(openai('enable_thinking=false is not supported by this template'), 500),
  ),
];
const NO_PREFILL = endsWithUser(words('llama.cpp, a prefill'));

export const LOCAL: readonly Stub[] = [
  {
    provider: 'ollama',
    model: 'qwen3:8b',
    rules: [...on(['chat'], efforts(['none', ...GRADES, 'max'], words('Ollama, an effort'))), imagesAsData],
    lacks: ['images'],
  },
  {
    provider: 'ollama',
    model: 'gpt-oss:20b',
    rules: on(['chat'], efforts([...GRADES, 'max'], words('Ollama, an effort'))),
    lacks: ['images'],
  },
  {
    provider: 'ollama',
    model: 'llama3.1:8b',
    rules: [...on(['chat'], efforts([], words('Ollama, no thinking')))],
    lacks: ['images'],
  },
  {
    provider: 'lmstudio',
    model: 'qwen3-8b',
    rules: [
      choiceInWords(words('LM Studio, words alone')),
      ...on(['chat'], formats(['json_schema'], words('LM Studio, json_object'))),
      ...on(['chat'], alternation),
      imagesAsData,
    ],
    lacks: ['images'],
  },
  {
    provider: 'llamacpp',
    model: 'qwen3.8-27b',
    lacks: ['addresses'],
    rules: [
      choiceInWords(words('llama.cpp, a choice')),
      ...on(['chat'], ...QWEN_TEMPLATE, NO_PREFILL),
      imagesAsData,
    ],
  },
  { provider: 'vllm', model: 'qwen3.8-27b', rules: on(['chat'], ...QWEN_TEMPLATE) },
  { provider: 'sglang', model: 'qwen3.8-27b', rules: on(['chat'], ...QWEN_TEMPLATE) },
];
