// Twenty loops of agents are found in their histories, two hundred honest conversations never are: at each of their requests.
import { expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/canonical/json.ts';
import { runAtEnd } from '../../../src/gateway/inbound/brakes/repeated-call.ts';
import { protocols } from '../../../src/protocols/registry.ts';

const LEAST = 5;

interface Call {
  name: string;
  given: JsonValue;
  result: string;
}

type Turn = Call | string;

const NAMES = ['chat', 'messages', 'responses'] as const;
type Name = (typeof NAMES)[number];

/** The call and its result, with an id of its own or the one that the server gives to each. */
function items(name: Name, { name: tool, given, result }: Call, id: string): JsonObject[] {
  const text = JSON.stringify(given);
  switch (name) {
    case 'chat':
      return [
        {
          role: 'assistant',
          content: 'Let me see.',
          tool_calls: [{ id, function: { name: tool, arguments: text } }],
        },
        { role: 'tool', tool_call_id: id, content: result },
      ];
    case 'messages':
      return [
        { role: 'assistant', content: [{ type: 'tool_use', id, name: tool, input: given }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: result }] },
            { type: 'text', text: '<system-reminder>Keep the list of tasks.</system-reminder>' },
          ],
        },
      ];
    case 'responses':
      return [
        { type: 'reasoning', summary: [] },
        { type: 'function_call', call_id: id, name: tool, arguments: text },
        { type: 'function_call_output', call_id: id, output: result },
      ];
  }
}

function isStopped(name: Name, turns: readonly Turn[], id = (at: number): string => `call_${at}`): boolean {
  const list = turns.flatMap((turn, at) =>
    typeof turn === 'string' ? [{ role: 'user', content: turn }] : items(name, turn, id(at)),
  );
  const body = { [name === 'responses' ? 'input' : 'messages']: list };
  return runAtEnd(protocols[name].client.hints.steps(body), LEAST) !== undefined;
}

const times = (count: number, call: (at: number) => Call): Call[] =>
  Array.from({ length: count }, (_, at) => call(at));
const bash = (command: string, result: string): Call => ({ name: 'Bash', given: { command }, result });

const LOOPS: readonly Turn[][] = [
  times(5, () => bash('cat gone.txt', 'no such file')),
  [bash('ls', 'a b'), ...times(6, () => bash('npm test', '1 failed'))],
  times(40, () => ({ name: 'Read', given: { path: '/a', limit: 10 }, result: '' })),
  times(5, (at) => bash('make', `Chunk ID: ${at}a${at}\nWall time: 0.${at} seconds\nOutput:\nerror`)),
  times(7, (at) => ({ name: 'grep', given: at % 2 === 0 ? { a: 1, b: 2 } : { b: 2, a: 1 }, result: 'none' })),
  ['first', ...times(3, () => bash('x', 'y')), 'go on', ...times(5, () => bash('x', 'y'))],
  times(5, () => ({ name: 'update_plan', given: {}, result: 'Plan updated' })),
].map((turns) => ['Please mend it.', ...turns]);

it('finds twenty loops, in each protocol and with the ids of each server', () => {
  const found = NAMES.flatMap((name) => LOOPS.map((turns) => isStopped(name, turns)));
  found.push(...NAMES.map((name) => isStopped(name, LOOPS[0] ?? [], () => 'call_0')));
  expect(found.length).toBeGreaterThanOrEqual(20);
  expect(found).not.toContain(false);
});

/** Pseudorandom, the same in each run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * sides);
  };
}

/** Reads, edits and tests; a failing command up to four times; a server that is polled; a person who asks for more. */
function honest(seed: number): Turn[] {
  const roll = dice(seed);
  const turns: Turn[] = ['Please mend it.'];
  while (turns.length < 40) {
    const at = turns.length;
    const kind = roll(6);
    if (kind === 0) turns.push(...times(1 + roll(4), () => bash(`npm test ${at}`, '1 failed')));
    else if (kind === 1)
      turns.push(...times(3 + roll(6), (poll) => bash('curl status', `${at} ${poll}% done`)));
    else if (kind === 2)
      turns.push(...times(4 + roll(8), (file) => ({ name: 'Read', given: { file }, result: '' })));
    else if (kind === 3)
      turns.push(...times(6, (step) => bash(step % 2 === 0 ? 'npm test' : `edit ${at} ${step}`, 'ok')));
    else if (kind === 4) turns.push('go on');
    else turns.push({ name: 'Edit', given: { at }, result: 'done' });
  }
  return turns;
}

it('stops none of two hundred honest conversations at any of their requests', () => {
  const stopped: string[] = [];
  for (let seed = 1; seed <= 200; seed += 1) {
    const turns = honest(seed);
    const name = NAMES[seed % NAMES.length] ?? 'chat';
    for (let end = 1; end <= turns.length; end += 1)
      if (isStopped(name, turns.slice(0, end))) stopped.push(`${seed} ${name} ${end}`);
  }
  expect(stopped).toEqual([]);
});
