// A small agent of three protocols: asks, runs the tool that the model calls, sends the result, until the model answers with text.
// Prints its calls and the answer. Arguments: the protocol, then the prompt.
import console from 'node:console';
import process from 'node:process';

const { fetch } = globalThis;
const [protocol = 'chat', prompt = 'Begin'] = process.argv.slice(2);
const {
  OPENAI_BASE_URL: base,
  ANTHROPIC_BASE_URL: messagesBase,
  OPENAI_API_KEY: key,
  OPENAI_MODEL: model,
} = process.env;
const schema = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };
const tool = { name: 'run', description: 'Runs a command.' };

const kinds = {
  chat: {
    path: `${base}/chat/completions`,
    history: [
      { role: 'system', content: 'Work in steps.' },
      { role: 'user', content: prompt },
    ],
    body: (messages) => ({
      model,
      messages,
      tools: [{ type: 'function', function: { ...tool, parameters: schema } }],
    }),
    read({ choices: [{ message }] }) {
      const calls = message.tool_calls ?? [];
      return {
        said: [message],
        text: message.content,
        calls: calls.map(({ id, function: f }) => ({ id, ...f })),
      };
    },
    result: (id, content) => ({ role: 'tool', tool_call_id: id, content }),
  },
  messages: {
    path: `${messagesBase}/v1/messages`,
    history: [{ role: 'user', content: prompt }],
    body: (messages) => ({
      model,
      max_tokens: 1000,
      system: 'Work in steps.',
      messages,
      tools: [{ ...tool, input_schema: schema }],
    }),
    read({ content }) {
      const calls = content.filter(({ type }) => type === 'tool_use');
      return {
        said: [{ role: 'assistant', content }],
        text: content.find(({ type }) => type === 'text')?.text,
        calls: calls.map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) })),
      };
    },
    result: (id, content) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] }),
  },
  responses: {
    path: `${base}/responses`,
    history: [{ role: 'user', content: prompt }],
    body: (input) => ({
      model,
      instructions: 'Work in steps.',
      input,
      tools: [{ type: 'function', ...tool, parameters: schema, strict: false }],
    }),
    read({ output }) {
      const calls = output.filter(({ type }) => type === 'function_call');
      const message = output.find(({ type }) => type === 'message');
      return {
        said: output,
        text: message?.content[0].text,
        calls: calls.map(({ call_id: id, name, arguments: text }) => ({ id, name, arguments: text })),
      };
    },
    result: (id, output) => ({ type: 'function_call_output', call_id: id, output }),
  },
};

const kind = kinds[protocol];
const history = [...kind.history];
const calls = [];
for (;;) {
  const response = await fetch(kind.path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(kind.body(history)),
  });
  const answer = await response.json();
  if (response.status !== 200) {
    console.log(JSON.stringify({ status: response.status, error: answer.error.message }));
    process.exit(3);
  }
  const turn = kind.read(answer);
  history.push(...turn.said);
  if (turn.calls.length === 0) {
    console.log(JSON.stringify({ calls, text: turn.text }));
    break;
  }
  for (const { id, name, arguments: text } of turn.calls) {
    const { command } = JSON.parse(text);
    calls.push(`${name} ${command}`);
    history.push(kind.result(id, `ran ${command} at ${new Date().toISOString()}`));
  }
}
