// What of a conversation the simulated model answers: the last message of the user, or the results of its own tool calls.
import type { Message, Part, GenerationRequest, ToolResultPart } from '../canonical/request.ts';
import { describeAudio, describeDocument, describeImage } from './media.ts';

export interface Prompt {
  /** The user's last text; tool names are looked for in it. */
  text: string;
  /** Results of tools stand after the model's last turn: calling again would never end. */
  afterTools: boolean;
  /** What an echo says. */
  answer: string;
}

export function promptOf(request: GenerationRequest): Prompt {
  const { messages } = request;
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const afterTools = turn.some(holdsResult);
  const last = messages.findLast(({ role }) => role === 'user');
  const text = last === undefined ? '' : textOf(last.parts);
  // A later message without a word only brings the pictures of a result that could not hold them.
  const isResult = afterTools && last !== undefined && (holdsResult(last) || text === '');
  if (isResult) return { text, afterTools, answer: resultsOf(turn) };
  const media = last === undefined ? [] : last.parts.map(describeMedia).filter((line) => line !== '');
  return { text, afterTools, answer: [text, ...media].filter((line) => line !== '').join('\n') };
}

function holdsResult({ parts }: Message): boolean {
  return parts.some(({ type }) => type === 'tool_result');
}

/** Several results, one line after another; pictures that came beside them too. */
function resultsOf(turn: Message[]): string {
  return turn
    .filter(({ role }) => role === 'user')
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === 'tool_result' ? describeResult(part) : describeMedia(part)))
    .filter((line) => line !== '')
    .join('\n');
}

function describeResult({ content }: ToolResultPart): string {
  return typeof content === 'string' ? content : describe(content);
}

function textOf(parts: Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function describeMedia(part: Part): string {
  switch (part.type) {
    case 'image':
      return describeImage(part);
    case 'document':
      return describeDocument(part, describe);
    case 'audio':
      return describeAudio(part);
    case 'native':
      return `[${part.kind}]`;
    case 'text':
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return '';
  }
}

/** A part as text: what the model sees of it. */
export function describePart(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'tool_call':
      return part.name + part.arguments;
    case 'tool_result':
      return describeResult(part);
    case 'image':
    case 'document':
    case 'audio':
    case 'native':
      return describeMedia(part);
  }
}

function describe(parts: readonly Part[]): string {
  return parts
    .map(describePart)
    .filter((line) => line !== '')
    .join('\n');
}
