// Answers of a scripted provider, written as a provider of another make might: odd spacing, members that nobody knows.
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { Script } from '../helpers/scripted-provider.ts';

export const WHOLE: Record<ProtocolName, string> = {
  chat: `{ "id":"chatcmpl-7","object" : "chat.completion","created":1,"model":"served-by-7",
  "choices":[ {"index":0,"message":{"role":"assistant","content":"gr\\u00fc\\u00df \\ud83d\\ude00 dich","refusal":null,"x_member":[1.0,2e3]},
  "logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12},"x_vendor":{"a":null} }`,
  messages: `{ "id":"msg_7","type" : "message","role":"assistant","model":"served-by-7",
  "content":[ {"type":"text","text":"gr\\u00fc\\u00df \\ud83d\\ude00 dich","x_member":[1.0,2e3]} ],"stop_reason":"end_turn",
  "stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":7},"x_vendor":{"a":null} }`,
  responses: `{ "id":"resp_7","object" : "response","created_at":1,"status":"completed","model":"served-by-7",
  "output":[ {"type":"message","id":"msg_7","role":"assistant","status":"completed","content":[{"type":"output_text","text":"gr\\u00fc\\u00df \\ud83d\\ude00 dich","annotations":[],"x_member":[1.0,2e3]}]} ],
  "usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12},"x_vendor":{"a":null} }`,
};

export const STREAM: Record<ProtocolName, string> = {
  chat: [
    ': a comment',
    'data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"served-by-7","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}',
    'data:{"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"served-by-7","choices":[{"index":0,"delta":{"content":"grüß 😀 "},"finish_reason":null}],"x_vendor": 1.0}',
    'data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"served-by-7","choices":[{"index":0,"delta":{"content":"dich"},"finish_reason":null}]}',
    'data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"served-by-7","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    'data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"served-by-7","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}',
    'data: [DONE]',
  ]
    .map((frame) => `${frame}\n\n`)
    .join(''),
  messages: [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_7","type":"message","role":"assistant","model":"served-by-7","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}}',
    'event: ping\ndata: {"type": "ping"}',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"grüß 😀 "},"x_vendor": 1.0}',
    'event: x_unknown\ndata: {"type":"x_unknown"}',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"dich"}}',
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}',
    'event: message_stop\ndata: {"type":"message_stop"}',
  ]
    .map((frame) => `${frame}\n\n`)
    .join(''),
  responses: [
    '{"type":"response.created","sequence_number":0,"response":{"id":"resp_7","object":"response","created_at":1,"status":"in_progress","model":"served-by-7","output":[]}}',
    '{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_7","object":"response","created_at":1,"status":"in_progress","model":"served-by-7","output":[]}}',
    '{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"type":"message","id":"msg_7","role":"assistant","status":"in_progress","content":[]}}',
    '{"type":"response.content_part.added","sequence_number":3,"item_id":"msg_7","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}',
    '{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_7","output_index":0,"content_index":0,"delta":"grüß 😀 ","x_vendor": 1.0}',
    '{"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_7","output_index":0,"content_index":0,"delta":"dich"}',
    '{"type":"response.output_text.done","sequence_number":6,"item_id":"msg_7","output_index":0,"content_index":0,"text":"grüß 😀 dich"}',
    '{"type":"response.content_part.done","sequence_number":7,"item_id":"msg_7","output_index":0,"content_index":0,"part":{"type":"output_text","text":"grüß 😀 dich","annotations":[]}}',
    '{"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":{"type":"message","id":"msg_7","role":"assistant","status":"completed","content":[{"type":"output_text","text":"grüß 😀 dich","annotations":[]}]}}',
    '{"type":"response.completed","sequence_number":9,"response":{"id":"resp_7","object":"response","created_at":1,"status":"completed","model":"served-by-7","output":[{"type":"message","id":"msg_7","role":"assistant","status":"completed","content":[{"type":"output_text","text":"grüß 😀 dich","annotations":[]}]}],"usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}}',
  ]
    .map((data) => `event: ${String((JSON.parse(data) as { type: string }).type)}\ndata: ${data}\n\n`)
    .join(''),
};

export function goodAnswer(protocol: ProtocolName, stream: boolean): Script {
  return stream ? { steps: [STREAM[protocol]] } : { body: WHOLE[protocol] };
}
