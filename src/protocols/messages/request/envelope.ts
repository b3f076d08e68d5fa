// What the gateway reads of a messages request, relayed or not: its envelope, what routing asks of it, and whether a body is one of
// this protocol. On the path of every request: one shallow pass, no schema library. Everything else is the provider's to judge.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import { NO_NEEDS, type Needs } from '../../../canonical/traits.ts';
import type { BodyReading, Envelope, Hints } from '../../interface/bodies.ts';
import type { JsonNode } from '../../json/body.ts';
import { readModelName, refuse } from '../../shared/client.ts';
import { addedTool } from '../wire-types.ts';
import { isName, keptIn, typeOf } from '../../shared/kept.ts';
import { beginningOf, lastTurn, estimateBody, NO_NAMES, sessionIn } from '../../shared/hints.ts';
import { steps } from '../steps.ts';

const SERVER_TOOL = /^(web_search|web_fetch|code_execution|tool_search|advisor|mcp_toolset)/;

function isServerTool(type: string): boolean {
  return SERVER_TOOL.test(type);
}

function checkNumber(value: JsonObject, field: string, least: number, most: number, whole: boolean): void {
  const number = value[field];
  if (number === undefined || number === null) return;
  if (typeof number !== 'number' || number < least || number > most || (whole && !Number.isInteger(number))) {
    const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
    refuse(field, `must be a ${whole ? 'whole ' : ''}number ${range}`);
  }
}

/** What is noted while the body is read. */
interface Found {
  needs: Needs;
  /** The path of the first member that names what a provider keeps. */
  kept: string | undefined;
}

/** Containers may be new, with skills that every account has. */
function keptBeside({ container, thread }: JsonObject): string | undefined {
  if (isName(container)) return 'container';
  if (isObject(container)) {
    if (isName(container.id)) return 'container.id';
    const skills = Array.isArray(container.skills) ? container.skills : [];
    const own = skills.findIndex((skill) => isObject(skill) && skill.type !== 'anthropic');
    if (own >= 0) return `container.skills[${own}].skill_id`;
  }
  // The id in `diagnostics` is no such name: its answer tells why a cache was missed, and nothing of the other message.
  return isObject(thread) && isName(thread.previous_message_id) ? 'thread.previous_message_id' : undefined;
}

const TOOL_ADDITION = 'tool_addition';
/** Types of blocks that say what is needed; all others are skipped. */
const TELLING = ['image', 'document', 'container_upload', TOOL_ADDITION];

function checkTurns(body: BodyReading, found: Found): void {
  const turns = body.list('messages') ?? [];
  if (turns.length === 0) refuse('messages', 'must be a non-empty array');
  const isTelling = TELLING.some((type) => body.types.has(type)) || body.hasName('file_id');
  for (let index = 0; index < turns.length; index++) {
    const turn = turns[index];
    if (turn?.isObject !== true) refuse(`messages[${index}]`, 'must be an object');
    const role = turn.textOf('role');
    const content = turn.get('content');
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      refuse(`messages[${index}].role`, 'must be "user", "assistant" or "system"');
    }
    if (content?.isList === true) {
      if (isTelling) lookAtBlocks(content.items(), found, index);
    } else if (content?.isText !== true && !setsOutputAlone(turn)) {
      refuse(`messages[${index}].content`, 'must be a string or an array of content blocks');
    }
  }
}

/** A system message may change the effort and have no text. */
function setsOutputAlone(turn: JsonNode): boolean {
  const isSystem = turn.textOf('role') === 'system';
  return isSystem && turn.get('content')?.isNull !== false && turn.get('output_config')?.isObject === true;
}

/** Tool results may contain images and documents, and documents that consist of blocks may contain images. */
function lookAtBlocks(blocks: readonly JsonNode[], found: Found, turn: number): void {
  const { needs } = found;
  for (const block of blocks) {
    if (!block.isObject) continue;
    const type = block.textOf('type');
    const source = block.get('source');
    if (isName(source?.get('file_id')?.value)) found.kept ??= `messages[${turn}].content[].source.file_id`;
    if (type === 'image') needs.image = true;
    else if (type === 'container_upload') found.kept ??= `messages[${turn}].content[].file_id`;
    else if (type === TOOL_ADDITION) {
      const tool = block.get('tool')?.value;
      if (addedTool({ tool }) !== undefined) needs.tools = true;
    } else if (type === 'tool_result') {
      lookAtBlocks(block.get('content')?.items() ?? [], found, turn);
    } else if (type === 'document' && source?.isObject === true) {
      const kind = source.textOf('type');
      if (kind === 'content') lookAtBlocks(source.get('content')?.items() ?? [], found, turn);
      else if (kind !== 'text') needs.document = true;
    }
  }
}

/** Blocks that add tools on the way. */
export function toolAdditions(body: BodyReading): JsonNode[] {
  if (!body.types.has(TOOL_ADDITION)) return [];
  const blocks = (body.list('messages') ?? []).flatMap((turn) => turn.get('content')?.items() ?? []);
  return blocks.filter((block) => block.textOf('type') === TOOL_ADDITION);
}

const DEFINED_BY_CLIENT: ReadonlySet<unknown> = new Set([undefined, 'custom']);

function lookAtTools(tools: readonly JsonNode[], found: Found): void {
  for (const [at, tool] of tools.entries()) {
    if (!tool.isObject) continue;
    const type = typeOf(tool);
    if (type !== undefined && isServerTool(type)) found.needs.serverTools = true;
    else found.needs.tools = true;
    // The schema of a tool of the client's own may have members of any name.
    if (!DEFINED_BY_CLIENT.has(type)) found.kept ??= keptIn(tool.value, `tools[${at}]`);
  }
}

function lookAtOptions(value: JsonObject, needs: Needs): void {
  const { thinking, output_config: output } = value;
  if (isObject(thinking)) needs.thinking = thinking.type === 'enabled' || thinking.type === 'adaptive';
  needs.structuredOutput = isObject(value.output_format) || (isObject(output) && isObject(output.format));
  if (Array.isArray(value.mcp_servers) && value.mcp_servers.length > 0) needs.serverTools = true;
}

function checkOptions(body: BodyReading): void {
  const { value } = body;
  checkNumber(value, 'max_tokens', 0, Infinity, true);
  checkNumber(value, 'temperature', 0, 1, false);
  checkNumber(value, 'top_p', 0, 1, false);
  checkNumber(value, 'top_k', 0, Infinity, false);
  const { stream, stop_sequences: stop, thinking, tool_choice: choice } = value;
  const [system, tools] = [body.member('system'), body.member('tools')];
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean')
    refuse('stream', 'must be true or false');
  if (system !== undefined && !system.isNull && !system.isText && !system.isList) {
    refuse('system', 'must be a string or an array of text blocks');
  }
  if (stop !== undefined && stop !== null) {
    if (!Array.isArray(stop)) refuse('stop_sequences', 'must be an array of strings');
    const wrong = stop.findIndex((item) => typeof item !== 'string');
    if (wrong >= 0) refuse(`stop_sequences[${wrong}]`, 'must be a string');
  }
  if (thinking !== undefined && thinking !== null && !isObject(thinking))
    refuse('thinking', 'must be an object');
  if (choice !== undefined && choice !== null && !isObject(choice))
    refuse('tool_choice', 'must be an object');
  if (tools !== undefined && !tools.isNull && !tools.isList) refuse('tools', 'must be an array');
}

/** The envelope of `/messages/count_tokens`: nothing is generated, so `max_tokens` is not required. */
export function readCountEnvelope(body: BodyReading): Envelope {
  const { value } = body;
  const model = readModelName(value);
  const needs: Needs = { ...NO_NEEDS };
  const found: Found = { needs, kept: keptBeside(value) };
  checkTurns(body, found);
  checkOptions(body);
  lookAtTools(body.list('tools') ?? [], found);
  lookAtOptions(value, needs);
  return { model, stream: value.stream === true, needs, kept: found.kept };
}

export function readEnvelope(body: BodyReading): Envelope {
  const envelope = readCountEnvelope(body);
  if (typeof body.value.max_tokens !== 'number')
    refuse('max_tokens', 'is required: a whole number of at least 0');
  return envelope;
}

/** System text is long, and many conversations share its beginning: they differ at its end and in the first user message. */
const SYSTEM_END = 2000;

export const hints: Hints = {
  estimate: estimateBody,
  names: ({ metadata }) => sessionIn(metadata) ?? NO_NAMES,
  beginning(body) {
    const system = body.member('system');
    // A character has at most three bytes here: those of the others in pairs count for two.
    const before =
      system?.bytes
        .subarray(-3 * SYSTEM_END)
        .toString()
        .slice(-SYSTEM_END) ?? '';
    return beginningOf(before, body.list('messages'));
  },
  steps,
  hasOpenToolTurn(body) {
    const content = lastTurn(body.list('messages'))?.get('content');
    return content?.items().some((part) => part.textOf('type') === 'tool_result') === true;
  },
  // Streams of this protocol always report usage.
  asksForUsage: () => true,
};

const OWN_MEMBERS = [
  'system',
  'stop_sequences',
  'thinking',
  'top_k',
  'output_config',
  'mcp_servers',
  'container',
];
const OWN_PARTS: readonly unknown[] = ['image', 'document', 'tool_use', 'tool_result', 'thinking'];

/** A body does not name its protocol. It is recognised by what only messages has: members, else the form of a tool, else kinds of content. */
export function recognizes(value: JsonObject): boolean {
  if (value.messages === undefined && value.input !== undefined) return false;
  if (OWN_MEMBERS.some((name) => value[name] !== undefined)) return true;
  const { tools, messages } = value;
  const [tool] = Array.isArray(tools) ? tools : [];
  if (isObject(tool)) return tool.function === undefined && tool.custom === undefined;
  const parts = (Array.isArray(messages) ? messages : []).flatMap((message) =>
    isObject(message) && Array.isArray(message.content) ? message.content : [],
  );
  return parts.some((part) => isObject(part) && OWN_PARTS.includes(part.type));
}
