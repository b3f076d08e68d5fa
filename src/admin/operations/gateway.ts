// Operations that read how the gateway is set up: models, targets with their health, routes, the configuration.
import { z } from 'zod';
import { isoTime } from '../../clock.ts';
import { unhealthyTargets } from '../../observe/health-publisher.ts';
import { type Target as RoutingTarget, modelJson } from '../../routing/catalog.ts';
import { serverToolsOf } from '../../routing/abilities.ts';
import type { Routing } from '../../routing/routing.ts';
import { lessonChanges } from '../../routing/state/lessons.ts';
import { operation, type AdminParts, type Operation } from '../operation.ts';
import { isBehindTls } from '../authenticate.ts';
import type { Order } from './views/cursor.ts';
import { count, pageOf } from './paging.ts';
import { Problem } from '../reply.ts';
import { Configuration, Connect, Model, page, PAGE, Route, Target } from '../schemas.ts';

const TargetReset = z.strictObject({
  target: z.string().min(1).max(512).optional().meta({ description: 'provider/model; default: all' }),
});
const ResetTarget = z.object({
  target: z.string(),
  state: z.enum(['cooling', 'failing']).nullable().meta({ description: 'null: it was not avoided' }),
  learnt: count.meta({ description: 'Lessons that are forgotten' }),
});

/** These lists are in order of preference and are not sorted. */
const place = z.tuple([count]);
const byIndex = (list: string): Order<unknown, typeof place> => ({ list, place, placeOf: (_, at) => [at] });

/** Targets that this server avoids. */
export function ownStates({ routing, clock }: Pick<AdminParts, 'routing' | 'clock'>) {
  return new Map(unhealthyTargets(routing.health, clock).map((target) => [target.target, target]));
}

/** And those that another one on the database avoids. */
export async function statesOf({ store, routing, clock }: AdminParts) {
  const published = await store.listHealth(clock.now());
  return new Map([
    ...published.map((target) => [target.target, target] as const),
    ...ownStates({ routing, clock }),
  ]);
}

type States = Awaited<ReturnType<typeof statesOf>>;

/** Every target of a name that is listed, once. */
function targetsOf(routing: Routing): RoutingTarget[] {
  const targets = routing.models(null).flatMap((entry) => entry.targets);
  return [...new Map(targets.map((target) => [target.key, target])).values()];
}

/** What refusals taught of a target, an entry for each protocol. */
function learntOf(key: string, { lessons }: Routing) {
  const own = lessons.list().filter(({ target }) => target === key);
  return own.map((lesson) => {
    const { protocol, words, learntAt } = lesson;
    return { protocol, changes: lessonChanges(lesson), words, learnt_at: isoTime(learntAt) };
  });
}

/** `inFlight`: over all workers. */
function targetJson(
  target: RoutingTarget,
  { states, inFlight, routing }: { states: States; inFlight: ReadonlyMap<string, number>; routing: Routing },
) {
  const { key, provider, model, upstream, traits, price } = target;
  const { failures, firstByteMs } = routing.health.state(key);
  const avoided = states.get(key);
  return {
    provider: provider.name,
    model,
    protocols: [...provider.protocols],
    upstream,
    state: avoided?.state ?? ('healthy' as const),
    until: isoTime(avoided?.until ?? null),
    failures,
    in_flight: inFlight.get(key) ?? 0,
    first_byte_ms: firstByteMs ?? null,
    learnt: learntOf(key, routing),
    vision: traits.vision ?? null,
    documents: traits.documents ?? null,
    audio: traits.audio ?? null,
    tools: traits.tools ?? null,
    thinking: traits.thinking ?? null,
    structured_output: traits.structuredOutput ?? null,
    context_window: traits.contextWindow ?? null,
    max_output: traits.maxOutput ?? null,
    price:
      price === undefined
        ? null
        : {
            input: price.input?.base ?? null,
            output: price.output?.base ?? null,
            cache_read: price.cacheRead?.base ?? null,
            cache_write: price.cacheWrite?.base ?? null,
          },
  };
}

/** `allowed`: of a key; null: every name. */
export async function listModels(
  allowed: readonly string[] | null,
  query: { limit: number; cursor?: string | undefined },
  parts: AdminParts,
) {
  await parts.discovered;
  const states = new Map([...(await statesOf(parts))].map(([key, { state }]) => [key, state]));
  const { items, next } = pageOf(parts.routing.models(allowed), query, byIndex('models'));
  return { data: items.map((entry) => modelJson(entry, states)), next };
}

export const gatewayOperations: readonly Operation[] = [
  operation({
    id: 'listModels',
    method: 'GET',
    path: '/models',
    tag: 'gateway',
    summary: 'Every name that a client may send, and the targets behind it',
    query: z.strictObject(PAGE),
    reply: page(Model),
    run: ({ query }, parts) => listModels(null, query, parts),
  }),
  operation({
    id: 'listTargets',
    method: 'GET',
    path: '/targets',
    tag: 'gateway',
    summary: 'Each model of each provider, with its health, abilities and price',
    query: z.strictObject(PAGE),
    reply: page(Target),
    async run({ query }, parts) {
      await parts.discovered;
      const states = await statesOf(parts);
      const inFlight = new Map((await parts.live.moment()).in_flight);
      const { routing } = parts;
      const { items, next } = pageOf(targetsOf(routing), query, byIndex('targets'));
      return { data: items.map((target) => targetJson(target, { states, inFlight, routing })), next };
    },
  }),
  operation({
    id: 'resetTargets',
    method: 'POST',
    path: '/targets/reset',
    tag: 'gateway',
    summary: 'Ask targets again that requests avoid, and forget what refusals taught of them',
    body: TargetReset,
    reply: page(ResetTarget),
    problems: [404],
    async run({ body: { target } }, { resetTargets }) {
      const { targets, unknown } = await resetTargets(target);
      if (unknown !== undefined) throw new Problem(404, 'unknown_target', unknown);
      return { data: [...targets], next: null };
    },
  }),
  operation({
    id: 'listRoutes',
    method: 'GET',
    path: '/routes',
    tag: 'gateway',
    summary: 'Routes of the configuration',
    reply: page(Route),
    run: async (_, { current }) => ({
      data: [...current.config.routes].map(([name, { strategy, targets, rules = [] }]) => ({
        ...{ name, strategy, targets },
        rules: rules.map((rule) => ({ ...rule, targets: [...rule.targets] })),
      })),
      next: null,
    }),
  }),
  operation({
    id: 'readConnect',
    method: 'GET',
    path: '/connect',
    tag: 'gateway',
    summary: 'How each tool is pointed at this gateway',
    query: z.strictObject({ model: z.string().max(256).optional() }),
    reply: Connect,
    problems: [404],
    async run({ query: { model: asked } }, parts, { exchange: { headers } }) {
      await parts.discovered;
      const { routing, current } = parts;
      const scheme = isBehindTls(headers, current.config.listen.names) ? 'https' : 'http';
      const url = `${scheme}://${String(headers.host)}`;
      const model = asked ?? (routing.model('auto', null) ?? routing.models(null)[0])?.name;
      if (model === undefined) return { url, model: null, tools: [] };
      const first = routing.model(model, null)?.targets[0];
      if (first === undefined) throw new Problem(404, 'unknown_model', 'no model has this name');
      const { contextWindow = null, maxOutput = null } = routing.model(first.key, null) ?? {};
      const limits = { window: contextWindow, output: maxOutput };
      const tools = await parts.connect({ url, model, ...limits, serverTools: serverToolsOf(first) });
      return { url, model, tools: [...tools] };
    },
  }),
  operation({
    id: 'readConfig',
    method: 'GET',
    path: '/config',
    tag: 'gateway',
    summary: 'Every value of the configuration and what sets it; secrets are hidden',
    reply: Configuration,
    problems: [503],
    async run(_, { current, effective }) {
      const { leftOut, warnings } = current.config;
      return {
        ...(await readEffective(effective)),
        left_out: leftOut.map(({ provider, why }) => ({ provider, why })),
        warnings,
      };
    },
  }),
];

async function readEffective(effective: AdminParts['effective']) {
  try {
    const { file, values } = await effective();
    const copied = values.map(({ value, ...rest }) => ({
      ...rest,
      value: typeof value === 'object' && value !== null ? [...value] : value,
    }));
    return { file, values: copied };
  } catch {
    throw new Problem(
      503,
      'invalid_configuration',
      'the file was changed and is not valid; gateway config check names its faults',
    );
  }
}
