// A conversation in short, by any model: it is asked for a summary, which is sealed for the account. In a later input the summary stands in
// the place of the item; its content is the gateway's own, so that no provider can read it by itself.
// https://developers.openai.com/api/docs/guides/compaction
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../canonical/json.ts';
import { GatewayError } from '../../errors.ts';
import type { Instead } from '../interface/endpoint.ts';
import { outputOf } from './stored/records.ts';
import { isMessage } from './request/envelope.ts';
import { itemId } from './reply/items.ts';

const TASK =
  'The conversation so far becomes too long and will be replaced by a summary that you write now. Whoever goes on with the work reads ' +
  'this summary and the messages of the user alone. Write down: what the user wants, with all demands and preferences; what was done, ' +
  'found and decided, and why; files, names, values and commands that matter, exactly; the state of the work, and what is left to do. ' +
  'Write the summary alone, and call no tool.';

const BEGINNING = 'The conversation before this message was replaced by a summary. Go on from it:\n\n';

/** Members of a request that a summary does without. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'input',
  'stream',
  'stream_options',
  'include',
  'text',
  'store',
  'tool_choice',
  'service_tier',
]);

function ask(value: JsonObject): JsonObject {
  const kept = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  const task = { type: 'message', role: 'user', content: [{ type: 'input_text', text: TASK }] };
  const body: JsonObject = Object.fromEntries(kept);
  body.input = [...itemsOf(value.input), task];
  body.store = false;
  // The tools stay: some providers refuse calls in the history of tools that they do not know.
  if (Array.isArray(value.tools) && value.tools.length > 0) body.tool_choice = 'none';
  return body;
}

function itemsOf(input: JsonValue | undefined): JsonValue[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input : [];
}

/** Characters of the user's own words that stay beside the summary: the last ones. */
const MOST_WORDS = 64 * 1024;

const answer: Instead['answer'] = (reply, asked, { ids, now, seal }) => {
  const summary = textOf(reply);
  if (summary === '') {
    throw new GatewayError('upstream', 'the model wrote no summary of the conversation');
  }
  const blob = seal(JSON.stringify({ summary }));
  const words = lastWords(itemsOf(asked.input)).map((content) => ({
    id: itemId('msg', ids),
    type: 'message',
    status: 'completed',
    role: 'user',
    content,
  }));
  return {
    id: itemId('resp', ids),
    object: 'response.compaction',
    created_at: Math.floor(now() / 1000),
    output: [...words, { id: itemId('cmp', ids), type: 'compaction', encrypted_content: blob }],
    usage: reply.usage ?? null,
  };
};

function textOf(reply: JsonObject): string {
  return outputOf(reply)
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .map((part) => (isObject(part) && part.type === 'output_text' ? stringOf(part.text) : ''))
    .join('')
    .trim();
}

function lastWords(items: readonly JsonValue[]): JsonValue[][] {
  const found: JsonValue[][] = [];
  let size = 0;
  for (const item of items.toReversed()) {
    if (!isObject(item) || !isMessage(item) || item.role !== 'user') continue;
    const { content } = item;
    const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
    if (!Array.isArray(parts)) continue;
    size += JSON.stringify(parts).length;
    if (size > MOST_WORDS) break;
    found.unshift(parts);
  }
  return found;
}

/** Of a summary that this gateway sealed; `opened`: what was sealed. Throws GatewayError where nobody can read it any more. */
export function summaryMessage(opened: string | undefined): JsonObject {
  const value: unknown = opened === undefined ? undefined : JSON.parse(opened);
  if (!isObject(value) || typeof value.summary !== 'string') {
    const message =
      'the compaction was made for another account, or by a gateway with another key; send the conversation itself';
    throw new GatewayError('invalid_request', message, { param: 'input' });
  }
  const content = [{ type: 'input_text', text: BEGINNING + value.summary }];
  return { type: 'message', role: 'user', content };
}

export const isCompaction = ({ type }: JsonObject): boolean =>
  type === 'compaction' || type === 'context_compaction';

export const compaction: Instead = { ask, answer };
