// One small request to a provider, written and read by the same code that serves clients: does its stream come whole, does
// it call a tool that it must call?
import { NEVER_CANCELLED } from '../cancellation.ts';
import { FailureError, type ProviderFailure } from '../errors.ts';
import type { StreamEvent } from '../canonical/events.ts';
import { PROTOCOL_NAMES, type GenerationRequest } from '../canonical/request.ts';
import { openFrames } from '../gateway/outbound/provider-frames.ts';
import { headersFor } from '../gateway/outbound/build-request.ts';
import { readBody } from '../providers/read-body.ts';
import type { Ids } from '../ids.ts';
import type { StreamDecoder } from '../protocols/protocol.ts';
import { protocols } from '../protocols/registry.ts';
import type { ProviderClient } from '../providers/client.ts';
import type { ReplyBody } from '../providers/exchange.ts';
import { protocolFor, type Target } from '../routing/catalog.ts';

const MAX_TOKENS = 64;
const LIMITS = { maxReply: 1024 * 1024, maxValues: 100_000 };
const TOOL = 'report_status';

export interface ProbeDeps {
  client: ProviderClient;
  ids: Ids;
}

/** The events of a streamed answer. Throws FailureError for whatever is not one. */
export async function probeStream(
  target: Target,
  tool: boolean,
  { client, ids }: ProbeDeps,
): Promise<StreamEvent[]> {
  const { provider } = target;
  const protocol = protocols[protocolFor(target)];
  const base = provider.baseUrls[protocol.name] ?? '';
  const { body } = protocol.provider.encodeRequest(requestFor(target, tool), target.upstream, target.traits);
  const reply = await client.open(
    {
      url: base + protocol.provider.path,
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
  return collect(reply.body, protocol.provider.createStreamDecoder({ ids, traits: target.traits }));
}

/** Did it call the tool, with arguments that are JSON? */
export function calledTool(events: readonly StreamEvent[]): boolean {
  const called = events.some((event) => event.type === 'tool_start' && event.name === TOOL);
  const text = events.map((event) => (event.type === 'tool_delta' ? event.text : '')).join('');
  try {
    JSON.parse(text || '{}');
    return called;
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

function collect(body: ReplyBody, decoder: StreamDecoder): Promise<StreamEvent[]> {
  return new Promise((resolve, reject) => {
    const events: StreamEvent[] = [];
    const source = openFrames(body, LIMITS);
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
