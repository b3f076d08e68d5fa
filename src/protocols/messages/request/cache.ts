// Prompt-cache marks: a client's own marks are sent as far as the protocol takes them; requests of chat clients, which have none, get
// some.
import { isAtLeast } from '../../shared/hints.ts';
import { append, isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { CacheMark } from '../../../canonical/request.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { list, type WireCacheControl, type WireTurn } from '../wire-types.ts';

/** More marks are refused. */
const MAX_MARKS = 4;

export function cacheControl(mark: CacheMark): WireCacheControl {
  return mark.ttl === undefined ? { type: 'ephemeral' } : { type: 'ephemeral', ttl: mark.ttl };
}

/** The three places of a body where marks stand, in the order of the prompt. */
export interface Prompt {
  tools: JsonObject[];
  system: JsonObject[];
  turns: WireTurn[];
}

/** Blocks that hold or may hold a mark, inner blocks of tool results and documents included. */
function marksIn(blocks: readonly JsonValue[]): JsonObject[] {
  const marks: JsonObject[] = [];
  for (const block of blocks) {
    if (!isObject(block)) continue;
    append(marks, marksIn(list(block.content)));
    if (isObject(block.source)) append(marks, marksIn(list(block.source.content)));
    if (isObject(block.cache_control)) marks.push(block);
  }
  return marks;
}

/** Is there any? Asked for every request, where lists of marks would be made for each block in vain. */
function isMarked(blocks: JsonValue | undefined): boolean {
  if (!Array.isArray(blocks)) return false;
  for (const block of blocks) {
    if (!isObject(block)) continue;
    if (isObject(block.cache_control) || isMarked(block.content)) return true;
    if (isObject(block.source) && isMarked(block.source.content)) return true;
  }
  return false;
}

/** Keeps the last mark on tools, the last on system text and the newest in messages; the others go. */
function keepMost(prompt: Prompt, most: number, encoding: EncodeContext): void {
  const tools = marksIn(prompt.tools);
  const system = marksIn(prompt.system);
  const turns = prompt.turns.flatMap((turn) => marksIn(turn.content));
  if (tools.length + system.length + turns.length <= most) return;
  const first = [...tools.slice(-1), ...system.slice(-1)].slice(-most);
  const room = most - first.length;
  const kept = new Set([...first, ...(room > 0 ? turns.slice(-Math.min(room, 2)) : [])]);
  const leaveOut = (blocks: readonly JsonObject[], field: 'tools.cache' | 'messages.cache'): void => {
    for (const block of blocks) {
      if (kept.has(block)) continue;
      delete block.cache_control;
      encoding.warn('dropped', field, `only ${MAX_MARKS} cache marks are taken`);
    }
  };
  leaveOut(tools, 'tools.cache');
  leaveOut([...system, ...turns], 'messages.cache');
}

function mark(block: JsonObject | undefined): void {
  if (block !== undefined) block.cache_control = cacheControl({});
}

/**
 * On the last tool, the last system block and the last blocks of the two newest user turns. The explicit form rather than the
 * request's own `cache_control`: every server of this protocol knows it.
 */
function addMarks({ tools, system, turns }: Prompt): void {
  mark(tools.at(-1));
  mark(system.at(-1));
  for (const turn of turns.filter((item) => item.role === 'user').slice(-2)) mark(turn.content.at(-1));
}

/** Works on the blocks of `prompt` in place. Says whether the client's mark on the whole request is to be sent. */
export function placeCacheMarks(prompt: Prompt, encoding: EncodeContext): void {
  const { request, traits } = encoding;
  const most = request.cache === undefined ? MAX_MARKS : MAX_MARKS - 1;
  const unmarked =
    request.cache === undefined &&
    !isMarked(prompt.tools) &&
    !isMarked(prompt.system) &&
    !prompt.turns.some((turn) => isMarked(turn.content));
  if (!unmarked) return keepMost(prompt, most, encoding);
  if (request.marksCache === true || traits.promptCache === 'off') return;
  const { tools, system, turns } = prompt;
  if (isAtLeast({ tools, system, messages: turns }, traits.minCacheTokens)) addMarks(prompt);
}
