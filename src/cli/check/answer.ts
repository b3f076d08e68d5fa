// The part of a check that asks for an answer: one small streamed request, and one that calls a tool. It is encoded and decoded by the
// code that serves clients, which is large: it is loaded only for a provider that answers.
import { readBody } from '../../providers/exchange.ts';
import { providerUrl } from '../../providers/url.ts';
import { FailureError, type ProviderFailure } from '../../errors.ts';
import { keyHint } from '../../gateway/outbound/fallback-error.ts';
import { type Target, protocolFor } from '../../routing/catalog.ts';
import { failureOf, messageOf, type ProbeDeps, type Step } from './report.ts';
import { NEVER_CANCELLED } from '../../cancellation.ts';
import type { StreamEvent } from '../../canonical/reply.ts';
import { PROTOCOL_NAMES, type GenerationRequest, type ProtocolName } from '../../canonical/request.ts';
import { openFrames, type FrameSource } from '../../gateway/outbound/provider-reply.ts';
import { headersFor } from '../../gateway/outbound/build-request.ts';
import type { StreamDecoder } from '../../protocols/interface/stream.ts';
import { protocols } from '../../protocols/registry.ts';

/** `deep`: tools too, and each of the provider's protocols. */
export async function generating(target: Target, deep: boolean, deps: ProbeDeps): Promise<Step[]> {
  const { protocols: spoken } = target.provider;
  const steps: Step[] = [];
  for (const name of deep ? spoken : [protocolFor(target)]) {
    const label = deep && spoken.length > 1 ? `${target.key} (${name})` : target.key;
    steps.push(...(await generatingIn(name, label, target, deep, deps)));
  }
  // The key is the same for every protocol.
  return steps.filter(({ check, ok }, at) => check !== 'key' || !ok || at === 0);
}

async function generatingIn(
  name: ProtocolName,
  label: string,
  target: Target,
  deep: boolean,
  deps: ProbeDeps,
): Promise<Step[]> {
  const { provider } = target;
  const steps: Step[] = [];
  try {
    await probeStream(target, name, false, deps);
    if (provider.apiKey !== undefined) steps.push({ check: 'key', ok: true, detail: 'accepted' });
    steps.push({ check: 'streaming', ok: true, detail: label });
    if (!deep) return steps;
    const events = await probeStream(target, name, true, deps);
    const called = calledTool(events);
    steps.push({
      check: 'tools',
      ok: called,
      detail: called ? label : `${label} did not call the tool that it must call`,
    });
  } catch (error) {
    const failure = failureOf(error);
    const check = failure.kind === 'provider_key' ? 'key' : steps.length > 0 ? 'tools' : 'streaming';
    steps.push({
      check,
      ok: false,
      detail: `${label}: ${messageOf(failure, provider)}${keyHint(failure, target)}`,
    });
  }
  return steps;
}

const MAX_TOKENS = 64;
const LIMITS = { maxReply: 1024 * 1024, maxValues: 100_000 };
const TOOL = 'report_status';

/** Sends one small request and collects the events of its stream. Throws FailureError if the stream is not complete. */
async function probeStream(
  target: Target,
  name: ProtocolName,
  tool: boolean,
  { client, ids }: ProbeDeps,
): Promise<StreamEvent[]> {
  const { provider } = target;
  const protocol = protocols[name];
  const { body } = protocol.provider.encodeRequest(requestFor(target, tool), target.upstream, target.traits);
  const reply = await client.open(
    {
      url: providerUrl(provider, { protocol: name, path: protocol.provider.path }),
      method: 'POST',
      headers: headersFor(provider, protocol.name, true),
      body: Buffer.from(JSON.stringify(body)),
      stream: true,
      timeout: provider.timeout,
    },
    NEVER_CANCELLED,
  );
  if (reply.status !== 200) {
    const text = (await readBody(reply.body, LIMITS.maxReply)).toString('utf8');
    throw new FailureError({
      ...protocol.provider.decodeError(reply.status, reply.headers(), text),
      status: reply.status,
    });
  }
  const decoder = protocol.provider.createStreamDecoder({ ids, traits: target.traits });
  return collect(openFrames(reply.body, LIMITS, protocol.provider.framing), decoder);
}

/** Whether the model called the tool, with arguments that are JSON. */
function calledTool(events: readonly StreamEvent[]): boolean {
  const isCalled = events.some((event) => event.type === 'tool_start' && event.name === TOOL);
  const text = events.map((event) => (event.type === 'tool_delta' ? event.text : '')).join('');
  try {
    JSON.parse(text || '{}');
    return isCalled;
  } catch {
    return false;
  }
}

function requestFor(target: Target, tool: boolean): GenerationRequest {
  const text = tool ? `Call the tool ${TOOL} with the status "ok".` : 'Answer with the one word: ok';
  const request: GenerationRequest = {
    protocol: PROTOCOL_NAMES[0],
    model: target.model,
    stream: true,
    includeUsage: true,
    messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
    maxOutputTokens: tool ? 4 * MAX_TOKENS : MAX_TOKENS,
    native: [],
  };
  if (!tool) return request;
  return {
    ...request,
    tools: [
      {
        type: 'function',
        name: TOOL,
        description: 'Reports a status.',
        parameters: { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] },
      },
    ],
    ...(target.traits.forcedTools !== 'never' && { toolChoice: { type: 'required' as const } }),
  };
}

function collect(source: FrameSource, decoder: StreamDecoder): Promise<StreamEvent[]> {
  return new Promise((resolve, reject) => {
    const events: StreamEvent[] = [];
    const fail = (failure: ProviderFailure): void => {
      source.abort();
      reject(new FailureError(failure));
    };
    const take = (more: readonly StreamEvent[]): void => {
      events.push(...more);
      const last = events.at(-1);
      if (last?.type === 'error') fail(last.failure);
      if (last?.type !== 'end') return;
      source.release();
      resolve(events);
    };
    source.read({
      frames: (frames) => frames.forEach((frame) => take(decoder.push(frame))),
      end: (clean) => take(decoder.finish(clean)),
      fail,
    });
  });
}
