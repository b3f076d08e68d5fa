// A command that sends a request like a recorded one: to the same endpoint and model. The key is a variable and the text a placeholder,
// since neither is stored.
import type { RequestJson } from '../../api.ts';

const TEXT = 'Hello';
const MESSAGES = { messages: [{ role: 'user', content: TEXT }] };

const ENDPOINTS: Readonly<Record<string, { path: string; body: object }>> = {
  chat: { path: '/v1/chat/completions', body: MESSAGES },
  messages: { path: '/v1/messages', body: { max_tokens: 1024, ...MESSAGES } },
  responses: { path: '/v1/responses', body: { input: TEXT } },
  embeddings: { path: '/v1/embeddings', body: { input: TEXT } },
};

/** In single quotes, whatever the text holds. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** undefined: no command is known for its endpoint. */
export function curlOf(
  { endpoint, model_asked: model, stream }: Pick<RequestJson, 'endpoint' | 'model_asked' | 'stream'>,
  origin: string,
): string | undefined {
  if (model === null || !Object.hasOwn(ENDPOINTS, endpoint)) return undefined;
  const { path, body } = ENDPOINTS[endpoint] ?? { path: '', body: {} };
  return [
    `curl ${quoted(origin + path)}`,
    '-H "Authorization: Bearer $GATEWAY_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify({ model, ...body, ...(stream && { stream }) }))}`,
  ].join(' \\\n  ');
}
