// One request of a check, sent as the gateway sends it: encoded for the target, decoded by the code that serves clients, and with the
// repair of calls beside the answer as the model gave it.
import { NEVER_CANCELLED } from '../../cancellation.ts';
import { createCollector } from '../../canonical/collect.ts';
import { repairHistory } from '../../canonical/history.ts';
import type { JsonObject } from '../../canonical/json.ts';
import type { Reply, StreamEvent } from '../../canonical/reply.ts';
import {
  PROTOCOL_NAMES,
  type GenerationRequest,
  type Message,
  type ProtocolName,
} from '../../canonical/request.ts';
import { restoreReply, type ReverseMapping } from '../../canonical/reverse-mapping.ts';
import type { Traits } from '../../canonical/traits.ts';
import { FailureError, type ProviderFailure } from '../../errors.ts';
import { NOT_JSON } from '../../failures.ts';
import { headersFor } from '../../gateway/outbound/build-request.ts';
import { stepped } from '../../gateway/outbound/event-steps.ts';
import { openFrames, type FrameSource } from '../../gateway/outbound/provider-reply.ts';
import type { StreamDecoder } from '../../protocols/interface/stream.ts';
import { readRefusal } from '../../protocols/refusals/read-refusal.ts';
import { teach } from '../../protocols/refusals/teach.ts';
import { protocols } from '../../protocols/registry.ts';
import type { ProviderReply } from '../../providers/exchange.ts';
import { readBody } from '../../providers/reply-body.ts';
import { providerUrl } from '../../providers/url.ts';
import { CallRepairer } from '../../repair/call-repairer.ts';
import { offeredTools } from '../../repair/offered-tools.ts';
import type { Target } from '../../routing/catalog.ts';
import { failureOf, type ProbeDeps } from './report.ts';

export interface Answer {
  /** As the model gave it, in the client's form. */
  given: Reply;
  /** As the client gets it where calls are repaired. */
  repaired: Reply;
  /** What was repaired, as `x-gateway-repaired` has it. */
  repairs: readonly string[];
}

/** What a case or a rule sends; all else is the same for all. */
export interface Asked extends Partial<
  Omit<GenerationRequest, 'protocol' | 'model' | 'native' | 'includeUsage'>
> {
  messages: Message[];
  /** Puts into the body what no request of the gateway holds. */
  edit?: (body: JsonObject) => void;
}

/** `taught`: the traits without which the server refuses the request. */
export type Outcome = { taught: Partial<Traits> } & ({ answer: Answer } | { failure: ProviderFailure });

const LIMITS = { maxReply: 1024 * 1024, maxValues: 100_000 };
/** A refusal may hide another one. */
const MOST_LESSONS = 3;

/** Asks again as a refusal teaches, at most so often. Never rejects for what the provider does. */
export async function askTaught(
  target: Target,
  name: ProtocolName,
  asked: Asked,
  deps: ProbeDeps,
  most = MOST_LESSONS,
): Promise<Outcome> {
  let taught: Partial<Traits> = {};
  for (let lessons = 0; ; lessons += 1) {
    const traits = { ...target.traits, ...taught };
    try {
      return { taught, answer: await ask({ ...target, traits }, name, asked, deps) };
    } catch (error) {
      const failure = failureOf(error);
      const news = error instanceof Refused ? teach(readRefusal(error.body), traits, name) : undefined;
      if (news === undefined || lessons === most) return { taught: {}, failure };
      taught = { ...taught, ...news };
    }
  }
}

/** A refusal with its body, whose words may teach what the server takes. */
class Refused extends FailureError {
  readonly body: string;
  constructor(failure: ProviderFailure, body: string) {
    super(failure);
    this.body = body;
  }
}

/** The body that is sent; throws GatewayError for what must not be left out and has no place there. */
export function bodyOf(target: Target, name: ProtocolName, asked: Asked): JsonObject {
  return encoded(target, name, asked).body;
}

function encoded({ traits, upstream, model }: Target, name: ProtocolName, { edit, ...asked }: Asked) {
  const side = protocols[name].provider;
  const request = requestFor(model, asked);
  const { request: history } = repairHistory(request, { rules: side.historyRules, traits });
  const { body, restore } = side.encodeRequest(history, upstream, traits);
  edit?.(body);
  return { side, request, body, restore };
}

/** Rejects with FailureError if there is no whole answer. */
export async function ask(
  target: Target,
  name: ProtocolName,
  asked: Asked,
  { client, ids }: ProbeDeps,
): Promise<Answer> {
  const { provider, traits } = target;
  const { side, request, body, restore } = encoded(target, name, asked);
  const reply = await client.open(
    {
      url: providerUrl(provider, { protocol: name, path: side.path }),
      method: 'POST',
      headers: headersFor(provider, name, request.stream),
      body: Buffer.from(JSON.stringify(body)),
      stream: request.stream,
      timeout: provider.timeout,
      network: provider.network,
    },
    NEVER_CANCELLED,
  );
  if (reply.status !== 200) {
    const text = (await readBody(reply.body, LIMITS.maxReply)).toString('utf8');
    const failure = side.decodeError(reply.status, reply.headers(), text);
    throw new Refused({ ...failure, status: reply.status }, text);
  }
  const given = request.stream
    ? await collected(openFrames(reply.body, LIMITS, side.framing), side.createStreamDecoder({ ids, traits }))
    : side.decodeReply(...(await parsed(reply)));
  return { given: restoreReply(given, restore), ...repairedAnswer(given, request, restore, ids) };
}

function repairedAnswer(
  given: Reply,
  { tools = [], toolChoice, responseFormat }: GenerationRequest,
  restore: ReverseMapping,
  ids: ProbeDeps['ids'],
): Pick<Answer, 'repaired' | 'repairs'> {
  if (tools.length === 0 || toolChoice?.type === 'none')
    return { repaired: restoreReply(given, restore), repairs: [] };
  const offered = offeredTools(tools, restore.toolNames, restore.customTools);
  const step = new CallRepairer({ offered, isJsonAsked: responseFormat !== undefined, ids });
  const reply = stepped(given, step);
  return { repaired: restoreReply(reply, restore), repairs: step.repaired() };
}

function requestFor(model: string, asked: Omit<Asked, 'edit'>): GenerationRequest {
  return {
    stream: true,
    ...asked,
    protocol: PROTOCOL_NAMES[0],
    model,
    includeUsage: true,
    native: [],
  };
}

async function parsed({ body }: ProviderReply): Promise<[unknown, Buffer]> {
  const bytes = await readBody(body, LIMITS.maxReply);
  try {
    return [JSON.parse(bytes.toString('utf8')), bytes];
  } catch {
    throw new FailureError(NOT_JSON);
  }
}

/** Rejects with FailureError if the stream is not complete. */
export function collected(source: FrameSource, decoder: StreamDecoder): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const collector = createCollector();
    const fail = (failure: ProviderFailure): void => {
      source.abort();
      reject(new FailureError(failure));
    };
    const take = (events: readonly StreamEvent[]): void => {
      for (const event of events) collector.push(event);
      const last = events.at(-1);
      if (last?.type !== 'error' && last?.type !== 'end') return;
      const result = collector.result();
      if ('failure' in result) return fail(result.failure);
      source.release();
      resolve(result.reply);
    };
    source.read({
      frames: (frames) => frames.forEach((frame) => take(decoder.push(frame))),
      end: (clean) => take(decoder.finish(clean)),
      fail,
    });
  });
}
