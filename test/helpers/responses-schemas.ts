// Responses and their events as the official types have them (openai/resources/responses), strictly: a member that is missing or
// that nobody knows is a fault. The members behind `the service's own` are not in those types yet.
import { z } from 'zod';
import type { JsonObject } from '../../src/canonical/json.ts';

const text = z.string();
const index = z.int().nonnegative();
const filled = z.string().min(1);
const status = z.enum(['in_progress', 'completed', 'incomplete']);

const annotation = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('url_citation'),
    start_index: index,
    end_index: index,
    url: filled,
    title: text,
  }),
  z.strictObject({ type: z.literal('file_citation'), file_id: filled, filename: text, index }),
]);
const outputText = z.strictObject({
  type: z.literal('output_text'),
  annotations: z.array(annotation),
  logprobs: z.array(z.unknown()),
  text,
});
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: text });
const part = z.discriminatedUnion('type', [outputText, refusal]);
const summary = z.strictObject({ type: z.literal('summary_text'), text });

const message = z.strictObject({
  id: filled,
  type: z.literal('message'),
  role: z.literal('assistant'),
  status,
  content: z.array(part),
});
const raw = z.strictObject({ type: z.literal('reasoning_text'), text });
const reasoning = z.strictObject({
  id: filled,
  type: z.literal('reasoning'),
  summary: z.array(summary),
  content: z.array(raw).optional(),
  encrypted_content: filled.optional(),
  status: status.optional(),
});
const named = { id: filled, call_id: filled, name: filled, namespace: filled.optional(), status };
const functionCall = z.strictObject({ ...named, type: z.literal('function_call'), arguments: text });
const customCall = z.strictObject({ ...named, type: z.literal('custom_tool_call'), input: text });
const called = { id: filled, call_id: filled, status };
const searchCall = z.strictObject({
  ...called,
  type: z.literal('tool_search_call'),
  arguments: z.record(z.string(), z.unknown()),
  execution: z.literal('client'),
});
const localShellCall = z.strictObject({
  ...called,
  type: z.literal('local_shell_call'),
  action: z.strictObject({
    type: z.literal('exec'),
    command: z.array(text),
    env: z.record(z.string(), text),
    timeout_ms: z.number().nullish(),
    user: text.nullish(),
    working_directory: text.nullish(),
  }),
});
const shellCall = z.strictObject({
  ...called,
  type: z.literal('shell_call'),
  action: z.strictObject({
    commands: z.array(text),
    timeout_ms: z.number().nullable(),
    max_output_length: z.number().nullable(),
  }),
  environment: z.null(),
});
const patchCall = z.strictObject({
  ...called,
  type: z.literal('apply_patch_call'),
  operation: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('create_file'), path: filled, diff: text }),
    z.strictObject({ type: z.literal('update_file'), path: filled, diff: text }),
    z.strictObject({ type: z.literal('delete_file'), path: filled }),
  ]),
});
const item = z.discriminatedUnion('type', [
  message,
  reasoning,
  functionCall,
  customCall,
  searchCall,
  localShellCall,
  shellCall,
  patchCall,
]);

const usage = z.strictObject({
  input_tokens: index,
  input_tokens_details: z.strictObject({ cached_tokens: index, cache_write_tokens: index }),
  output_tokens: index,
  output_tokens_details: z.strictObject({ reasoning_tokens: index }),
  total_tokens: index,
});

export const responseSchema = z.strictObject({
  id: z.string().startsWith('resp_'),
  object: z.literal('response'),
  created_at: z.int().positive(),
  completed_at: z.int().positive().nullable(),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  incomplete_details: z.strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
  model: text,
  previous_response_id: text.nullable(),
  instructions: text.nullable(),
  output: z.array(item),
  error: z.strictObject({ code: filled, message: filled }).nullable(),
  tools: z.array(z.looseObject({ type: filled })),
  tool_choice: z.union([text, z.looseObject({ type: filled })]),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.strictObject({ format: z.looseObject({ type: filled }), verbosity: text.optional() }),
  temperature: z.number(),
  top_p: z.number(),
  top_logprobs: z.number(),
  reasoning: z.looseObject({ effort: text.nullable(), summary: text.nullable() }),
  usage: usage.nullable(),
  max_output_tokens: z.number().nullable(),
  background: z.literal(false),
  service_tier: text,
  metadata: z.record(z.string(), text),
  safety_identifier: text.nullable(),
  prompt_cache_key: text.nullable(),
  user: text.optional(),
  // the service's own
  max_tool_calls: z.number().nullable(),
  store: z.boolean(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
});

const ofItem = { item_id: filled, output_index: index };
const ofPart = { ...ofItem, content_index: index };
const ofSummary = { ...ofItem, summary_index: index };

const EVENTS: Record<string, z.ZodRawShape> = {
  'response.created': { response: responseSchema },
  'response.in_progress': { response: responseSchema },
  'response.completed': { response: responseSchema },
  'response.incomplete': { response: responseSchema },
  'response.failed': { response: responseSchema },
  'response.output_item.added': { output_index: index, item },
  'response.output_item.done': { output_index: index, item },
  'response.content_part.added': { ...ofPart, part: z.union([part, raw]) },
  'response.content_part.done': { ...ofPart, part: z.union([part, raw]) },
  'response.output_text.delta': { ...ofPart, delta: filled, logprobs: z.array(z.unknown()) },
  'response.output_text.done': { ...ofPart, text, logprobs: z.array(z.unknown()) },
  'response.output_text.annotation.added': { ...ofPart, annotation_index: index, annotation },
  'response.refusal.delta': { ...ofPart, delta: filled },
  'response.refusal.done': { ...ofPart, refusal: text },
  'response.reasoning_summary_part.added': { ...ofSummary, part: summary },
  'response.reasoning_summary_part.done': { ...ofSummary, part: summary },
  'response.reasoning_summary_text.delta': { ...ofSummary, delta: filled },
  'response.reasoning_summary_text.done': { ...ofSummary, text },
  'response.reasoning_text.delta': { ...ofPart, delta: filled },
  'response.reasoning_text.done': { ...ofPart, text },
  'response.function_call_arguments.delta': { ...ofItem, delta: filled },
  'response.function_call_arguments.done': { ...ofItem, name: filled, arguments: text },
  'response.custom_tool_call_input.delta': { ...ofItem, delta: filled },
  'response.custom_tool_call_input.done': { ...ofItem, input: text },
  error: {
    code: filled.nullable(),
    message: filled,
    param: text.nullable(),
    error: z.strictObject({
      type: filled,
      code: filled.nullable(),
      message: filled,
      param: text.nullable(),
    }),
  },
};

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed']);

interface WireEvent extends JsonObject {
  type: string;
  sequence_number: number;
}

/** The events of a whole stream of the gateway's own, each checked, in the order that the reference demands. */
export function checkedEvents(stream: string): WireEvent[] {
  const frames = stream.split('\n\n').slice(0, -1);
  if (frames.pop() !== 'data: [DONE]') throw new Error('the stream does not end with [DONE]');
  const events = frames.map((frame) => {
    const [, name = '', data = ''] = /^event: (.+)\ndata: (.+)$/.exec(frame) ?? [];
    const event = JSON.parse(data) as WireEvent;
    const shape = EVENTS[name];
    if (shape === undefined) throw new Error(`unknown event ${name}`);
    z.strictObject({ type: z.literal(name), sequence_number: index, ...shape }).parse(event);
    return event;
  });
  const numbers = events.map(({ sequence_number }) => sequence_number);
  if (numbers.some((number, at) => number !== at)) throw new Error(`numbers ${numbers.join()}`);
  if (events[0]?.type !== 'response.created') throw new Error('the first event is not response.created');
  if (events[1]?.type !== 'response.in_progress') throw new Error('the second is not response.in_progress');
  const ends = events.filter(({ type }) => TERMINAL.has(type));
  if (ends.length !== 1 || ends[0] !== events.at(-1)) throw new Error('not one terminal event, at the end');
  checkItems(events);
  return events;
}

/** Items open one after the other, their pieces add up to what closes them, and the Response holds them as they closed. */
function checkItems(events: readonly WireEvent[]): void {
  const closed: unknown[] = [];
  let open: string | undefined;
  const pieces = new Map<string, string>();
  for (const event of events) {
    const { type, output_index: place } = event;
    if (place !== undefined && place !== closed.length)
      throw new Error(`${type} of item ${JSON.stringify(place)}`);
    if (type === 'response.output_item.added') {
      if (open !== undefined) throw new Error('an item opens in another one');
      open = (event.item as { id: string }).id;
    } else if (type === 'response.output_item.done') {
      if (open !== (event.item as { id: string }).id) throw new Error('another item closes');
      open = undefined;
      closed.push(event.item);
    } else if (event.item_id !== undefined && event.item_id !== open) throw new Error(`${type} outside`);
    const kind = type.replace(/\.(?:delta|done)$/, '');
    const sum = pieces.get(kind) ?? '';
    if (type.endsWith('.delta')) pieces.set(kind, sum + (event.delta as string));
    else if (/_text\.done|refusal\.done|arguments\.done|input\.done/.test(type)) {
      const whole = event.text ?? event.refusal ?? event.arguments ?? event.input;
      if (whole !== sum) throw new Error(`${type}: ${JSON.stringify(whole)} is not ${sum}`);
      pieces.delete(kind);
    }
  }
  const last = events.at(-1);
  const { output } = last?.response as { output: unknown[] };
  const whole = last?.type === 'response.failed' ? output.slice(0, closed.length) : output;
  if (JSON.stringify(whole) !== JSON.stringify(closed))
    throw new Error('the output is not the items that closed');
}
