// Thirty requests to a model with tools, each with what an agent should get. Each asks for one thing that models or their servers are
// known to get wrong; the words leave no choice, so that a good model passes all.
import type { JsonObject } from '../../canonical/json.ts';
import type { FunctionTool, Message } from '../../canonical/request.ts';
import type { Asked } from './ask.ts';

export interface WantedCall {
  name: string;
  /** A value as it must be, or what its text must match. Further arguments that the tool has are free. */
  arguments: Readonly<Record<string, unknown>>;
}

export interface ToolCase {
  name: string;
  asked: Asked;
  /** These calls, in any order and no others; or no call, and a text that matches. */
  wanted: readonly WantedCall[] | RegExp;
}

type Properties = Readonly<Record<string, JsonObject>>;

function tool(
  name: string,
  description: string,
  properties: Properties,
  ...optional: string[]
): FunctionTool {
  const required = Object.keys(properties).filter((property) => !optional.includes(property));
  return { type: 'function', name, description, parameters: { type: 'object', properties, required } };
}

const TEXT: JsonObject = { type: 'string' };
const NUMBER: JsonObject = { type: 'number' };
const person: JsonObject = {
  type: 'object',
  properties: { name: TEXT, email: TEXT },
  required: ['name', 'email'],
};

const weather = tool('get_weather', 'The weather of a city now.', { city: TEXT });
const time = tool('get_time', 'The time in a city now.', { city: TEXT });
const add = tool('add', 'Adds two numbers.', { a: NUMBER, b: NUMBER });
const list = tool('list_files', 'Lists the files of the current folder.', {});
const read = tool('read_file', 'Reads a file.', { path: TEXT });
const write = tool('write_file', 'Writes a file.', { path: TEXT, content: TEXT });
const send = tool('send_message', 'Sends a message to a person.', { to: TEXT, text: TEXT });
const search = tool('search', 'Searches files.', { pattern: TEXT, limit: { type: 'integer' } }, 'limit');
const unit = tool('set_unit', 'Sets the unit of temperatures.', {
  unit: { type: 'string', enum: ['celsius', 'fahrenheit', 'kelvin'] },
});
const lamp = tool('set_lamp', 'Switches a lamp.', { room: TEXT, on: { type: 'boolean' } });
const ship = tool('ship_to', 'Ships a parcel.', { zip_code: { type: 'string' } });
const move = tool('move_robot', 'Moves the robot.', { x: NUMBER, y: NUMBER });
const event = tool('create_event', 'Creates an event.', {
  title: TEXT,
  place: { type: 'object', properties: { street: TEXT, city: TEXT }, required: ['street', 'city'] },
});
const invite = tool('invite', 'Invites people.', { people: { type: 'array', items: person } });
const tags = tool('set_tags', 'Sets the tags of a note.', { tags: { type: 'array', items: TEXT } });
const wait = tool('wait', 'Waits.', {
  until: {
    anyOf: [
      { type: 'integer', description: 'seconds' },
      { type: 'string', description: 'an event' },
    ],
  },
});
const mcp = tool('mcp__files__read_text_file', 'Reads a text file of the server "files".', { path: TEXT });
const many = Array.from({ length: 16 }, (_, at) =>
  tool(`report_${at + 1}`, `Report number ${at + 1}.`, { year: { type: 'integer' } }),
);

const SYSTEM: Message = {
  role: 'system',
  parts: [{ type: 'text', text: 'You are an agent. Use the tools where they are asked for.' }],
};

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] });

const called = (id: string, name: string, args: JsonObject): Message => ({
  role: 'assistant',
  parts: [{ type: 'tool_call', id, name, arguments: JSON.stringify(args) }],
});

const result = (callId: string, content: string): Message => ({
  role: 'user',
  parts: [{ type: 'tool_result', callId, content }],
});

function asks(text: string, tools: FunctionTool[], more: Partial<Asked> = {}): Asked {
  return { stream: true, messages: [SYSTEM, user(text)], tools, ...more };
}

const WHOLE = { stream: false };
/** Characters as they must arrive in a file. */
const LINES = 'first line\n\tsecond line, with a tab\n\nfourth line';
const QUOTES = 'say "hi" to C:\\temp\\new';
const CODE = Array.from(
  { length: 12 },
  (_, at) => `def step_${at + 1}(value):\n    return {"step": ${at + 1}, "value": value}\n`,
).join('\n');
const TAGGED = '<tool_call>{"name": "none"}</tool_call>';

/** Small models copy a text best between marks. */
const copied = (text: string): string =>
  `Write the text between the lines of dashes, exactly and without these lines, to the file out.txt.\n-----\n${text}\n-----`;

const wrote = (content: string): WantedCall[] => [
  { name: 'write_file', arguments: { path: /out\.txt$/, content } },
];
const PARIS: WantedCall = { name: 'get_weather', arguments: { city: /paris/i } };
const ROME: WantedCall = { name: 'get_weather', arguments: { city: /rom[ea]/i } };
const ASK_PARIS = 'What is the weather in Paris? Use the tool.';
const ASK_BOTH =
  'What is the weather in Paris, and what is it in Rome? Call the tool for both cities at once, in one answer.';

export const TOOL_CASES: readonly ToolCase[] = [
  { name: 'one call', asked: asks(ASK_PARIS, [weather, time], WHOLE), wanted: [PARIS] },
  { name: 'one call, streamed', asked: asks(ASK_PARIS, [weather, time]), wanted: [PARIS] },
  { name: 'two calls at once', asked: asks(ASK_BOTH, [weather], WHOLE), wanted: [PARIS, ROME] },
  { name: 'two calls at once, streamed', asked: asks(ASK_BOTH, [weather]), wanted: [PARIS, ROME] },
  {
    name: 'calls of two tools at once',
    asked: asks('Call both tools for Paris at once: its weather and its time.', [weather, time]),
    wanted: [PARIS, { name: 'get_time', arguments: { city: /paris/i } }],
  },
  {
    name: 'one call where only one may be',
    asked: asks(ASK_PARIS, [weather, time], { parallelToolCalls: false }),
    wanted: [PARIS],
  },
  { name: 'no call wanted', asked: asks('What is 2 + 2? Use no tool.', [weather], WHOLE), wanted: /4|four/i },
  {
    name: 'no call allowed',
    asked: asks('Say hello.', [weather], { toolChoice: { type: 'none' } }),
    wanted: /./,
  },
  {
    name: 'a text about calls',
    asked: asks('Use no tool. Answer in one sentence: what is the tag <tool_call> for?', [weather]),
    wanted: /./,
  },
  {
    name: 'a call that must be',
    asked: asks('The weather in Paris, please.', [weather, time], { toolChoice: { type: 'required' } }),
    wanted: [PARIS],
  },
  {
    name: 'a call of a named tool',
    asked: asks('Paris, please.', [weather, time], { toolChoice: { type: 'tool', name: 'get_time' } }),
    wanted: [{ name: 'get_time', arguments: { city: /paris/i } }],
  },
  {
    name: 'no arguments',
    asked: asks('List the files. Use the tool.', [list, read], WHOLE),
    wanted: [{ name: 'list_files', arguments: {} }],
  },
  {
    name: 'no arguments, streamed',
    asked: asks('List the files. Use the tool.', [list, read]),
    wanted: [{ name: 'list_files', arguments: {} }],
  },
  {
    name: 'numbers',
    asked: asks('Add 17 and 25. Use the tool.', [add]),
    wanted: [{ name: 'add', arguments: { a: 17, b: 25 } }],
  },
  {
    name: 'a fraction and a negative number',
    asked: asks('Move the robot to x = 1.5 and y = -2.25. Use the tool.', [move], WHOLE),
    wanted: [{ name: 'move_robot', arguments: { x: 1.5, y: -2.25 } }],
  },
  {
    name: 'digits that are a text',
    asked: asks('Ship the parcel to the zip code 01234. Use the tool.', [ship]),
    wanted: [{ name: 'ship_to', arguments: { zip_code: '01234' } }],
  },
  {
    name: 'a truth value',
    asked: asks('Switch the lamp of the kitchen off. Use the tool.', [lamp]),
    wanted: [{ name: 'set_lamp', arguments: { room: /kitchen/i, on: false } }],
  },
  {
    name: 'one of several words',
    asked: asks('Show temperatures in degrees Celsius from now on. Use the tool.', [unit], WHOLE),
    wanted: [{ name: 'set_unit', arguments: { unit: 'celsius' } }],
  },
  {
    name: 'an object in the arguments',
    asked: asks(
      'Create the event "Dinner" at the street "5 High Street" in the city "Leeds". Use the tool.',
      [event],
    ),
    wanted: [
      {
        name: 'create_event',
        arguments: { title: /dinner/i, place: { street: '5 High Street', city: 'Leeds' } },
      },
    ],
  },
  {
    name: 'a list of objects',
    asked: asks('Invite Ann (ann@example.com) and Bob (bob@example.com) in one call of the tool.', [invite]),
    wanted: [
      {
        name: 'invite',
        arguments: {
          people: [
            { name: 'Ann', email: 'ann@example.com' },
            { name: 'Bob', email: 'bob@example.com' },
          ],
        },
      },
    ],
  },
  {
    name: 'a list of texts',
    asked: asks('Set the tags "red" and "blue", in this order. Use the tool.', [tags], WHOLE),
    wanted: [{ name: 'set_tags', arguments: { tags: ['red', 'blue'] } }],
  },
  {
    name: 'an argument of two types',
    asked: asks('Wait for 30 seconds. Use the tool.', [wait]),
    wanted: [{ name: 'wait', arguments: { until: 30 } }],
  },
  {
    name: 'characters of other scripts',
    asked: asks('Send Jörg the message "Grüße aus 東京 🎉". Use the tool.', [send]),
    wanted: [{ name: 'send_message', arguments: { to: 'Jörg', text: 'Grüße aus 東京 🎉' } }],
  },
  { name: 'line breaks and tabs', asked: asks(copied(LINES), [write], WHOLE), wanted: wrote(LINES) },
  { name: 'quotes and backslashes', asked: asks(copied(QUOTES), [write]), wanted: wrote(QUOTES) },
  { name: 'a long text', asked: asks(copied(CODE), [write]), wanted: wrote(CODE) },
  { name: 'tags of calls in a text', asked: asks(copied(TAGGED), [write]), wanted: wrote(TAGGED) },
  {
    name: 'the right one of many tools',
    asked: asks('Fetch report number 11 of the year 2024 for me. Use the tool.', [...many, mcp, search]),
    wanted: [{ name: 'report_11', arguments: { year: 2024 } }],
  },
  {
    name: 'a result, then the answer',
    asked: {
      stream: true,
      messages: [
        SYSTEM,
        user(ASK_PARIS),
        called('call_Ab1Cd2Ef3', 'get_weather', { city: 'Paris' }),
        result('call_Ab1Cd2Ef3', '{"temperature": 18, "sky": "clear"}'),
      ],
      tools: [weather],
    },
    wanted: /18/,
  },
  {
    name: 'a result, then the next call',
    asked: {
      stream: true,
      messages: [
        SYSTEM,
        user('Read a.txt with the tool. It names another file: read that one with the tool, too.'),
        called('call_Ab1Cd2Ef4', 'mcp__files__read_text_file', { path: 'a.txt' }),
        result('call_Ab1Cd2Ef4', 'Now read b.txt.'),
      ],
      tools: [mcp],
    },
    wanted: [{ name: 'mcp__files__read_text_file', arguments: { path: /b\.txt$/ } }],
  },
];

/** Characters. */
export const LONGEST_CASE = Math.max(...TOOL_CASES.map(({ name }) => name.length));
