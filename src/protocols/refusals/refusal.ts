// What a provider's refusal says: the member, value, limit or rule that its words name, as narrowly as they name it.

/** A condition that no single member states. */
export type Rule =
  /** Tools beside an effort, on chat alone. */
  | 'tools_beside_reasoning'
  /** A tool choice that forces a call, while the model thinks. */
  | 'forced_while_thinking'
  /** A tool choice as an object; words alone are taken. */
  | 'forced_as_words'
  /** A tool choice that forces a call. */
  | 'forced'
  | 'json_schema'
  | 'json_object'
  /** JSON is promised only if the word stands in the messages. */
  | 'json_word'
  /** The root of a tool's schema: a union, no `type: object`, no `properties`, or none at all. */
  | 'schema_root'
  | 'strict_tools'
  /** A list of texts where a string is wanted. */
  | 'text_lists'
  /** A system message that is not the first. */
  | 'system_first'
  /** Roles in turn, or a word between a tool and the user. */
  | 'alternation'
  | 'user_after_tool'
  | 'developer'
  /** Turns with calls come back with their reasoning. */
  | 'reasoning_back'
  /** `thinking.type: enabled` at a model that thinks adaptively. */
  | 'adaptive_thinking'
  | 'thinking_off'
  | 'no_thinking'
  | 'one_sampling_parameter'
  | 'custom_tools'
  /** Items that bring tools on the way. */
  | 'additional_tools'
  | 'prefill'
  | 'image_detail'
  /** Arguments of a call in the history that are no JSON object. */
  | 'call_arguments';

export type Refusal =
  /** The member is not known, or not taken, whatever its value. */
  | { kind: 'member'; path: string }
  | { kind: 'rename'; path: string; to: string }
  /** Of a member's values these are taken. */
  | { kind: 'values'; path: string; values: readonly string[] }
  /** One value of a member is refused. */
  | { kind: 'value'; path: string; value: string }
  /** The largest number that a member may have. */
  | { kind: 'limit'; path: string; most: number }
  /** A value of the header `anthropic-beta`. */
  | { kind: 'beta'; name: string }
  | { kind: 'rule'; rule: Rule };
