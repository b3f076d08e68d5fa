// What several workers say as what one gateway says: their states, and what runs now.
import type { App } from '../../../../app/app.ts';
import type { LiveConversation, LiveFrame, LiveTarget } from '../../../../observe/live.ts';

type Status = ReturnType<App['status']>;

export function mergeStatus(all: readonly Status[]): Status | undefined {
  const [first] = all;
  if (first === undefined) return undefined;
  return {
    ...first,
    requests_in_flight: sum(all, ({ requests_in_flight: requests }) => requests),
    providers: first.providers.map(({ name }) => {
      const avoided = all.flatMap(
        ({ providers }) => providers.find((provider) => provider.name === name)?.avoided ?? [],
      );
      return { name, avoided: [...new Map(avoided.map((target) => [target.target, target])).values()] };
    }),
  };
}

const MOST_REQUESTS = 200;
const MOST_CONVERSATIONS = 20;

export function mergeFrames(frames: readonly LiveFrame[]): LiveFrame | undefined {
  const [first] = frames;
  if (first === undefined) return undefined;
  const total = (name: keyof LiveFrame['totals']): number => sum(frames, ({ totals }) => totals[name]);
  return {
    at: frames.reduce((latest, { at }) => (at > latest ? at : latest), first.at),
    totals: {
      requests: total('requests'),
      errors: total('errors'),
      refused: total('refused'),
      output_tokens: total('output_tokens'),
      cost_usd: total('cost_usd'),
    },
    in_flight: sum(frames, (frame) => frame.in_flight),
    requests: frames
      .flatMap(({ requests }) => requests)
      .sort((a, b) => b.age_ms - a.age_ms)
      .slice(0, MOST_REQUESTS),
    targets: merged(
      frames.flatMap(({ targets }) => targets),
      ({ target }) => target,
      addTarget,
    ),
    conversations: merged(
      frames.flatMap(({ conversations }) => conversations),
      ({ conversation, account, model }) => JSON.stringify([conversation, account, model]),
      addConversation,
    )
      .sort((a, b) => (a.last_at < b.last_at ? 1 : -1))
      .slice(0, MOST_CONVERSATIONS),
  };
}

/** Workers share the health of targets, each has its own requests. */
function addTarget(a: LiveTarget, b: LiveTarget): LiveTarget {
  const worse = a.state === 'healthy' ? b : a;
  return {
    ...worse,
    wait_ms: Math.max(a.wait_ms, b.wait_ms),
    in_flight: a.in_flight + b.in_flight,
    first_byte_ms: a.first_byte_ms ?? b.first_byte_ms,
  };
}

function addConversation(a: LiveConversation, b: LiveConversation): LiveConversation {
  return {
    ...a,
    requests: a.requests + b.requests,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cost_usd: a.cost_usd === null && b.cost_usd === null ? null : (a.cost_usd ?? 0) + (b.cost_usd ?? 0),
    last_at: a.last_at > b.last_at ? a.last_at : b.last_at,
  };
}

function merged<Row>(rows: readonly Row[], keyOf: (row: Row) => string, add: (a: Row, b: Row) => Row): Row[] {
  const found = new Map<string, Row>();
  for (const row of rows) {
    const key = keyOf(row);
    const before = found.get(key);
    found.set(key, before === undefined ? row : add(before, row));
  }
  return [...found.values()];
}

function sum<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}
