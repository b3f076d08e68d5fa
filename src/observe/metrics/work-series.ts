// What `GET /metrics` shows of the kinds of work that agents name: at most as many series as there are words for them.
import { totalInput } from '../../canonical/reply.ts';
import { kindOf } from '../../conversations/kinds.ts';
import type { FinishedTrace } from '../../gateway/trace.ts';
import { labels, type Family } from './exposition.ts';

interface WorkCount {
  readonly labels: Readonly<Record<string, string>>;
  requests: number;
  input: number;
  output: number;
  costUsd: number;
}

/** The label of what the client does not say. */
const NONE = 'none';

export class WorkSeries {
  readonly #counts = new Map<string, WorkCount>();

  /** Requests whose client says nothing of their work have no series. */
  add({ identity, outcome: { usage } }: FinishedTrace, costUsd: number): void {
    if (identity.class === null && identity.agentType === null) return;
    const { class: kind, agentType } = kindOf(identity);
    const key = `${kind ?? NONE} ${agentType ?? NONE}`;
    let count = this.#counts.get(key);
    if (count === undefined) {
      const named = { class: kind ?? NONE, agent_type: agentType ?? NONE };
      this.#counts.set(key, (count = { labels: named, requests: 0, input: 0, output: 0, costUsd: 0 }));
    }
    count.requests += 1;
    count.costUsd += costUsd;
    if (usage === undefined) return;
    count.input += totalInput(usage);
    count.output += usage.output;
  }

  families(): Family[] {
    const all = [...this.#counts.values()];
    return [
      {
        name: 'gateway_work_requests_total',
        help: 'Admitted requests of agents that name the kind of their work.',
        type: 'counter',
        samples: all.map((count) => [labels(count.labels), count.requests]),
      },
      {
        name: 'gateway_work_tokens_total',
        help: 'Tokens by the kind of work; input includes the tokens of prompt caches.',
        type: 'counter',
        samples: all.flatMap((count): [string, number][] => [
          [labels({ ...count.labels, kind: 'input' }), count.input],
          [labels({ ...count.labels, kind: 'output' }), count.output],
        ]),
      },
      {
        name: 'gateway_work_cost_usd_total',
        help: 'Cost by the kind of work, in US dollars.',
        type: 'counter',
        samples: all.map((count) => [labels(count.labels), count.costUsd]),
      },
    ];
  }
}
