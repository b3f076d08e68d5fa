// A server that refuses by the strict stubs of models, each below a path of its own (`/deepseek/v1/…`), and answers what they take as the
// simulated model does: with calls, JSON and streams, in all protocols.
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { JsonObject } from '../../src/canonical/json.ts';
import { createIds } from '../../src/ids.ts';
import { startSim, type Sim } from '../../src/sim/sim.ts';
import { refusedBy, type Stub } from '../models/stubs/rule.ts';
import type { StrictRequest } from './strict-provider.ts';

export interface StrictSim {
  /** Of the provider's base: the version is a part of it. */
  urlOf(provider: string): string;
  requests: (StrictRequest & { provider: string; refused: boolean })[];
  close(): Promise<void>;
}

export async function startStrictSim(stubs: readonly Stub[]): Promise<StrictSim> {
  const sim = await startSim({ ids: createIds() });
  const requests: StrictSim['requests'] = [];
  const server = createServer((incoming, response) => {
    void answer(incoming, response, { stubs, sim, requests });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (provider) => `http://127.0.0.1:${port}/${provider}/v1`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await sim.close();
    },
  };
}

interface Deps {
  stubs: readonly Stub[];
  sim: Sim;
  requests: StrictSim['requests'];
}

async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  { stubs, sim, requests }: Deps,
): Promise<void> {
  const [, provider = '', path = ''] = /^\/([^/]+)\/v1(\/[^?]*)/.exec(incoming.url ?? '') ?? [];
  const text = Buffer.concat(await Readable.from(incoming).toArray()).toString('utf8');
  // Lists of models, and what local servers are asked about themselves.
  if (!/^\/(?:chat\/completions|messages|responses)$/.test(path)) {
    const models = stubs.filter((stub) => stub.provider === provider);
    response.end(JSON.stringify({ data: models.map(({ model }) => ({ id: model })) }));
    return;
  }
  const body = JSON.parse(text) as JsonObject;
  const request = { path, headers: incoming.headers, body };
  const stub = stubs.find((one) => one.provider === provider && one.model === body.model);
  const rule = stub && refusedBy(stub, request);
  requests.push({ ...request, provider, refused: rule !== undefined });
  if (rule !== undefined) {
    response.writeHead(rule.answer.status, { 'content-type': 'application/json' });
    response.end(rule.answer.body);
    return;
  }
  await forward(path, body, sim, response);
}

/** What the simulated model need not know: it refuses members of other servers. */
const KNOWN = new Set(
  'messages input system instructions tools tool_choice response_format text output_config stream stream_options max_tokens'.split(
    ' ',
  ),
);

async function forward(path: string, body: JsonObject, sim: Sim, response: ServerResponse): Promise<void> {
  const known = Object.entries(body).filter(([name]) => KNOWN.has(name));
  const asked = httpRequest(`${sim.url}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${sim.key}` },
  });
  asked.end(JSON.stringify({ ...Object.fromEntries(known), model: 'echo' }));
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  response.writeHead(reply.statusCode ?? 502, { 'content-type': reply.headers['content-type'] ?? '' });
  await pipeline(reply, response);
}
