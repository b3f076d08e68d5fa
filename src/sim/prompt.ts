// Finds what the simulated model replies to: the last user message, or the results of its tool calls.
import type { Message, Part, GenerationRequest, ToolResultPart } from '../canonical/request.ts';
import { describeAudio, describeDocument, describeImage } from './media.ts';

export interface Prompt {
  /** The text of the last user message; tools are chosen by the names in it. */
  text: string;
  /** Tool results follow the last assistant message. Then no tool is called, or the client would loop forever. */
  afterTools: boolean;
  /** The text of the reply. */
  answer: string;
}

export function promptOf(request: GenerationRequest): Prompt {
  const { messages } = request;
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const afterTools = turn.some(hasToolResult);
  const last = messages.findLast(({ role }) => role === 'user');
  const text = last === undefined ? '' : textOf(last.parts);
  // A user message without text after the results holds images that a tool result cannot hold in chat.
  const isResult = afterTools && last !== undefined && (hasToolResult(last) || text === '');
  if (isResult) return { text, afterTools, answer: resultsOf(turn) };
  const media = last === undefined ? [] : last.parts.map(describeMedia).filter((line) => line !== '');
  return { text, afterTools, answer: [text, ...media].filter((line) => line !== '').join('\n') };
}

function hasToolResult({ parts }: Message): boolean {
  return parts.some(({ type }) => type === 'tool_result');
}

/** The tool results and the images beside them, one per line. */
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

/** A part as text: for the token count and for the content of tool results. */
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
