// Arguments and schemas that JavaScript would change reach the other side as they were written.
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, PATHS, post } from '../helpers/ask.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { startBoth } from './both.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;
beforeAll(async () => {
  const both = await startBoth();
  ({ upstream, gateway } = both);
  return both.close;
});

describe('arguments that JavaScript can not hold', () => {
  const EXACT = '{"b":12345678901234567890,"10":1.0}';
  const CALL = `{"type":"tool_use","id":"c1","name":"f","input":${EXACT}}`;

  it.each(['chat', 'messages'] as const)("are the same in a %s provider's whole answer", async (speaks) => {
    const client = speaks === 'chat' ? 'messages' : 'chat';
    const call = `{"id":"c1","type":"function","function":{"name":"f","arguments":${JSON.stringify(EXACT)}}}`;
    const body =
      speaks === 'chat'
        ? `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[${call}]}}]}`
        : `{"id":"1","type":"message","role":"assistant","model":"m","content":[${CALL}],"stop_reason":"tool_use"}`;
    upstream.play({ headers: { 'content-type': 'application/json' }, body });
    const { text } = await ask(gateway, { protocol: client, model: `${speaks}/m` });
    expect(text).toContain(speaks === 'chat' ? `"input":${EXACT}` : `"arguments":${JSON.stringify(EXACT)}`);
  });

  it("are the same in a responses client's history, where they are no text", async () => {
    const call = `{"type":"tool_search_call","call_id":"c1","execution":"client","arguments":${EXACT}}`;
    const response = await post(
      gateway,
      '/v1/responses',
      `{"model":"chat/m","tools":[{"type":"tool_search","execution":"client"}],"input":[{"role":"user","content":"go"},${call},` +
        '{"type":"tool_search_output","call_id":"c1","tools":[]}]}',
    );
    await response.text();
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      messages: [{}, { tool_calls: [{ function: { arguments: EXACT } }] }, {}],
    });
  });

  it("are the same in a messages client's history", async () => {
    const response = await post(
      gateway,
      '/v1/messages',
      `{"model":"chat/m","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[${CALL}]},` +
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}]}',
    );
    await response.text();
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      messages: [{}, { tool_calls: [{ function: { arguments: EXACT } }] }, {}],
    });
  });
});

describe('schemas whose order JavaScript would change', () => {
  const SCHEMA =
    '{"type":"object","properties":{"b":{"type":"string"},"10":{"maximum":12345678901234567890},"2":{"default":1.5}}}';

  it.each([
    ['chat', 'tools', `{"type":"function","function":{"name":"f","parameters":${SCHEMA}}}`, 'input_schema'],
    ['chat', 'functions', `{"name":"f","parameters":${SCHEMA}}`, 'input_schema'],
    ['messages', 'tools', `{"name":"f","input_schema":${SCHEMA}}`, 'parameters'],
    ['responses', 'tools', `{"type":"function","name":"f","parameters":${SCHEMA}}`, 'parameters'],
    [
      'responses',
      'tools',
      `{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"},{"type":"function","name":"f","parameters":${SCHEMA}}]}`,
      'parameters',
    ],
    [
      'responses',
      'input',
      `{"type":"additional_tools","tools":[{"type":"function","name":"f","parameters":${SCHEMA}}]}`,
      'parameters',
    ],
  ] as const)(
    'of a %s client reach the provider as they were written (%s)',
    async (client, list, tool, name) => {
      const speaks = client === 'messages' || client === 'responses' ? 'chat' : 'messages';
      const path = PATHS[client];
      const question = '{"role":"user","content":"go"}';
      const rest =
        client === 'responses'
          ? `"input":[${question}${list === 'input' ? `,${tool}` : ''}]`
          : `"max_tokens":9,"messages":[${question}]`;
      const tools = list === 'input' ? '' : `"${list}":[${tool}],`;
      const response = await post(gateway, path, `{"model":"${speaks}/m",${tools}${rest}}`);
      await response.text();
      expect(upstream.requests.at(-1)?.bytes.toString()).toContain(`"${name}":${SCHEMA}`);
    },
  );
});
