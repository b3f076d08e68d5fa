// Written by `npm run models` from the catalogue of @earendil-works/pi-ai 1.5.2 (MIT): do not edit. catalogue.ts reads it.

export const CATALOGUE: Readonly<Partial<Record<string, string>>> = {
  openai: `
chat-latest | 400000/128000 image
gpt-4 | 8192/8192 text plain
gpt-4-turbo gpt-4o-2024-05-13 | 128000/- image plain
gpt-4.1 gpt-4.1-mini gpt-4.1-nano | 1047576/32768 image plain
gpt-4o gpt-4o-2024-08-06 gpt-4o-2024-11-20 gpt-4o-mini gpt-5-chat-latest | 128000/16384 image plain
gpt-5 gpt-5-mini gpt-5-nano | 400000/128000 image minimal low medium high always
gpt-5-pro | 400000/128000 image high always
gpt-5.1 | 400000/128000 image none low medium high
gpt-5.2 gpt-5.3-codex gpt-5.4-mini gpt-5.4-nano | 400000/128000 image none low medium high xhigh
gpt-5.2-pro | 400000/128000 image medium high xhigh always
gpt-5.3-codex-spark | 128000/32000 image low medium high xhigh always
gpt-5.4 gpt-5.5 | -/128000 image none low medium high xhigh
gpt-5.4-pro gpt-5.5-pro | 1050000/128000 image medium high xhigh always
gpt-5.6-cyber | 400000/128000 image low medium high xhigh max always
gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-6-luna gpt-6-sol gpt-6.1-terra | -/128000 image none low medium high xhigh max
gpt-6-astra gpt-6.1-sol | -/128000 image low medium high xhigh max always
gpt-daybreak-blue-latest | 1050000/128000 image none low medium high xhigh max
gpt-daybreak-red-latest | 400000/128000 image none low medium high xhigh max
o1 o1-pro o3 o3-pro o4-mini | 200000/100000 image low medium high always
o3-mini | 200000/100000 text low medium high always
`,
  azure: `
chat-latest gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro gpt-5.1 gpt-5.2 gpt-5.2-pro gpt-5.3-codex gpt-5.4-mini gpt-5.4-nano gpt-5.6-cyber gpt-daybreak-red-latest | 400000/128000 image
deepseek-v4-pro | 1000000/384000 text
gpt-4 | 8192/8192 text plain
gpt-4-turbo gpt-4o-2024-05-13 | 128000/- image plain
gpt-4.1 gpt-4.1-mini gpt-4.1-nano | 1047576/32768 image plain
gpt-4o gpt-4o-2024-08-06 gpt-4o-2024-11-20 gpt-4o-mini gpt-5-chat-latest | 128000/16384 image plain
gpt-5.3-codex-spark | 128000/32000 image
gpt-5.4 gpt-5.4-pro gpt-5.5 gpt-5.5-pro gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-6-astra gpt-6-luna gpt-6-sol gpt-6.1-sol gpt-6.1-terra gpt-daybreak-blue-latest | 1050000/128000 image
o1 o1-pro o3 o3-pro o4-mini | 200000/100000 image
o3-mini | 200000/100000 text
`,
  anthropic: `
claude-fable-5 claude-fable-5-1 claude-fable-5-2 claude-haiku-5-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5 claude-opus-5-5 claude-sonnet-4-6 claude-sonnet-5 claude-sonnet-5-5 | 1000000/128000 image
claude-haiku-4-5 claude-haiku-4-5-20251001 claude-opus-4-5 claude-opus-4-5-20251101 claude-sonnet-4-5 claude-sonnet-4-5-20250929 | 200000/64000 image
`,
  gemini: `
deep-research-max-preview-04-2026 deep-research-preview-04-2026 gemini-2.5-flash gemini-2.5-flash-lite gemini-2.5-pro | 1048576/65536 image
gemini-2.5-computer-use-preview-10-2025 | 128000/64000 image
gemini-3-flash-preview gemini-3.1-flash-lite gemini-3.1-flash-lite-preview gemini-3.5-flash gemini-3.5-flash-lite gemini-3.6-flash gemini-flash-latest gemini-flash-lite-latest | 1048576/65536 image minimal low medium high always
gemini-3.1-pro-preview gemini-3.1-pro-preview-customtools gemini-3.7-flash gemini-3.8-flash gemini-pro-latest | 1048576/65536 image low medium high always
gemini-4-argon | 1048576/32768 image low medium high always
gemini-robotics-er-2-preview | 131072/65536 image minimal low medium high always
gemma-4-26b-a4b-it gemma-4-31b-it | 262144/32768 image minimal high always
`,
  mistral: `
codestral-2508 codestral-latest | 256000/- text plain
deepseek-v4-1-flash-1017 | 1048576/128000 text none low high max
devstral-2512 devstral-latest devstral-medium-latest | 262144/262144 text plain
glm-5-2 zai-glm-5-2 | 1048576/131072 text none high max
labs-devstral-small-2512 | 256000/256000 image plain
labs-leanstral-1-5-1 | 262144/128000 image none high
magistral-medium-latest | 262144/16384 image none high
ministral-14b-2512 ministral-8b-2512 mistral-large-2512 mistral-large-latest mistral-medium-2508 | 262144/262144 image plain
ministral-3b-2512 | 131072/262144 image plain
ministral-3b-latest | 131072/128000 image plain
ministral-8b-latest | 262144/128000 image plain
mistral-large-4 mistral-large-4-0-8 | 1048576/262144 image low medium high always
mistral-medium-2505 | 131072/131072 image plain
mistral-medium-2604 mistral-medium-3.5 mistral-medium-latest | 262144/262144 image none high
mistral-small-2506 | 128000/16384 image plain
mistral-small-2603 mistral-small-latest | 262144/256000 image none high
open-mistral-nemo | 128000/128000 text plain
pixtral-12b | 128000/128000 image plain
voxtral-small-2507 voxtral-small-latest | 32768/32000 text plain
zai-glm-5-3 | 1048576/131072 text low high max always
zai-glm-5-3-flash | 1048576/131072 image low high max always
`,
  deepseek: `
deepseek-flash | 1000000/384000 image low high max type replay
deepseek-v4-pro | 1000000/384000 text high max type replay
`,
  groq: `
gpt-oss-120b gpt-oss-20b gpt-oss-safeguard-20b | 131072/65536 text low medium high always
llama-3.1-8b-instant | 131072/131072 text plain
llama-3.3-70b-versatile | 131072/32768 text plain
qwen3.6-27b | 131072/16384 image none
qwen3.8-27b | 131072/16384 image none low medium high
`,
  xai: `
grok-4.3 | 1000000/30000 image none low medium high xhigh
grok-4.5 grok-4.6 grok-4.7 | 500000/500000 image low medium high xhigh always
`,
  together: `
beam-1.0-501b-a23b | 1048576/131072 text ungraded reasoning_enabled
deepseek-v4-pro-0813 | 1048576/384000 text high reasoning_enabled
deepseek-v4.1-flash | 1048576/384000 image ungraded reasoning_enabled
glm-5.2 | 1048575/164000 text ungraded reasoning_enabled
glm-5.3 | 1048575/262144 text ungraded reasoning_enabled
glm-5.3-flash | 1048575/400000 image ungraded reasoning_enabled
gpt-oss-120b | 131072/131072 text low medium high always
inkling | 524288/131072 image ungraded reasoning_enabled
kimi-k3 kimi-k3.1-pro muse-spark-open-816b-a42b | 1048576/131072 image ungraded reasoning_enabled
minimax-m3 | 524288/524288 image ungraded reasoning_enabled
nvidia-nemotron-3.5-super-vl | 262144/262144 image ungraded reasoning_enabled
qwen3.5-9b | 262144/65536 image ungraded reasoning_enabled
qwen3.6-plus | 1000000/65536 text ungraded reasoning_enabled
qwen3.7-max | 1000000/131072 text ungraded reasoning_enabled
`,
  fireworks: `
deepseek-flash-latest deepseek-v4p1-flash deepseek-v4p1-flash-1017 deepseek-v4p1-flash-1017-spot deepseek-v4p1-flash-1017-ultrafast deepseek-v4p1-flash-spot | 1000000/384000 image none low high max adaptive
ember-1 kimi-fast-latest kimi-latest | 1048576/131072 image none low medium high max adaptive
glm-5p3 glm-5p3-spot glm-latest | 1048573/262144 text low high max always
glm-5p3-fast glm-fast-latest | 1048572/262144 text low high max always
glm-5p3-flash glm-flash-latest | 1048573/131072 image low high max always
kimi-k3 kimi-k3-fast kimi-k3-spot kimi-k3p1-pro | 1048576/131072 image low high max always replay
minimax-latest minimax-m3 | 512000/512000 text low medium high always adaptive
minimax-m3p1-flash | 1000000/512000 image low medium high xhigh max always adaptive
muse-spark-open | 1048576/131072 image low medium high xhigh always adaptive
qwen-max-latest qwen3p8-max | 262144/131072 image none low medium xhigh adaptive
qwen3p8-2p4t-a95b | 262144/131072 text none low medium xhigh adaptive
`,
  cerebras: `
gpt-oss-120b | 131072/40960 text low medium high always
qwen-3.8-27b | 131072/40960 image none low medium high
`,
  moonshot: `
kimi-k2.6 | 262144/262144 image ungraded type
kimi-k2.7-code kimi-k2.7-code-highspeed | 262144/262144 image ungraded always
kimi-k3 kimi-k3.1-pro kimi-k3.1-pro-highspeed | 1048576/1048576 image low high max always replay
`,
  zai: `
glm-4.7 | 204800/131072 text ungraded type
glm-5-turbo | 200000/131072 text ungraded type
glm-5.2 glm-5.2-highspeed | 1000000/131072 text none high max type
glm-5.3 glm-5.3-highspeed | 1000000/131072 text low high max always
glm-5.3-flash | 1000000/131072 image low high max always
`,
  minimax: `
minimax-m2.7 minimax-m2.7-highspeed | 204800/131072 text
minimax-m3 | 1000000/524288 image
minimax-m3.1-flash | 1000000/524288 image low medium high xhigh max always adaptive
`,
  dashscope: `
deepseek-v3.2 | 131072/65536 text ungraded enable_thinking
deepseek-v4-flash deepseek-v4-flash-0731 deepseek-v4-pro deepseek-v4-pro-0813 | 1000000/384000 text high max always
deepseek-v4.1-flash deepseek-v4.1-flash-1017 | 1000000/384000 image low high max always
glm-5 | 202752/16384 text high max enable_thinking
glm-5.1 | 202752/128000 text high max enable_thinking
glm-5.2 | 1000000/131072 text high max always
glm-5.3 | 1000000/131072 text low high max always
kimi-k2.5 | 262144/98304 image ungraded enable_thinking
kimi-k2.6 kimi-k2.7-code | 262144/262144 image ungraded enable_thinking
minimax-m2.5 | 196608/32768 text ungraded enable_thinking
qwen3.6-flash qwen3.6-plus qwen3.7-plus | 1000000/65536 image ungraded enable_thinking
qwen3.7-max | 1000000/131072 text ungraded enable_thinking
qwen3.8-flash qwen3.8-max | 1000000/131072 image low medium xhigh always
`,
  nvidia: `
cosmos-reason2-8b | 131072/16384 image
deepseek-v4.1-flash | 1000000/384000 image ungraded type replay
diffusiongemma-26b-a4b-it | 250000/32768 image
gemma-3-12b-it gemma-3-4b-it | 131072/16384 image plain
glm-5.3-flash | 1000000/131072 image
gpt-oss-20b | 131072/32768 text
kimi-k2.6 minimax-m3.1-flash | 262144/262144 image
laguna-xs-2.1 | 262144/16384 text
llama-3.1-nemotron-70b-instruct | 128000/- text plain
llama-3.1-nemotron-ultra-253b-v1 | 128000/16384 text
llama-3.2-90b-vision-instruct | 128000/- image plain
mistral-7b-instruct-v0.3 | 65536/65536 text plain
muse-glimmer-30b | 131072/131072 image
nemotron-3-nano-omni-30b-a3b-reasoning | 256000/65536 image
nemotron-3-ultra-550b-a55b | 1000000/65536 text
nemotron-3.5-lightning-30b-a3b | 262144/262144 text
nemotron-3.5-super-vl-120b-a12b | 1048576/- image
step-5-preview | 1048576/1048576 image
`,
  meta: `
muse-ember-1.0 | 1048576/524288 image minimal low medium high xhigh max always
muse-spark-1.1 muse-spark-1.2 muse-spark-1.2-contributor muse-spark-1.3-contributor | 1048576/131072 image minimal low medium high xhigh always
muse-spark-1.3 muse-wonder-1.0 | 1048576/131072 image minimal low medium high xhigh max always
`,
  copilot: `
claude-fable-5 claude-fable-5.1 claude-haiku-5.5 claude-opus-5.5 claude-sonnet-5 claude-sonnet-5.5 | 1000000/128000 image
claude-haiku-4.5 | 200000/64000 image
claude-opus-4.8 claude-opus-5 gemini-3.8-flash | 1000000/64000 image
claude-sonnet-4.6 | 1000000/32000 image
gemini-4-argon | 1048576/65536 image
gpt-5.3-codex | 1000000/128000 image low medium high xhigh always
gpt-5.4-nano | 400000/128000 image low medium high xhigh always
gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-6.1-sol | 1050000/128000 image low medium high xhigh max always
gpt-6-astra | 1000000/128000 image low medium high xhigh max always
gpt-6-luna gpt-6-sol | 1000000/128000 image none low medium high xhigh max
gpt-6.1-terra | 1050000/128000 image none low medium high xhigh max
grok-4.5 | 500000/128000 image low medium high always
grok-4.6 grok-4.7 | 500000/128000 image low medium high xhigh always
kimi-k3 | 1048576/131072 image
mai-code-1.1-flash | 256000/128000 image low medium high always
`,
  xiaomi: `
mimo-v2.6-flash mimo-v2.6-pro mimo-v2.6-pro-ultraspeed | 1048576/131072 image ungraded type replay
`,
  baseten: `
deepseek-v4-flash-0731 | 1048576/384000 text none low high max
deepseek-v4-pro-0813 | 1048576/262144 text none low high max
deepseek-v4.1-flash deepseek-v4.1-flash-fast | 1048576/32768 image none high max
deepseek-v4.1-flash-1017 deepseek-v4.1-flash-1017-fast | 1048576/262144 image none low medium high max
glm-5.2 glm-5.2-fast | 1048576/262144 text none high max
glm-5.3 glm-5.3-fast | 1048576/262144 image low high max always
glm-5.3-flash | 1048576/131072 image low high max always
gpt-oss-120b | 128072/128072 text none minimal low medium high xhigh max
kimi-k3 | 1048576/262144 image none low high max
kimi-k3.1-pro | 1000000/262144 image
nvidia-nemotron-3-ultra-550b-a55b | 202800/202800 text none high
`,
};
