// The canonical reply as a whole Response, and what a Response has no place for.
import { append, type JsonObject } from '../../../canonical/json.ts';
import { estimateUsage, writtenCharacters, type Reply, type ReplyPart } from '../../../canonical/reply.ts';
import type { TextPart } from '../../../canonical/request.ts';
import type { HiddenTexts, ReplyContext, ReplyHolds } from '../../interface/answer.ts';
import { toolDirectory } from '../request/tools.ts';
import { encodeCitation } from './citations.ts';
import {
  callIds,
  callItem,
  itemId,
  messageItem,
  reasoningItem,
  refusalPart,
  textPart,
  clientToolOf,
} from './items.ts';
import { completedAt, responseId, responseOf, type ResponseHead, type ResponseState } from './response.ts';
import { encodeStop, holdsAnswer, refusalWords, encodeUsage } from './ending.ts';

export function encodeReply(reply: Reply, context: ReplyContext): JsonObject {
  return encodeStoredReply(reply, context).answer;
}

/** `hidden`: what is stored of the items beside what the client sees of them. */
export function encodeStoredReply(
  reply: Reply,
  context: ReplyContext,
): { answer: JsonObject; hidden: HiddenTexts } {
  const id = responseId(reply.id, context.ids);
  const hidden = new Map<string, string>();
  const output = outputOf(reply, context, hidden);
  const ending = encodeStop(reply.stop, isRefusal(reply) && !holdsAnswer(output));
  const state: ResponseState = {
    status: ending.status,
    output: ending.status === 'completed' ? output : cut(output, reply.parts),
    usage: encodeUsage(reply.usage ?? estimateUsage(context.estimateInput(), writtenCharacters(reply.parts))),
  };
  if (ending.reason !== undefined) state.reason = ending.reason;
  const { created = context.created, model, serviceTier } = reply;
  const head: ResponseHead = { id, created, model, serviceTier };
  if (ending.status === 'completed') state.completedAt = completedAt(head, context);
  return { answer: responseOf(head, state, context), hidden };
}

function isRefusal({ parts, stop }: Reply): boolean {
  return refusalWords(stop) !== '' || parts.some((part) => part.type === 'text' && part.refusal === true);
}

function outputOf(
  { parts: given, stop }: Reply,
  context: ReplyContext,
  hidden: Map<string, string>,
): JsonObject[] {
  const tools = toolDirectory(context.request.asked ?? {});
  const parts = given.map((part) => asRefusal(part, stop));
  const items: JsonObject[] = [];
  let message: MessageContent | undefined;
  const say = (part: TextPart): void => {
    if (message === undefined) {
      message = new MessageContent();
      items.push(messageItem(itemId('msg', context.ids), message.parts, 'completed'));
    }
    message.add(part);
  };
  for (const part of parts) {
    if (part.type === 'text') {
      say(part);
      continue;
    }
    if (part.type === 'reasoning') {
      const item = reasoningItem(part, context, hidden);
      if (item === undefined) continue;
      items.push(item);
    } else if (part.type === 'tool_call') {
      const tool = clientToolOf(tools, part);
      const written = part.custom === true ? part.arguments : part.arguments || '{}';
      items.push(callItem(tool, callIds(tool, part.id, context.ids), written, 'completed'));
    } else if (part.protocol === 'responses') items.push(part.value);
    message = undefined;
  }
  const refusal = explanationOf(parts, stop);
  if (refusal !== '') say({ type: 'text', text: refusal, refusal: true });
  return items;
}

/** With the status of the last item where the answer was cut, unless it is the provider's own. */
function cut(items: JsonObject[], parts: readonly ReplyPart[]): JsonObject[] {
  const last = items.at(-1);
  const isOwn = !parts.some((part) => part.type === 'native' && part.value === last);
  return last !== undefined && isOwn ? [...items.slice(0, -1), { ...last, status: 'incomplete' }] : items;
}

/** A provider that refuses in its text and explains it in the same words has written it once. */
function asRefusal(part: ReplyPart, { reason, explanation }: Reply['stop']): ReplyPart {
  const isSame = reason === 'refusal' && part.type === 'text' && part.text === explanation;
  return isSame ? { ...part, refusal: true } : part;
}

/** The words of a refusal that stand nowhere in the answer yet. */
function explanationOf(parts: readonly ReplyPart[], stop: Reply['stop']): string {
  return parts.some((part) => part.type === 'text' && part.refusal === true) ? '' : refusalWords(stop);
}

/** Texts that follow one another are one: most readers look at the first part alone. */
class MessageContent {
  readonly parts: JsonObject[] = [];
  #isRefusal: boolean | undefined;
  #text = '';
  #annotations: JsonObject[] = [];
  #tokens: JsonObject[] = [];

  add({ text, refusal, citations = [], logprobs = [] }: TextPart): void {
    const isRefusal = refusal === true;
    if (isRefusal !== this.#isRefusal) {
      this.#isRefusal = isRefusal;
      this.#text = '';
      this.#annotations = [];
      this.#tokens = [];
    } else this.parts.pop();
    for (const citation of citations) {
      const annotation = encodeCitation(citation, this.#text.length, text.length);
      if (annotation !== undefined) this.#annotations.push(annotation);
    }
    this.#text += text;
    append(this.#tokens, logprobs);
    this.parts.push(
      isRefusal ? refusalPart(this.#text) : textPart(this.#text, this.#annotations, this.#tokens),
    );
  }
}

export const holds: ReplyHolds = {
  protocol: 'responses',
  nativeParts: true,
  // What Gemini's chat endpoint wants back with a call.
  losesExtras: (extra) => extra.extra_content !== undefined,
  stopCategory: false,
  pages: true,
  signedThinking: true,
};

/** Everything that its answers hold can be written anew. */
export function lossesOfRewriting(): string[] {
  return [];
}
