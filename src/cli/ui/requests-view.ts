// Prints requests for people: the last ones as a table, one of them with its attempts and with what was left out.
import type { AttemptDetail, RequestJson } from '../../accounts/request-json.ts';
import { shortId } from '../../conversations/names.ts';
import { plural } from '../../plural.ts';
import { errorWords, missWords } from '../../error-words.ts';
import {
  clean,
  formatCost,
  formatCount,
  formatShort,
  inSentence,
  shown,
  shownSecond,
  timeTitle,
  type Style,
  type Zone,
} from './style.ts';
import { labelledBy, table, type Cell, type Column } from './table.ts';
import { formatElapsed } from '../../elapsed.ts';

interface Canvas {
  /** undefined: a pipe, so nothing is shortened. */
  width: number | undefined;
  style: Style;
  now: number;
  zone: Zone;
}

/** In a terminal, the day is left out for times of today, and the seconds for others. */
function shownTime(at: number, { width, now, zone }: Canvas): string {
  const time = shownSecond(at, zone);
  if (width === undefined) return time;
  const isToday = time.slice(0, 10) === shown(now, zone).slice(0, 10);
  return isToday ? time.slice(11) : time.slice(5, 16);
}

export const targetOf = ({ provider, model }: RequestJson): string | null =>
  provider === null ? null : `${provider}/${model ?? ''}`;

/** `auto → openai/gpt-5.2`; of a refused request the path. */
function modelText(request: RequestJson): string {
  const { model_asked: asked, refused, endpoint, model } = request;
  if (asked === null) return clean(endpoint);
  if (refused) return clean(asked);
  const target = targetOf(request);
  if (target === null) return clean(asked);
  return clean(asked === target ? target : asked === model ? target : `${asked} → ${target}`);
}

function statusCell({ status, error }: RequestJson): Cell {
  if (error === null) return { text: String(status), paint: 'green' };
  if (error === 'client_closed') return { text: String(status), paint: 'yellow' };
  // The error came in the stream, after its status.
  return { text: status === 200 ? '200!' : String(status), paint: 'red' };
}

const FULL_ID = 'req_'.length + 24;
/** Enough to find a request by it. */
const SHORT_ID = 10;

/** On a terminal only the beginning, which `gateway requests ID` accepts. */
function idText({ id }: RequestJson, { width }: Canvas): string {
  if (id === null) return '-';
  return width === undefined ? clean(id) : clean(id).replace(/^req_/, '').slice(0, SHORT_ID);
}

/** `81%`: the share of the input that the provider read from its cache. */
function cachedText({ cache: { share } }: RequestJson): string {
  return share === null ? '-' : `${Math.round(100 * share)}%`;
}

/** `miss: tools changed, 41,230 tokens, $0.15` */
function missTexts({ cache: { miss } }: RequestJson, isWhole: boolean): string[] {
  if (miss === null) return [];
  const { cause, detail, tokens: count, cost_usd: cost } = miss;
  const words = [
    `miss: ${missWords(cause)}${isWhole && detail !== null ? ` (${detail})` : ''}`,
    ...(count === null ? [] : [`${formatCount(count)} tokens`]),
    ...(cost === null ? [] : [formatCost(cost)]),
  ];
  return [words.join(', ')];
}

/** What a person should know of it, in short. */
function noteOf(request: RequestJson): string {
  const { error, attempts, detail, refused } = request;
  const { times = 1, message, dropped = [], lost = [], passed_over: passedOver = [] } = detail;
  const words = [
    ...(error === null ? [] : [refused ? `refused: ${errorWords(error)}` : errorWords(error)]),
    ...(times > 1 ? [`${formatCount(times)} times in a minute`] : []),
    ...((attempts ?? 1) > 1 ? [plural(attempts ?? 0, 'attempt')] : []),
    ...missTexts(request, false),
    ...(passedOver.length > 0 ? [`not ${passedOver.map(({ target }) => target).join(', ')}`] : []),
    ...(dropped.length > 0 ? [`without ${dropped.join(', ')}`] : []),
    ...(lost.length > 0 ? [`lost ${lost.join(', ')}`] : []),
    // Last: it is long.
    ...(message === undefined ? [] : [message]),
  ];
  return clean(words.join('; '));
}

const tokens = (count: number | null, width: number | undefined): string =>
  count === null ? '-' : width === undefined ? String(count) : formatShort(count);

/** `from`: shown from this width of the terminal on. */
function columnsFor(canvas: Canvas): Column<RequestJson>[] {
  const { width } = canvas;
  const columns: (Column<RequestJson> & { from?: number })[] = [
    { title: timeTitle('TIME', canvas.zone), value: ({ at }) => shownTime(Date.parse(at), canvas), least: 8 },
    { title: 'CODE', value: statusCell },
    { title: 'ACCOUNT', value: ({ account }) => clean(account ?? '-'), shrinks: true, least: 8, from: 76 },
    { title: 'MODEL', value: modelText, shrinks: true, least: 12 },
    { title: 'IN', value: (row) => tokens(row.input_tokens, width), align: 'right', least: 5 },
    { title: 'CACHED', value: cachedText, align: 'right', from: 130 },
    { title: 'OUT', value: (row) => tokens(row.output_tokens, width), align: 'right', least: 5 },
    { title: 'COST', value: (row) => formatCost(row.cost_usd), align: 'right', least: 7, from: 112 },
    { title: 'FIRST', value: (row) => formatElapsed(row.first_byte_ms), align: 'right', least: 5, from: 120 },
    { title: 'TOOK', value: (row) => formatElapsed(row.duration_ms), align: 'right', least: 5, from: 68 },
    {
      title: 'CONV',
      value: ({ conversation: id }) => clean(id === null ? '-' : width === undefined ? id : shortId(id)),
      from: 140,
    },
    { title: 'ID', value: (row) => idText(row, canvas), least: width === undefined ? FULL_ID : SHORT_ID },
    { title: 'NOTE', value: noteOf, shrinks: true, from: 84 },
  ];
  return columns.filter(({ from = 0 }) => from <= (width ?? Infinity));
}

/** The lines of a table, the newest last. `bare`: without the titles. */
export function requestTable(
  rows: readonly RequestJson[],
  canvas: Canvas,
  { bare = false }: { bare?: boolean } = {},
): string[] {
  const { width, style } = canvas;
  const lines = table(rows, columnsFor(canvas), { width, style });
  return bare ? lines.slice(1) : lines;
}

export function requestLines(request: RequestJson, canvas: Canvas): string[] {
  const { style } = canvas;
  const labelled = labelledBy(canvas);
  const { detail } = request;
  const { dropped = [], changed = [], lost = [], repaired = [], learnt = [] } = detail;
  const { passed_over: passedOver = [] } = detail;
  const list = (names: readonly string[]): string[] => (names.length === 0 ? [] : [clean(names.join(', '))]);
  return [
    style.bold(clean(request.id ?? 'a request without an id')),
    ...labelled('result', [resultText(request, style)]),
    ...labelled('message', detail.message === undefined ? [] : [clean(detail.message)]),
    ...labelled('time', [timeText(request, canvas.zone)]),
    ...labelled('account', [accountText(request)]),
    ...labelled('asked', [askedText(request)]),
    ...labelled('conversation', conversationTexts(request)),
    ...(request.refused ? [] : labelled('target', [clean(targetOf(request) ?? 'none was reached')])),
    ...labelled('rule', detail.rule === undefined ? [] : [clean(detail.rule)]),
    ...labelled('attempts', attemptTexts(request)),
    ...labelled(
      'passed over',
      passedOver.map(({ target, why }) => `${clean(target)}: ${clean(why)}`),
    ),
    ...labelled('left out', list(dropped)),
    ...labelled('changed', changed.map(clean)),
    ...labelled('lost', list(lost)),
    ...labelled('repaired', repaired.map(clean)),
    ...labelled('learnt', list(learnt)),
    ...(request.refused ? [] : labelled('tokens', [tokenText(request)])),
    ...(request.refused ? [] : labelled('cost', [formatCost(request.cost_usd)])),
    ...labelled('cache', missTexts(request, true).map(clean)),
  ];
}

const likeIt = (times: number): string =>
  times === 1 ? '' : `; ${formatCount(times)} requests like it in a minute`;

function resultText({ status, error, refused, detail: { times = 1 } }: RequestJson, style: Style): string {
  if (error === null) return style.green(`${status} answered`);
  const words = clean(errorWords(error));
  if (refused) return style.red(`${status} refused before admission: ${words}; not counted${likeIt(times)}`);
  if (error === 'client_closed') return style.yellow('the client left before the end of the answer');
  return style.red(`${status} ${status === 200 ? 'an error event in the stream: ' : ''}${words}`);
}

function timeText({ at, first_byte_ms: first, duration_ms: duration }: RequestJson, zone: Zone): string {
  const words = [inSentence(shownSecond(Date.parse(at), zone), zone)];
  if (duration !== null) words.push(`took ${formatElapsed(duration)}`);
  if (first !== null) words.push(`first byte after ${formatElapsed(first)}`);
  return words.join(', ');
}

function accountText({ account, key, refused }: RequestJson): string {
  const name = account === null ? (refused ? 'unknown' : 'removed') : clean(account);
  return key === null ? name : `${name}, key ${clean(key)}`;
}

/** The conversation, and whose part of it. */
function conversationTexts(request: RequestJson): string[] {
  const { conversation: id, agent, agent_type: type, class: kind, prompt, label, client } = request;
  if (id === null) return [];
  const words = [
    shortId(id),
    ...(agent === null ? [] : [`agent ${[type, agent].filter((word) => word !== null).join(' ')}`]),
    ...(kind === null ? [] : [`work ${kind}`]),
    ...(prompt === null ? [] : [`task ${prompt}`]),
    ...(label === null ? [] : [`label ${label}`]),
    ...(client === null ? [] : [`by ${client}`]),
  ];
  return [clean(words.join(', '))];
}

function askedText({ model_asked: asked, endpoint, stream }: RequestJson): string {
  if (asked === null) return clean(endpoint);
  return `${clean(asked)} by ${clean(endpoint)}${stream ? ', streamed' : ''}`;
}

/** Of a request with one attempt that answered, nothing. */
function attemptTexts({ detail: { attempts = [] } }: RequestJson): string[] {
  return attempts.map((attempt, at) => {
    const { target, protocol, provider_key: key, ms, message } = attempt;
    const by = `${clean(protocol)}${key === undefined ? '' : `, key ${key}`}`;
    const head = `${at + 1}. ${clean(target)} (${by}): ${outcomeOf(attempt)} after ${formatElapsed(ms)}`;
    return message === undefined ? head : `${head}: ${clean(message)}`;
  });
}

function outcomeOf({ status, error }: AttemptDetail): string {
  if (error === undefined) return 'answered';
  return status === undefined ? clean(error) : `${status} ${clean(error)}`;
}

function tokenText(request: RequestJson): string {
  const { input_tokens: input, output_tokens: output, reasoning_tokens: reasoning, detail } = request;
  const { cache_read_tokens: read, cache_write_tokens: written } = request;
  if (input === null || output === null) {
    const { estimated_input: estimated } = detail;
    return estimated === undefined ? 'unknown' : `unknown; about ${formatCount(estimated)} in by estimate`;
  }
  const parts = [
    ...(read ? [`${formatCount(read)} read from the cache, ${cachedText(request)}`] : []),
    ...(written ? [`${formatCount(written)} written to it`] : []),
  ];
  const ofInput = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  return `${formatCount(input)} in${ofInput}, ${formatCount(output)} out${reasoning ? ` (${formatCount(reasoning)} of them reasoning)` : ''}`;
}
