// Whether an answer is what a case of tools wants.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { Reply } from '../../canonical/reply.ts';
import type { FunctionTool, Tool } from '../../canonical/request.ts';
import type { ToolCase, WantedCall } from './tool-cases.data.ts';

export interface Fault {
  /** `in_text`: the text looks like a call that nothing could read. */
  kind: 'no_call' | 'in_text' | 'needless' | 'wrong' | 'cut_off' | 'finish';
  detail: string;
}

interface Call {
  name: string;
  /** undefined: no JSON object. */
  args: JsonObject | undefined;
  text: string;
}

/** undefined: it is right. */
export function faultOf(reply: Reply, { asked, wanted }: ToolCase): Fault | undefined {
  const calls = reply.parts.flatMap((part): Call[] =>
    part.type === 'tool_call'
      ? [{ name: part.name, args: objectIn(part.arguments), text: part.arguments }]
      : [],
  );
  const text = reply.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const { reason } = reply.stop;
  if (reason === 'length' || reason === 'context_window')
    return { kind: 'cut_off', detail: 'the answer was cut off by the limit of its output' };
  if (wanted instanceof RegExp) return textFault(wanted, calls, text);
  if (calls.length === 0) return noCall(text, asked.tools ?? []);
  return (
    callsFault(wanted, calls, asked.tools ?? []) ??
    (reason === 'tool_calls'
      ? undefined
      : { kind: 'finish', detail: `its finish is "${reason}" beside a call` })
  );
}

function textFault(wanted: RegExp, [call]: readonly Call[], text: string): Fault | undefined {
  if (call !== undefined)
    return { kind: 'needless', detail: `called ${shown(call)} where no call was wanted` };
  return wanted.test(text) ? undefined : { kind: 'wrong', detail: `answered ${quoted(text)}` };
}

function noCall(text: string, tools: readonly Tool[]): Fault {
  const isLike =
    /[{<[(]/.test(text) && tools.some((tool) => tool.name !== undefined && text.includes(tool.name));
  return isLike
    ? { kind: 'in_text', detail: `wrote its call as text: ${quoted(text)}` }
    : {
        kind: 'no_call',
        detail: text.trim() === '' ? 'no call, no text' : `no call: answered ${quoted(text)}`,
      };
}

function callsFault(
  wanted: readonly WantedCall[],
  calls: readonly Call[],
  tools: readonly Tool[],
): Fault | undefined {
  const left = [...calls];
  for (const want of wanted) {
    const at = left.findIndex((call) => isWanted(call, want, tools));
    if (at >= 0) left.splice(at, 1);
    else if (left.length === 0)
      return { kind: 'wrong', detail: `${calls.length} of ${wanted.length} calls: ${want.name} is missing` };
    else return { kind: 'wrong', detail: `called ${left.map(shown).join(', ')}` };
  }
  const [extra] = left;
  return extra && { kind: 'wrong', detail: `called ${shown(extra)} as well` };
}

/** Further arguments may be given if the tool has them. */
function isWanted({ name, args }: Call, want: WantedCall, tools: readonly Tool[]): boolean {
  if (name !== want.name || args === undefined) return false;
  const tool = tools.find((each): each is FunctionTool => each.type === 'function' && each.name === name);
  const known = isObject(tool?.parameters?.properties) ? tool.parameters.properties : {};
  return (
    Object.keys(args).every((argument) => argument in known) &&
    Object.entries(want.arguments).every(([argument, value]) => matches(args[argument], value))
  );
}

/** A line's end at the end of a text is no matter. */
function matches(value: unknown, wanted: unknown): boolean {
  if (wanted instanceof RegExp) return typeof value === 'string' && wanted.test(value);
  if (typeof wanted === 'string') return typeof value === 'string' && value.trimEnd() === wanted.trimEnd();
  if (Array.isArray(wanted))
    return (
      Array.isArray(value) &&
      value.length === wanted.length &&
      wanted.every((item, at) => matches(value[at], item))
    );
  if (!isObject(wanted)) return value === wanted;
  const keys = Object.keys(wanted);
  return (
    isObject(value) &&
    Object.keys(value).length === keys.length &&
    keys.every((key) => matches(value[key], wanted[key]))
  );
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const LONGEST = 120;

const shown = ({ name, text }: Call): string => `${short(name)} with ${short(text)}`;

const quoted = (text: string): string => JSON.stringify(short(text.trim()));

function short(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
