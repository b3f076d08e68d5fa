// Servers on this machine, at their usual ports.
import type { Traits } from '../../canonical/traits.ts';
import type { Preset } from './preset.ts';

const local = (port: number): string => `http://127.0.0.1:${port}/v1`;
const every = (url: string): Preset['baseUrls'] => ({ chat: url, messages: url, responses: url });

/** Servers that hand thinking on to the model's template. */
const TEMPLATE: Partial<Traits> = { thinkingForm: 'template', efforts: ['low', 'medium', 'high'] };

/** What serves by llama.cpp. https://github.com/ggml-org/llama.cpp/issues/20733 and 17040 */
const LLAMACPP: Partial<Traits> = {
  ...TEMPLATE,
  reasoningField: 'reasoning_content',
  strictAlternation: true,
  namedToolChoice: false,
  imageUrl: false,
  pdfInput: false,
  topK: true,
};

export const LOCAL: readonly Preset[] = [
  {
    name: 'ollama',
    title: 'Ollama',
    protocols: ['chat'],
    baseUrls: every(local(11434)),
    keys: [],
    auth: 'protocol',
    localPort: 11434,
    // https://github.com/DevEmperor/DictateKeyboard/issues/186: other efforts are a 400. A tool choice has no effect.
    traits: {
      reasoningField: 'reasoning',
      efforts: ['none', 'low', 'medium', 'high', 'max'],
      forcedTools: 'never',
      imageUrl: false,
      pdfInput: false,
    },
  },
  {
    name: 'lmstudio',
    title: 'LM Studio',
    protocols: ['chat'],
    baseUrls: every(local(1234)),
    keys: [],
    auth: 'protocol',
    localPort: 1234,
    // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670 and 307
    traits: {
      strictAlternation: true,
      namedToolChoice: false,
      responseFormats: ['json_schema'],
      imageUrl: false,
      pdfInput: false,
      topK: true,
    },
  },
  {
    name: 'llamacpp',
    title: 'llama.cpp',
    protocols: ['chat'],
    baseUrls: every(local(8080)),
    keys: [],
    auth: 'protocol',
    localPort: 8080,
    traits: LLAMACPP,
  },
  {
    name: 'vllm',
    title: 'vLLM',
    protocols: ['chat'],
    baseUrls: every(local(8000)),
    keys: [],
    auth: 'protocol',
    localPort: 8000,
    // It parses the arguments for the template: https://github.com/vllm-project/vllm/issues/43995
    traits: {
      ...TEMPLATE,
      reasoningField: 'reasoning',
      strictAlternation: true,
      strictArguments: true,
      pdfInput: false,
      topK: true,
    },
  },
  {
    name: 'sglang',
    title: 'SGLang',
    protocols: ['chat'],
    baseUrls: every(local(30000)),
    keys: [],
    auth: 'protocol',
    localPort: 30000,
    traits: {
      ...TEMPLATE,
      reasoningField: 'reasoning_content',
      strictAlternation: true,
      pdfInput: false,
      topK: true,
    },
  },
  {
    name: 'jan',
    title: 'Jan',
    protocols: ['chat'],
    baseUrls: every(local(1337)),
    keys: [],
    auth: 'protocol',
    localPort: 1337,
    traits: LLAMACPP,
  },
  {
    name: 'koboldcpp',
    title: 'KoboldCpp',
    protocols: ['chat'],
    baseUrls: every(local(5001)),
    keys: [],
    auth: 'protocol',
    localPort: 5001,
    traits: LLAMACPP,
  },
  {
    name: 'docker',
    title: 'Docker Model Runner',
    protocols: ['chat'],
    baseUrls: every('http://127.0.0.1:12434/engines/v1'),
    keys: [],
    auth: 'protocol',
    localPort: 12434,
    traits: LLAMACPP,
  },
  {
    name: 'gpt4all',
    title: 'GPT4All',
    protocols: ['chat'],
    baseUrls: every(local(4891)),
    keys: [],
    auth: 'protocol',
    localPort: 4891,
    traits: { ...LLAMACPP, tools: false },
  },
];
