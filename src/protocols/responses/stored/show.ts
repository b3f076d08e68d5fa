// A stored answer and its input, as the clients of their account read them.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import { GatewayError } from '../../../errors.ts';
import { answerRecord, outputOf } from './records.ts';

export function show(text: string, query: URLSearchParams): JsonObject | undefined {
  if (query.get('stream') === 'true') {
    throw new GatewayError('invalid_request', 'a stored response is whole; retrieve it without stream', {
      param: 'stream',
    });
  }
  const response = answerRecord(text)?.response;
  return response && { ...response, output: outputOf(response).map(shown) };
}

/** Without what was stored beside what the client got. */
function shown(item: JsonObject): JsonObject {
  const { encrypted_content: content, ...rest } = item;
  return typeof content === 'string' && content.startsWith('{') ? rest : item;
}

const DEFAULT_PAGE = 20;
const LARGEST_PAGE = 100;

/** https://platform.openai.com/docs/api-reference/responses/input-items */
export function showInput(text: string, query: URLSearchParams, id: string): JsonObject | undefined {
  const record = answerRecord(text);
  if (record?.input === undefined) return undefined;
  const limit = Number(query.get('limit') ?? DEFAULT_PAGE);
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_PAGE) {
    throw new GatewayError('invalid_request', `limit must be a number from 1 to ${LARGEST_PAGE}`, {
      param: 'limit',
    });
  }
  const ownId = id.replace(/^resp_/, 'msg_');
  const items = record.input.filter(isObject).map((item, at) => listed(shown(item), `${ownId}_${at}`));
  if (query.get('order') !== 'asc') items.reverse();
  const after = query.get('after');
  const from = after === null ? 0 : items.findIndex((item) => item.id === after) + 1;
  const data = items.slice(from, from + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + data.length < items.length,
  };
}

/** Lists show every item with an id and a type, and a message's text as parts. */
function listed(item: JsonObject, id: string): JsonObject {
  const { type = 'message', role, content } = item;
  if (type !== 'message' || typeof content !== 'string') return { id, type, ...item };
  const part = role === 'assistant' ? 'output_text' : 'input_text';
  const parts: JsonObject = { type: part, text: content };
  if (role === 'assistant') parts.annotations = [];
  return { id, type, status: 'completed', ...item, content: [parts] };
}
