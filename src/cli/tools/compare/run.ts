// Sends the requests to the targets, one after another: targets of one provider in turn, so that a machine that loads one model at a
// time is not measured at two, those of different providers together.
import { requestJson } from '../../../accounts/request-json.ts';
import type { StoreReader } from '../../../store/reader.ts';
import { readRequestId } from '../../../ids.ts';
import type { ComparedRequest } from './requests.ts';
import { recordedOutcome, send, type Outcome, type Sending } from './send.ts';

/** A name that a client may send. */
interface ComparedTarget {
  name: string;
  /** Targets of the same provider are asked in turn. */
  provider: string;
}

/** In place of a target: what the tape holds. */
export const RECORDED = 'recorded';

export interface Row {
  request: ComparedRequest;
  /** In the order of the targets. Of a comparison that was stopped, some are missing. */
  outcomes: readonly Outcome[];
}

interface Running extends Sending {
  store: StoreReader;
}

/** Each row when its request is over. Ends early when it is cancelled. */
export async function* compare(
  requests: readonly ComparedRequest[],
  targets: readonly ComparedTarget[],
  running: Running,
): AsyncIterable<Row> {
  const { cancellation } = running;
  const comparison = `compare-${running.ids.random(12)}`;
  for (const request of requests) {
    const outcomes = await ofRequest(request, targets, comparison, running);
    if (outcomes.length > 0) yield { request, outcomes };
    if (cancellation.reason !== undefined) return;
  }
}

async function ofRequest(
  request: ComparedRequest,
  targets: readonly ComparedTarget[],
  comparison: string,
  running: Running,
): Promise<Outcome[]> {
  const found = new Map<string, Outcome>();
  const inTurn = async (names: readonly string[]): Promise<void> => {
    for (const name of names) {
      if (running.cancellation.reason !== undefined) return;
      const outcome =
        name === RECORDED
          ? await recordedOutcome(name, request, running)
          : await counted(await send(request, name, `${comparison}-${name}`, running), running);
      // What was broken off says nothing of its target.
      if (running.cancellation.reason === undefined || outcome.error === null) found.set(name, outcome);
    }
  };
  const providers = [...new Set(targets.map(({ provider }) => provider))];
  await Promise.all(
    providers.map((provider) =>
      inTurn(targets.flatMap((target) => (target.provider === provider ? [target.name] : []))),
    ),
  );
  return targets.flatMap(({ name }) => found.get(name) ?? []);
}

const WAIT_MS = 100;
const MOST_WAITS = 30;
const HOUR_MS = 3_600_000;

/** With the tokens and the cost that the gateway recorded, which it writes soon after the answer. */
async function counted(outcome: Outcome, { store, clock }: Running): Promise<Outcome> {
  const id = outcome.id === null ? undefined : readRequestId(outcome.id);
  if (id === undefined || outcome.status === null) return outcome;
  // A refused request has no row.
  const most = outcome.error === null ? MOST_WAITS : 3;
  for (let waits = 0; waits < most; waits += 1) {
    const now = clock.now();
    const query = { prefix: id.prefix, from: now - 24 * HOUR_MS, until: now + HOUR_MS, limit: 1 };
    const [row] = await store.findRequests(query);
    if (row !== undefined) {
      const { input_tokens: input, output_tokens: output, cost_usd: cost } = requestJson(row);
      return { ...outcome, input, output, cost };
    }
    await new Promise<void>((resolve) => void clock.after(WAIT_MS, resolve));
  }
  return outcome;
}
