// Paths of members as servers write them: `a[0].b`, `a.0.b`, `#/a/b`, `body -> a -> b`, `presencePenalty`, `["body","a",1,"assistant","b"]`.

/** Words that stand for an element's kind between its index and its member: `messages.1.assistant.name`, `tools.0.custom.strict`. */
const KINDS: ReadonlySet<string> = new Set([
  'assistant',
  'user',
  'system',
  'developer',
  'tool',
  'custom',
  'function',
  'str',
  'ChatMessage',
]);
/** Other names of the same member. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['max_new_tokens', 'max_tokens'],
  ['max_output_tokens_to_sample', 'max_tokens'],
  ['effort', 'reasoning_effort'],
]);
/** Characters of a path. */
const LONGEST = 200;

/** `messages[].reasoning_content`; undefined: no path. */
export function pathOf(written: string): string | undefined {
  if (written.length > LONGEST) return undefined;
  return pathOfSteps(written.split(/->|[.[\]/#\s]+/));
}

export function pathOfSteps(steps: readonly (string | number)[]): string | undefined {
  let path = '';
  let inList = false;
  for (const step of steps) {
    if (path.length > LONGEST) return undefined;
    const name = String(step).replace(/^['"`(]{1,3}|['"`)]{1,3}$/g, '');
    if (name === '' || (path === '' && name === 'body')) continue;
    if (/^\d+$/.test(name)) {
      path += '[]';
      inList = true;
    } else if (inList && KINDS.has(name)) {
      inList = false;
    } else if (/^\w[\w-]*$/.test(name)) {
      inList = false;
      path += `${path === '' ? '' : '.'}${snakeCase(name)}`;
    } else return undefined;
  }
  return path === '' || path.length > LONGEST || path.startsWith('[]')
    ? undefined
    : (ALIASES.get(path) ?? path);
}

function snakeCase(name: string): string {
  return name.includes('_') ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Never left out: the conversation, what it is asked of, and what changes the meaning of the answer. */
const KEPT =
  /^(?:model|messages|input|prompt|system|instructions|tools|functions|n|stream|max_tokens|max_completion_tokens|response_format|text|text\.format|output_config\.format|tool_choice)(?:\[\])?$/;
/** What is optional in a message, in its parts, and in a tool. */
const OPTIONAL_IN_LISTS =
  /^(?:messages|input|system)\[\]\.(?:(?!role|content|tool_calls|tool_call_id|type|call_id|name$|arguments|output|summary)\w+|name|content\[\]\.(?:(?!type|text|image_url$|source|content|input|id$|name|tool_use_id|thinking$|signature|data)\w+|\w+\.cache_control|\w+\.detail))$|^tools\[\]\.(?:\w+\.)?(?:strict|cache_control|eager_input_streaming|defer_loading|input_examples|allowed_callers)$/;

/** Whether a request means the same without the member. */
export function isOptional(path: string): boolean {
  if (KEPT.test(path)) return false;
  return path.includes('[]') ? OPTIONAL_IN_LISTS.test(path) : true;
}
