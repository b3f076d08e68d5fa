// Why a provider read anew what it had in its cache: the first part of the prompt that differs from the request before, in the order in
// which caches read a prompt; else the time between the two; else the provider itself.
import type { PromptPrint } from '../../canonical/prompt-print.ts';
import { formatElapsed } from '../../elapsed.ts';

export type MissCause =
  'model' | 'parameters' | 'tools' | 'system' | 'messages' | 'pause' | 'target' | 'key' | 'evicted';

export interface Cause {
  cause: MissCause;
  /** In words: `tool 5 added`. Without text of the client but for names of models. */
  detail: string;
}

/** A request as a cache sees it. */
export interface CachedRequest {
  readonly print: PromptPrint;
  /** Provider and model. */
  readonly target: string;
  /** A hash of the provider's key: caches belong to accounts. */
  readonly credential: number;
  /** Milliseconds since the epoch: when the provider was asked, and when it began to answer. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** `found`: tokens that the provider did read from its cache. */
export function causeOf(before: CachedRequest, now: CachedRequest, found: number): Cause {
  const idle = now.askedAt - before.answeredAt;
  const isLate = idle > before.print.life;
  const differs = differenceOf(before, now);
  // A pause takes all of the prompt; messages that were rewritten leave what stands before them.
  if (differs !== undefined && !(isLate && differs.cause === 'messages' && found < LITTLE)) return differs;
  if (isLate) return { cause: 'pause', detail: `${formatElapsed(idle)} without a request` };
  return { cause: 'evicted', detail: 'nothing differs: the provider did not find it' };
}

/** Tokens: no cache gives fewer. */
const LITTLE = 1024;

function differenceOf(before: CachedRequest, now: CachedRequest): Cause | undefined {
  const [old, print] = [before.print, now.print];
  if (old.model !== print.model) return { cause: 'model', detail: change(old.model, print.model) };
  if (before.target !== now.target) return { cause: 'target', detail: change(before.target, now.target) };
  if (before.credential !== now.credential) return { cause: 'key', detail: 'another key of the provider' };
  if (old.cacheKey !== print.cacheKey) return { cause: 'key', detail: 'another prompt cache key' };
  return parametersOf(old, print) ?? toolsOf(old, print) ?? systemOf(old, print) ?? messagesOf(old, print);
}

const NAME = /^[\w.:/@+-]{1,64}$/;

function change(from: string, to: string): string {
  return NAME.test(from) && NAME.test(to) ? `${from} → ${to}` : 'another one';
}

function parametersOf({ parameters: old }: PromptPrint, { parameters }: PromptPrint): Cause | undefined {
  for (const name of Object.keys({ ...old, ...parameters })) {
    if (old[name] === parameters[name]) continue;
    const what = old[name] === undefined ? 'added' : parameters[name] === undefined ? 'removed' : 'changed';
    return { cause: 'parameters', detail: `${name} ${what}` };
  }
  return undefined;
}

/** Name and definition of each tool, one behind the other. */
function toolsOf(
  { tools: { hashes: old } }: PromptPrint,
  { tools: { hashes } }: PromptPrint,
): Cause | undefined {
  const at = firstDifference(old, hashes) ?? endDifference(old, hashes);
  if (at === undefined) return undefined;
  const index = at - (at % 2);
  const wasThere = namesIn(old);
  const isThere = namesIn(hashes);
  const [before, now] = [old[index], hashes[index]];
  let what = 'moved';
  if (before !== undefined && before === now) what = 'changed';
  else if (now !== undefined && !wasThere.has(now)) what = 'added';
  else if (before !== undefined && !isThere.has(before)) what = 'removed';
  return { cause: 'tools', detail: `tool ${index / 2 + 1} ${what}` };
}

function namesIn(tools: Uint32Array): Set<number> {
  return new Set(tools.filter((_, index) => index % 2 === 0));
}

function systemOf(old: PromptPrint, print: PromptPrint): Cause | undefined {
  const at =
    firstDifference(old.system.hashes, print.system.hashes) ??
    endDifference(old.system.hashes, print.system.hashes);
  return at === undefined
    ? undefined
    : {
        cause: 'system',
        detail: `system block ${at + 1} ${whatOf(old.system.hashes, print.system.hashes, at)}`,
      };
}

function messagesOf(old: PromptPrint, print: PromptPrint): Cause | undefined {
  if (old.chained || print.chained) return undefined;
  const at = firstDifference(old.messages.hashes, print.messages.hashes);
  if (at === undefined) return undefined;
  const what = whatOf(old.messages.hashes, print.messages.hashes, at);
  if (at < old.leading || at < print.leading)
    return { cause: 'system', detail: `system block ${at + 1} ${what}` };
  return { cause: 'messages', detail: `message ${at + 1} ${what === 'changed' ? 'rewritten' : what}` };
}

function whatOf(old: Uint32Array, now: Uint32Array, at: number): 'added' | 'removed' | 'changed' {
  if (at >= old.length || (now[at] !== undefined && now[at + 1] === old[at])) return 'added';
  if (at >= now.length || now[at] === old[at + 1]) return 'removed';
  return 'changed';
}

/** Undefined: one is the beginning of the other. */
export function firstDifference(a: Uint32Array, b: Uint32Array): number | undefined {
  const most = Math.min(a.length, b.length);
  for (let at = 0; at < most; at++) if (a[at] !== b[at]) return at;
  return undefined;
}

function endDifference(a: Uint32Array, b: Uint32Array): number | undefined {
  return a.length === b.length ? undefined : Math.min(a.length, b.length);
}
