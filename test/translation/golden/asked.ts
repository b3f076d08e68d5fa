// Requests of each protocol, each with one thing that another protocol says in other words or not at all.
import type { JsonObject, JsonValue } from '../../../src/canonical/json.ts';
import type { ClientProtocolName } from '../../../src/canonical/request.ts';

/** Members over those of the plain question, by a name for the case. */
type Asked = Readonly<Record<string, JsonObject>>;

const PNG = 'iVBORw0KGgo=';
const PDF = 'JVBERi0=';
const OPEN = { type: 'object', properties: { a: { type: 'string', minLength: 2 } } };
const CLOSED = { ...OPEN, required: ['a'], additionalProperties: false };
const RECURSIVE = { ...OPEN, properties: { a: { $ref: '#' } } };
const PLACE = { city: 'Bern', country: 'CH' };
const LONG = 'n'.repeat(70);
const MARK = { type: 'ephemeral' };
const SEALED = 'c2VhbGVk';
const ENCRYPTED = 'cmVzcG9uc2Vzrs_1.c2VjcmV0';
const GRAMMAR = { syntax: 'lark', definition: 'start: "a"' };

/** One case for each value of a member. */
function each(name: string, ...values: JsonValue[]): Record<string, JsonObject> {
  return Object.fromEntries(values.map((value) => [`${name} ${JSON.stringify(value)}`, { [name]: value }]));
}

const user = (content: JsonValue, more: JsonObject = {}): JsonObject => ({ role: 'user', content, ...more });
const assistant = (content: JsonValue, more: JsonObject = {}): JsonObject => ({
  role: 'assistant',
  content,
  ...more,
});

// -- chat --

const fn = (more: JsonObject = {}, around: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name: 'f', ...more },
  ...around,
});
const custom = (more: JsonObject = {}): JsonObject => ({ type: 'custom', custom: { name: 'p', ...more } });
const chatCall = (more: JsonObject = {}): JsonObject => ({
  id: 'c1',
  type: 'function',
  function: { name: 'f', arguments: '{"a":1}' },
  ...more,
});
const chatTurn = (more: JsonObject): JsonObject => ({
  messages: [user('hi'), assistant('x', more), user('so?')],
});
const chatCalled = (call: JsonObject, result: JsonValue = 'r', more: JsonObject = {}): JsonObject => ({
  tools: [fn({ parameters: OPEN })],
  messages: [
    user('hi'),
    assistant(null, { tool_calls: [call], ...more }),
    { role: 'tool', tool_call_id: 'c1', content: result },
  ],
});
const chatParts = (...content: JsonObject[]): JsonObject => ({ messages: [user(content)] });
const chatFormat = (more: JsonObject): JsonObject => ({
  response_format: { type: 'json_schema', json_schema: { name: 'n', ...more } },
});

const CHAT: Asked = {
  plain: {},
  stream: { stream: true },
  'max_tokens absent': { max_tokens: null },
  ...each('max_tokens', 0, 5, 100_000),
  ...each('temperature', 0, 1, 1.5),
  ...each('top_p', 0.5, 1),
  'temperature and top_p': { temperature: 0.5, top_p: 0.5 },
  ...each('top_k', 3),
  ...each('stop', 'END', ['a', '', ' ', 'b', 'c', 'd', 'e']),
  ...each('service_tier', 'auto', 'default', 'flex', 'priority', 'standard_only'),
  ...each('user', 'u', 'u'.repeat(300)),
  ...each('safety_identifier', 's'),
  ...each('prompt_cache_key', 'k'),
  ...each('prompt_cache_retention', '24h'),
  ...each('prompt_cache_options', { mode: 'x' }),
  ...each('cache_control', MARK, { ...MARK, ttl: '1h' }),
  ...each('metadata', {}, { a: 'b' }),
  ...each('verbosity', 'low'),
  ...each('reasoning_effort', 'none', 'minimal', 'medium', 'xhigh', 'max', {
    effort: 'low',
    summary: 'auto',
  }),
  ...each('reasoning', { max_tokens: 3000 }, { enabled: true }, { effort: 'high', exclude: true }),
  ...each('thinking', { type: 'disabled' }, { type: 'adaptive' }, { type: 'enabled', budget_tokens: 12_000 }),
  'thinking with an effort': { thinking: { type: 'enabled', reasoning_effort: 'max' } },
  'a budget and an effort': { thinking_budget: 2000, reasoning_effort: 'high', max_tokens: 1500 },
  ...each('include_reasoning', false),
  'effort and temperature': { reasoning_effort: 'low', temperature: 0.5, top_p: 0.9, top_k: 2 },
  ...each('logprobs', true),
  'logprobs with top': { logprobs: true, top_logprobs: 2 },
  ...each('n', 1, 2),
  ...each('seed', 7),
  ...each('web_search_options', {}, { search_context_size: 'low', user_location: { approximate: PLACE } }),
  'web search beside a tool of its name': { web_search_options: {}, tools: [fn({ name: 'web_search' })] },
  ...each(
    'tools',
    [fn({ description: 'd' })],
    [fn({ name: LONG, parameters: OPEN })],
    [custom({ description: 'd' })],
  ),
  'strict, closed': { tools: [fn({ parameters: CLOSED, strict: true })] },
  'strict, open': { tools: [fn({ parameters: OPEN, strict: true })] },
  'strict false, closed': { tools: [fn({ parameters: CLOSED, strict: false })] },
  'strict absent, closed': { tools: [fn({ parameters: CLOSED })] },
  'strict, recursive': { tools: [fn({ parameters: RECURSIVE, strict: true })] },
  'members of tools': { tools: [fn({ x: 1 }, { y: 2, cache_control: MARK })] },
  'a grammar': { tools: [custom({ format: { type: 'grammar', grammar: GRAMMAR } })] },
  'a foreign tool': { tools: [{ type: 'web_search_preview', name: 'w' }] },
  functions: { functions: [{ name: 'f', parameters: OPEN }], function_call: { name: 'f' } },
  ...Object.fromEntries(
    ['auto', 'none', 'required', fn(), { type: 'allowed_tools', mode: 'required', tools: [fn()] }].map(
      (choice) => [
        `tool_choice ${JSON.stringify(choice)}`,
        { tools: [fn(), custom()], tool_choice: choice, parallel_tool_calls: false },
      ],
    ),
  ),
  'a choice while thinking': { tools: [fn()], tool_choice: 'required', reasoning_effort: 'low' },
  ...each('response_format', { type: 'text' }, { type: 'json_object' }),
  'format, closed': chatFormat({ schema: CLOSED, description: 'd' }),
  'format, open': chatFormat({ schema: OPEN }),
  'format, strict': chatFormat({ schema: CLOSED, strict: true }),
  'format, not strict': chatFormat({ schema: OPEN, strict: false }),
  'format, recursive': chatFormat({ schema: RECURSIVE, strict: true }),
  'format beside tools': { ...chatFormat({ schema: CLOSED }), tools: [fn()], reasoning_effort: 'low' },
  system: { messages: [{ role: 'system', content: 's' }, { role: 'developer', content: 'd' }, user('hi')] },
  'system on the way': { messages: [user('a'), assistant('b'), { role: 'system', content: 's' }, user('c')] },
  attribution: { messages: [{ role: 'system', content: 'x-anthropic-billing-header: a\ns' }, user('hi')] },
  name: { messages: [user('hi', { name: 'ann' })] },
  prefill: { messages: [user('hi'), assistant('x ', { prefix: true })] },
  refusal: chatTurn({ content: null, refusal: 'no' }),
  reasoning: chatTurn({ reasoning_content: 'deep' }),
  'thinking blocks': chatTurn({
    thinking_blocks: [{ type: 'thinking', thinking: 'deep', signature: SEALED }],
    reasoning_effort: 'low',
  }),
  'encrypted thinking': chatTurn({
    thinking_blocks: [{ type: 'thinking', thinking: 'deep', signature: ENCRYPTED }],
  }),
  'redacted thinking': chatTurn({ thinking_blocks: [{ type: 'redacted_thinking', data: SEALED }] }),
  annotations: chatTurn({
    annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'T' } }],
  }),
  audio: chatTurn({ audio: { id: 'a1' } }),
  call: chatCalled(chatCall()),
  'call while thinking': { ...chatCalled(chatCall()), reasoning_effort: 'high', max_tokens: 9000 },
  'call with reasoning': chatCalled(chatCall(), 'r', { reasoning_content: 'deep' }),
  'call of a custom tool': {
    ...chatCalled({ id: 'c1', type: 'custom', custom: { name: 'p', input: 'free' } }),
    tools: [custom()],
  },
  'call with extra_content': chatCalled(chatCall({ extra_content: { google: { thought_signature: 'x' } } })),
  'call with other members': chatCalled(chatCall({ x: 1, cache_control: MARK })),
  'call of no JSON': chatCalled(chatCall({ function: { name: 'f', arguments: '{"a":' } })),
  'call without tools': { ...chatCalled(chatCall()), tools: null },
  'result of parts': chatCalled(chatCall(), [
    { type: 'text', text: 'r', cache_control: MARK },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
  ]),
  'marked text': chatParts({ type: 'text', text: 'x', prompt_cache_breakpoint: {} }),
  image: chatParts({ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } }),
  'image by URL': chatParts({ type: 'image_url', image_url: { url: 'https://a.example/a.png' } }),
  file: chatParts({
    type: 'file',
    file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` },
  }),
  'file by id': chatParts({ type: 'file', file: { file_id: 'file_1' } }),
  'file by URL': chatParts({ type: 'file', file: { file_data: 'https://a.example/a.pdf' } }),
  sound: chatParts({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
};

// -- messages --

const tool = (more: JsonObject = {}): JsonObject => ({ name: 'f', input_schema: OPEN, ...more });
const use = (more: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id: 'c1',
  name: 'f',
  input: { a: 1 },
  ...more,
});
const used = (block: JsonObject, result: JsonObject = {}, before: JsonObject[] = []): JsonObject => ({
  tools: [tool()],
  messages: [
    user('hi'),
    assistant([...before, block]),
    user([{ type: 'tool_result', tool_use_id: 'c1', content: 'r', ...result }]),
  ],
});
const blocks = (...content: JsonObject[]): JsonObject => ({ messages: [user(content)] });
const turnOf = (...content: JsonObject[]): JsonObject => ({
  messages: [user('hi'), assistant(content), user('so?')],
});
const source = (type: string, more: JsonObject): JsonObject => ({ source: { type, ...more } });
const THINKING = { type: 'thinking', thinking: 'deep', signature: SEALED };
const format = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({
  output_config: { format: { type: 'json_schema', schema, ...more } },
});

const MESSAGES: Asked = {
  plain: {},
  stream: { stream: true },
  ...each('max_tokens', 0, 5, 100_000),
  ...each('temperature', 0, 1),
  ...each('top_p', 0.5),
  ...each('top_k', 3),
  ...each('stop_sequences', ['a', ' ', 'b', 'c', 'd', 'e']),
  ...each('service_tier', 'auto', 'standard_only', 'priority'),
  ...each('metadata', { user_id: 'u' }, { user_id: 'u'.repeat(90) }, { x: 1 }),
  ...each('cache_control', MARK, { ...MARK, ttl: '1h' }),
  ...each('tags', ['t']),
  ...each(
    'thinking',
    { type: 'disabled' },
    { type: 'adaptive', display: 'omitted' },
    { type: 'between_tools' },
    { type: 'enabled', budget_tokens: 2000, display: 'summarized' },
    { type: 'enabled' },
    { display: 'omitted' },
  ),
  ...each('output_config', { effort: 'none' }, { effort: 'low' }, { effort: 'max' }, { task_budget: 3 }),
  'budget and effort': {
    thinking: { type: 'enabled', budget_tokens: 3000 },
    output_config: { effort: 'xhigh' },
    temperature: 0.5,
  },
  'adaptive and effort': { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
  'disabled and effort': { thinking: { type: 'disabled' }, output_config: { effort: 'xhigh' } },
  'format, closed': format(CLOSED, { name: 'n' }),
  'format, open': format(OPEN),
  'format, recursive': format(RECURSIVE),
  'format and thinking': { ...format(CLOSED), thinking: { type: 'enabled', budget_tokens: 2000 } },
  'the older format': { output_format: { type: 'json_schema', schema: CLOSED } },
  'strict, closed': { tools: [tool({ input_schema: CLOSED, strict: true })] },
  'strict, open': { tools: [tool({ strict: true })] },
  'strict false, closed': { tools: [tool({ input_schema: CLOSED, strict: false })] },
  'strict absent, closed': { tools: [tool({ input_schema: CLOSED })] },
  'strict, recursive': { tools: [tool({ input_schema: RECURSIVE, strict: true })] },
  'members of tools': { tools: [tool({ cache_control: MARK, input_examples: [{}], x: 1 })] },
  deferred: { tools: [tool({ defer_loading: true }), tool({ name: 'g', defer_loading: false })] },
  'client tools': {
    tools: [
      { type: 'bash_20250124', name: 'bash', strict: true },
      { type: 'text_editor_20250728', name: 'edit', max_characters: 9 },
      { type: 'memory_20250818', name: 'memory', defer_loading: true },
    ],
  },
  'unknown client tool': { tools: [{ type: 'computer_20250124', name: 'computer' }] },
  'web search': {
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2, user_location: PLACE }],
  },
  'web search of the whole web': { tools: [tool(), { type: 'web_search_20260318', name: 'web_search' }] },
  'code execution': { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
  ...Object.fromEntries(
    ['auto', 'none', 'any', 'tool'].map((type) => [
      `tool_choice ${type}`,
      { tools: [tool()], tool_choice: { type, name: 'f', disable_parallel_tool_use: true } },
    ]),
  ),
  'a choice of a server tool': {
    tools: [tool(), { type: 'web_search_20250305', name: 'w' }],
    tool_choice: { type: 'tool', name: 'w' },
  },
  system: {
    system: [
      { type: 'text', text: 's', cache_control: MARK },
      { type: 'text', text: 't' },
    ],
  },
  attribution: { system: 'x-anthropic-billing-header: a\ns' },
  'system on the way': { messages: [user('a'), { role: 'system', content: 's' }, assistant('b'), user('c')] },
  'effort on the way': {
    messages: [user('a'), { role: 'system', content: [], output_config: { effort: 'high' } }],
  },
  prefill: { messages: [user('hi'), assistant('x ')] },
  thinking: turnOf(THINKING, { type: 'text', text: 'x' }),
  'unsigned thinking': turnOf({ ...THINKING, signature: '' }, { type: 'text', text: 'x' }),
  'encrypted thinking': turnOf({ ...THINKING, signature: ENCRYPTED }, { type: 'text', text: 'x' }),
  'redacted thinking': turnOf({ type: 'redacted_thinking', data: SEALED }, { type: 'text', text: 'x' }),
  citations: turnOf({
    type: 'text',
    text: 'x',
    citations: [
      { type: 'web_search_result_location', url: 'https://a.example', title: 'T', encrypted_index: 'i' },
      { type: 'char_location', document_index: 0, document_title: 'D' },
    ],
  }),
  call: used(use()),
  'call while thinking': {
    ...used(use(), {}, [THINKING]),
    thinking: { type: 'enabled', budget_tokens: 2000 },
  },
  'call that lost its thinking': { ...used(use()), thinking: { type: 'enabled', budget_tokens: 2000 } },
  'the same with an effort': {
    ...used(use()),
    thinking: { type: 'enabled', budget_tokens: 2000 },
    output_config: { effort: 'high' },
  },
  'call with members': used(use({ caller: { type: 'direct' }, toolset_name: 't', cache_control: MARK })),
  'failed call': used(use(), { is_error: true, cache_control: MARK }),
  'call without tools': { ...used(use()), tools: [] },
  'result of blocks': used(use(), {
    content: [
      { type: 'text', text: 'r' },
      { type: 'image', ...source('base64', { media_type: 'image/jpeg', data: PNG }) },
      { type: 'tool_reference', tool_name: 'f' },
      { type: 'search_result', title: 'T', source: 's', content: [{ type: 'text', text: 'r' }] },
    ],
  }),
  'server tools at work': turnOf(
    { type: 'text', text: 'one' },
    { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
    { type: 'text', text: 'two' },
  ),
  compaction: turnOf({ type: 'compaction', content: 'earlier' }),
  'unknown block': turnOf({ type: 'thread_mark', id: 't' }),
  'marked text': blocks({ type: 'text', text: 'x', cache_control: { ...MARK, ttl: '1h' } }),
  'many marks': {
    system: [{ type: 'text', text: 's', cache_control: MARK }],
    tools: [tool({ cache_control: MARK })],
    messages: ['a', 'b', 'c', 'd'].flatMap((text) => [
      user([{ type: 'text', text, cache_control: MARK }]),
      assistant(text),
    ]),
  },
  image: blocks({ type: 'image', ...source('base64', { media_type: 'image/png', data: PNG }) }),
  'image by URL': blocks({ type: 'image', ...source('url', { url: 'https://a.example/a.png' }) }),
  'image by id': blocks({ type: 'image', ...source('file', { file_id: 'file_1' }) }),
  document: blocks({
    type: 'document',
    title: 'T',
    context: 'C',
    citations: { enabled: true },
    cache_control: MARK,
    ...source('base64', { media_type: 'application/pdf', data: PDF }),
  }),
  'document of text': blocks({ type: 'document', title: 'T', ...source('text', { data: 'words' }) }),
  'document of blocks': blocks({
    type: 'document',
    ...source('content', { content: [{ type: 'text', text: 'words' }] }),
  }),
  'document by URL': blocks({ type: 'document', ...source('url', { url: 'https://a.example/a.pdf' }) }),
  'document by id': blocks({ type: 'document', title: 'T', ...source('file', { file_id: 'file_1' }) }),
};

// -- responses --

const flat = (more: JsonObject = {}): JsonObject => ({ type: 'function', name: 'f', ...more });
const input = (...items: JsonObject[]): JsonObject => ({ input: [user('hi'), ...items] });
const item = (type: string, more: JsonObject): JsonObject => ({ type, ...more });
const called = (call: JsonObject = {}, result: JsonObject = {}): JsonObject => ({
  tools: [flat({ parameters: OPEN })],
  ...input(
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}', ...call },
    { type: 'function_call_output', call_id: 'c1', output: 'r', ...result },
  ),
});
const text = (more: JsonObject): JsonObject => ({
  text: { format: { type: 'json_schema', name: 'n', ...more } },
});
const inputParts = (...content: JsonObject[]): JsonObject => ({ input: [user(content)] });
const thought = (more: JsonObject): JsonObject =>
  input({ type: 'reasoning', id: 'rs_1', summary: [], ...more }, assistant('x'), user('so?'));

const RESPONSES: Asked = {
  plain: {},
  stream: { stream: true },
  ...each('max_output_tokens', 0, 5, 100_000),
  ...each('temperature', 0, 1, 1.5),
  ...each('top_p', 0.5, 1),
  ...each('service_tier', 'auto', 'default', 'flex', 'priority', 'standard_only'),
  ...each('user', 'u', 'u'.repeat(300)),
  ...each('safety_identifier', 's'),
  ...each('prompt_cache_key', 'k'),
  ...each('prompt_cache_retention', '24h'),
  ...each('prompt_cache_options', { mode: 'x' }),
  ...each('metadata', {}, { a: 'b' }),
  ...each('include', ['reasoning.encrypted_content'], ['message.output_text.logprobs']),
  ...each('top_logprobs', 0, 2),
  ...each('store', true, false),
  ...each('truncation', 'auto'),
  ...each('reasoning', { effort: 'none' }, { effort: 'minimal' }, { effort: 'xhigh' }, { summary: 'auto' }),
  'reasoning with a summary': { reasoning: { effort: 'high', summary: 'detailed', context: 'all' } },
  'effort and temperature': { reasoning: { effort: 'low' }, temperature: 0.5, top_p: 0.9 },
  ...each('text', { verbosity: 'low' }, { format: { type: 'text' } }, { format: { type: 'json_object' } }),
  'format, closed': text({ schema: CLOSED, description: 'd' }),
  'format, open': text({ schema: OPEN }),
  'format, strict': text({ schema: CLOSED, strict: true }),
  'format, not strict': text({ schema: OPEN, strict: false }),
  'format, recursive': text({ schema: RECURSIVE, strict: true }),
  'format beside tools': { ...text({ schema: CLOSED }), tools: [flat()], reasoning: { effort: 'low' } },
  'strict, closed': { tools: [flat({ parameters: CLOSED, strict: true })] },
  'strict, open': { tools: [flat({ parameters: OPEN, strict: true })] },
  'strict false, closed': { tools: [flat({ parameters: CLOSED, strict: false })] },
  'strict absent, closed': { tools: [flat({ parameters: CLOSED })] },
  'strict absent, open': { tools: [flat({ parameters: OPEN })] },
  'strict, recursive': { tools: [flat({ parameters: RECURSIVE, strict: true })] },
  'no parameters': { tools: [flat({ parameters: null, description: 'd' })] },
  deferred: { tools: [flat({ defer_loading: true }), { type: 'tool_search', execution: 'client' }] },
  'members of tools': { tools: [flat({ output_schema: OPEN, allowed_callers: ['code'], x: 1 })] },
  'a grammar': { tools: [{ type: 'custom', name: 'p', format: { type: 'grammar', ...GRAMMAR } }] },
  'a namespace': { tools: [{ type: 'namespace', name: 'n', tools: [flat()] }] },
  'built-in tools': { tools: [{ type: 'local_shell' }, { type: 'shell' }, { type: 'apply_patch' }] },
  'web search': { tools: [{ type: 'web_search', search_context_size: 'low', user_location: PLACE }] },
  'web search beside a tool of its name': { tools: [{ type: 'web_search' }, flat({ name: 'web_search' })] },
  'file search': { tools: [flat(), { type: 'file_search', vector_store_ids: ['v'] }] },
  ...Object.fromEntries(
    ['auto', 'none', 'required', flat(), { type: 'allowed_tools', mode: 'required', tools: [flat()] }].map(
      (choice) => [
        `tool_choice ${JSON.stringify(choice)}`,
        {
          tools: [flat(), { type: 'custom', name: 'p' }],
          tool_choice: choice,
          parallel_tool_calls: false,
        },
      ],
    ),
  ),
  'a forced search': { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
  instructions: { instructions: 's', ...input() },
  developer: { input: [{ role: 'developer', content: 'd' }, user('hi')] },
  'system on the way': input(assistant('b'), { role: 'system', content: 's' }, user('c')),
  'marked instructions': {
    input: [
      { role: 'system', content: [{ type: 'input_text', text: 's', prompt_cache_breakpoint: {} }] },
      user('hi'),
    ],
  },
  prefill: input(assistant('x ')),
  refusal: input(assistant([{ type: 'refusal', refusal: 'no' }]), user('so?')),
  annotations: input(
    assistant([
      {
        type: 'output_text',
        text: 'x',
        annotations: [
          { type: 'url_citation', url: 'https://a.example', title: 'T', start_index: 0, end_index: 1 },
          { type: 'file_citation', file_id: 'file_1' },
        ],
      },
    ]),
    user('so?'),
  ),
  'encrypted reasoning': thought({
    encrypted_content: 'c2VjcmV0',
    summary: [{ type: 'summary_text', text: 'deep' }],
  }),
  'open reasoning': thought({ summary: [{ type: 'summary_text', text: 'deep' }] }),
  'sealed reasoning': thought({ encrypted_content: JSON.stringify({ text: 'deep', signature: SEALED }) }),
  call: called(),
  'call while thinking': { ...called(), reasoning: { effort: 'high' }, max_output_tokens: 9000 },
  'call without tools': { ...called(), tools: [] },
  'result of parts': called(
    {},
    {
      output: [
        { type: 'input_text', text: 'r' },
        { type: 'input_image', image_url: `data:image/png;base64,${PNG}` },
      ],
    },
  ),
  'call of a custom tool': {
    tools: [{ type: 'custom', name: 'p' }],
    ...input(
      item('custom_tool_call', { call_id: 'c1', name: 'p', input: 'free' }),
      item('custom_tool_call_output', { call_id: 'c1', output: 'r' }),
    ),
  },
  'search of a provider': input(
    item('web_search_call', { id: 'w1', status: 'completed', action: { type: 'search', query: 'q' } }),
    assistant('x'),
    user('so?'),
  ),
  'marked text': inputParts({ type: 'input_text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }),
  image: inputParts({ type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'low' }),
  'image by URL': inputParts({ type: 'input_image', image_url: 'https://a.example/a.png' }),
  'image by id': inputParts({ type: 'input_image', file_id: 'file_1' }),
  file: inputParts({
    type: 'input_file',
    filename: 'a.pdf',
    file_data: `data:application/pdf;base64,${PDF}`,
  }),
  'file by URL': inputParts({ type: 'input_file', file_url: 'https://a.example/a.pdf' }),
  'file by id': inputParts({ type: 'input_file', filename: 'a.pdf', file_id: 'file_1' }),
  sound: inputParts({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
};

// -- ollama --

const option = (name: string, ...values: JsonValue[]): Record<string, JsonObject> =>
  Object.fromEntries(
    values.map((value) => [
      `options.${name} ${JSON.stringify(value)}`,
      { options: { num_predict: 9000, [name]: value } },
    ]),
  );
const ollamaCall = (name: string, args: JsonValue, more: JsonObject = {}): JsonObject => ({
  function: { name, arguments: args },
  ...more,
});
const ollamaResult = (content: string, more: JsonObject = {}): JsonObject => ({
  role: 'tool',
  content,
  ...more,
});
const ollamaCalled = (calls: JsonObject[], ...results: JsonObject[]): JsonObject => ({
  tools: [fn({ parameters: OPEN }), { type: 'function', function: { name: 'g' } }],
  messages: [user('hi'), assistant('', { tool_calls: calls }), ...results],
});

const OLLAMA: Asked = {
  ...each('stream', true, false),
  ...each('think', true, false, 'low', 'high', 'max'),
  ...each('format', 'json', '', OPEN, CLOSED, RECURSIVE),
  ...each('keep_alive', '5m', -1, 0),
  ...each('logprobs', true, false),
  ...each('template', '', '{{ .Prompt }}'),
  'top_logprobs 2': { logprobs: true, top_logprobs: 2 },
  ...option('num_predict', -1, -2, 0, 100),
  ...option('temperature', 0, 0.5, 3),
  ...option('top_p', 0.5),
  ...option('top_k', 0, 40),
  ...option('stop', 'x', [], ['a', 'b', 'c', 'd', 'e', 'f']),
  ...option('seed', 7),
  ...option('presence_penalty', 0, 1),
  ...option('frequency_penalty', 0, 1),
  ...option('num_ctx', 4096),
  ...option('repeat_penalty', 1, 1.1),
  ...option('mirostat', 0, 1),
  tools: { tools: [fn({ description: 'd', parameters: OPEN }), fn({ name: LONG })] },
  'a system text': { messages: [{ role: 'system', content: 's' }, user('hi')] },
  'an image': { messages: [user('look', { images: [PNG] })] },
  'an image alone': { messages: [user('', { images: [PNG] })] },
  'an image as a URL of data': { messages: [user('look', { images: [`data:image/png;base64,${PNG}`] })] },
  'thinking in history': { messages: [user('hi'), assistant('x', { thinking: 't' }), user('so?')] },
  'a call and its result': ollamaCalled([ollamaCall('f', { a: 'b' })], ollamaResult('r')),
  'arguments that are a text': ollamaCalled([ollamaCall('f', '{"a":1}')], ollamaResult('r')),
  'results by name': ollamaCalled(
    [ollamaCall('f', { a: '1' }), ollamaCall('g', {})],
    ollamaResult('of g', { tool_name: 'g' }),
    ollamaResult('of f', { name: 'f' }),
  ),
  'results by id': ollamaCalled(
    [ollamaCall('f', { a: '1' }, { id: 'one' }), ollamaCall('f', { a: '2' }, { id: 'two' })],
    ollamaResult('of two', { tool_call_id: 'two', tool_name: 'f' }),
    ollamaResult('of one', { tool_call_id: 'one', tool_name: 'f' }),
  ),
  'results in order': ollamaCalled(
    [ollamaCall('f', { a: '1' }), ollamaCall('f', { a: '2' })],
    ollamaResult('first', { tool_name: 'f' }),
    ollamaResult('second', { tool_name: 'f' }),
  ),
  'a result without a call': {
    messages: [user('hi'), assistant('x'), ollamaResult('r', { tool_name: 'f' })],
  },
  'an unknown member': { messages: [user('hi', { mood: 'good' })], mystery: 1 },
};

const QUESTION = { max_tokens: 9000, messages: [user('hi')] };
/** What every case of a protocol is laid over. */
export const BASE: Readonly<Record<ClientProtocolName, JsonObject>> = {
  chat: QUESTION,
  messages: QUESTION,
  responses: { max_output_tokens: 9000, input: 'hi' },
  ollama: { options: { num_predict: 9000 }, messages: [user('hi')] },
};
export const ASKED: Readonly<Record<ClientProtocolName, Asked>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
  ollama: OLLAMA,
};
