// The rules by which a stub refuses: each kind of refusal of real services as a function that makes one, with the service's words.
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { isObject } from '../../../src/canonical/json.ts';
import type { StrictRequest } from '../../helpers/strict-provider.ts';
import { anthropic, detail, openai, WORDED } from '../../protocols/refusals/wordings.ts';
import { has, partsOf, readStrict, type Reading } from './reading.ts';

export const KINDS = [
  'tools beside reasoning',
  'efforts and off',
  'schema roots',
  'forced calls',
  'structured output',
  'output limits',
  'reasoning that must come back',
  'contents',
  'sampling and stop',
  'order and roles',
  'unknown members',
] as const;
export type Kind = (typeof KINDS)[number];

export interface Answer {
  status: number;
  body: string;
}

export interface Rule {
  kind: Kind;
  refuses: (request: Reading) => boolean;
  answer: Answer;
}

/** A model's own stub: what is refused of it at one provider. */
export interface Stub {
  /** The preset's name. */
  provider: string;
  model: string;
  rules: readonly Rule[];
  /** What no form can give it. */
  lacks?: readonly ('images' | 'addresses' | 'tools')[];
}

/** Words of the list of wordings, by their name there. */
export function words(name: string): Answer {
  const found = WORDED.find((worded) => worded.name === name);
  if (found === undefined) throw new Error(`no wording is called ${name}`);
  return { status: found.status, body: found.body };
}

export const refusal = (body: string, status = 400): Answer => ({ status, body });
const plain = (message: string, param?: string): Answer => refusal(openai(message, param ?? null));

/** The first rule that refuses, as the service would. */
export function refusedBy({ rules }: Stub, request: StrictRequest): Rule | undefined {
  const reading = readStrict(request);
  return rules.find((rule) => rule.refuses(reading));
}

/** The rules that hold on these protocols alone. */
export function on(protocols: readonly ProtocolName[], ...rules: readonly Rule[]): Rule[] {
  return rules.map((rule) => ({
    ...rule,
    refuses: (request) => protocols.includes(request.protocol) && rule.refuses(request),
  }));
}

// -- thinking --

/** Whether the model thinks on this request, where it does `byDefault`. */
export function thinks(request: Reading, byDefault: boolean): boolean {
  const { effort, switched, protocol } = request;
  if (switched !== undefined) return switched !== 'disabled';
  if (protocol === 'messages' || effort === undefined) return byDefault;
  return effort !== 'none';
}

export function efforts(taken: readonly string[], answer?: Answer): Rule {
  const quoted = taken.map((one) => `'${one}'`).join(', ');
  return {
    kind: 'efforts and off',
    refuses: ({ effort }) => effort !== undefined && !taken.includes(effort),
    answer:
      answer ??
      refusal(
        openai(
          `Unsupported value: 'reasoning_effort' does not support this value with this model. Supported values are: ${quoted}.`,
          'reasoning_effort',
          'unsupported_value',
        ),
      ),
  };
}

/** What a switch of thinking says; none: there is no such member. */
export function switches(taken: readonly string[], answer: Answer): Rule {
  return {
    kind: 'efforts and off',
    refuses: ({ switched }) => switched !== undefined && !taken.includes(switched),
    answer,
  };
}

/** Two members that are not taken beside each other. */
export function eitherEffortOrSwitch(answer: Answer): Rule {
  return {
    kind: 'efforts and off',
    refuses: ({ effort, switched }) => effort !== undefined && switched !== undefined,
    answer,
  };
}

/** `asked`: only where the request names an effort. */
export function noToolsWhileThinkingOnChat(when: 'always' | 'asked'): Rule {
  return {
    kind: 'tools beside reasoning',
    refuses: ({ protocol, tools, effort }) =>
      protocol === 'chat' &&
      tools.length > 0 &&
      effort !== 'none' &&
      (when === 'always' || effort !== undefined),
    answer: words('OpenAI, tools beside an effort'),
  };
}

// -- tools --

const UNIONS = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'];

export function objectRoots(answer: Answer): Rule {
  return {
    kind: 'schema roots',
    refuses: ({ tools }) =>
      tools.some(
        ({ schema }) =>
          schema !== undefined && (schema.type !== 'object' || UNIONS.some((key) => key in schema)),
      ),
    answer,
  };
}

export const rootHasProperties: Rule = {
  kind: 'schema roots',
  refuses: ({ tools }) => tools.some(({ schema }) => schema !== undefined && !isObject(schema.properties)),
  answer: words('OpenAI, no properties'),
};

export function typedRoots(answer: Answer): Rule {
  return {
    kind: 'schema roots',
    refuses: ({ tools }) => tools.some(({ schema }) => schema !== undefined && schema.type !== 'object'),
    answer,
  };
}

export function toolsHaveParameters(answer: Answer): Rule {
  return {
    kind: 'schema roots',
    refuses: ({ tools }) => tools.some(({ schema, type }) => type === 'function' && schema === undefined),
    answer,
  };
}

export function functionsAlone(answer: Answer): Rule {
  return {
    kind: 'unknown members',
    refuses: ({ protocol, tools }) => protocol === 'chat' && tools.some(({ type }) => type !== 'function'),
    answer,
  };
}

/** A call may not be forced, or not while the model thinks. */
export function noForcedCalls(when: 'always' | { thinksByDefault: boolean }, answer: Answer): Rule {
  return {
    kind: 'forced calls',
    refuses: (request) =>
      (request.choice === 'required' || request.choice === 'named') &&
      (when === 'always' || thinks(request, when.thinksByDefault)),
    answer,
  };
}

export function choiceInWords(answer: Answer): Rule {
  return {
    kind: 'forced calls',
    refuses: ({ protocol, body }) => protocol === 'chat' && isObject(body.tool_choice),
    answer,
  };
}

// -- structured output --

export function formats(taken: readonly string[], answer: Answer): Rule {
  return {
    kind: 'structured output',
    refuses: ({ format }) => format !== undefined && !taken.includes(format),
    answer,
  };
}

/** In the messages; instructions beside them do not count. */
export function jsonWord(answer: Answer = words('OpenAI, the word json')): Rule {
  return {
    kind: 'structured output',
    refuses: ({ format, body }) =>
      format === 'json_object' && !/json/i.test(JSON.stringify(body.messages ?? body.input)),
    answer,
  };
}

export function noFormatBesideTools(answer: Answer): Rule {
  return {
    kind: 'structured output',
    refuses: ({ format, tools }) => format !== undefined && tools.length > 0,
    answer,
  };
}

// -- limits --

export function outputUpTo(most: number, answer?: Answer): Rule {
  return {
    kind: 'output limits',
    refuses: ({ limit }) => limit !== undefined && limit > most,
    answer:
      answer ??
      plain(
        `max_tokens is too large: 900000. This model supports at most ${most} completion tokens, whereas you provided 900000.`,
        'max_tokens',
      ),
  };
}

export const claudeOutputUpTo = (most: number): Rule =>
  outputUpTo(
    most,
    refusal(
      anthropic(
        `max_tokens: 900000 > ${most}, which is the maximum allowed number of output tokens for this model`,
      ),
    ),
  );

export const noMaxTokens: Rule = {
  kind: 'output limits',
  refuses: ({ protocol, body }) => protocol === 'chat' && body.max_tokens !== undefined,
  answer: words('OpenAI, a substitute'),
};

// -- history and contents --

/** Turns with calls need their reasoning while the model thinks; `filled`: an empty one counts as missing. */
export function reasoningComesBack(thinksByDefault: boolean, filled: boolean, answer: Answer): Rule {
  return {
    kind: 'reasoning that must come back',
    refuses: (request) =>
      request.protocol === 'chat' &&
      thinks(request, thinksByDefault) &&
      request.turns.some(
        ({ calls, reasoning }) => calls && (typeof reasoning !== 'string' || (filled && reasoning === '')),
      ),
    answer,
  };
}

export const signatures: Rule = {
  kind: 'reasoning that must come back',
  refuses: ({ body }) =>
    has(body, 'messages[].tool_calls[].id') && !has(body, 'messages[].tool_calls[].extra_content.google'),
  answer: plain('Function call is missing a thought_signature in functionCall parts.'),
};

export const textsAsStrings: Rule = {
  kind: 'contents',
  refuses: ({ protocol, turns }) =>
    protocol === 'chat' &&
    turns.some(
      ({ content }) =>
        Array.isArray(content) && content.every((part) => isObject(part) && part.type === 'text'),
    ),
  answer: words('DeepSeek, a list of texts'),
};

export function details(
  taken: readonly string[],
  answer: Answer = words('OpenAI, the detail of an image'),
): Rule {
  return {
    kind: 'contents',
    refuses: (request) =>
      partsOf(request).some(({ detail: own, image_url: image }) => {
        const asked = own ?? (isObject(image) ? image.detail : undefined);
        return typeof asked === 'string' && !taken.includes(asked);
      }),
    answer,
  };
}

export const imagesAsData: Rule = {
  kind: 'contents',
  refuses: (request) =>
    partsOf(request).some(
      ({ image_url: image }) =>
        isObject(image) && typeof image.url === 'string' && !image.url.startsWith('data:'),
    ),
  answer: plain('unsupported image url: only base64 data is supported'),
};

export function nothingEmpty(answer: Answer): Rule {
  return {
    kind: 'contents',
    refuses: ({ turns }) =>
      turns.some(({ role, content }) => (role === 'user' || role === 'system') && content === ''),
    answer,
  };
}

// -- sampling --

export function fixedValue(member: string, taken: readonly number[], answer: Answer): Rule {
  return {
    kind: 'sampling and stop',
    refuses: ({ body }) => body[member] !== undefined && !taken.includes(body[member] as number),
    answer,
  };
}

export function noSampling(members: readonly string[], answer: Answer = words('OpenAI, temperature')): Rule {
  return { kind: 'sampling and stop', refuses: ({ body }) => members.some((name) => name in body), answer };
}

/** Only while the model does not think. */
export function noSamplingWhileThinking(members: readonly string[], byDefault: boolean): Rule {
  return {
    kind: 'sampling and stop',
    refuses: (request) => thinks(request, byDefault) && members.some((name) => name in request.body),
    answer: words('OpenAI, the default alone'),
  };
}

export function stopUpTo(
  most: number,
  answer: Answer = plain("Unsupported parameter: 'stop' is not supported with this model.", 'stop'),
): Rule {
  return { kind: 'sampling and stop', refuses: ({ stop }) => stop > most, answer };
}

// -- order --

export function systemFirst(answer: Answer = words('llama.cpp, the system message')): Rule {
  return {
    kind: 'order and roles',
    refuses: ({ turns }) => turns.some(({ role }, at) => role === 'system' && at > 0),
    answer,
  };
}

export const alternation: Rule = {
  kind: 'order and roles',
  refuses: ({ turns }) => {
    const roles = turns.map(({ role }) => role).filter((role) => role !== 'system');
    return roles.some((role, at) => role === roles[at - 1] && role !== 'tool');
  },
  answer: words('Perplexity, roles'),
};

export function endsWithUser(answer: Answer): Rule {
  return { kind: 'order and roles', refuses: ({ turns }) => turns.at(-1)?.role === 'assistant', answer };
}

export const noDeveloper: Rule = {
  kind: 'order and roles',
  refuses: ({ protocol, turns }) => protocol === 'chat' && turns.some(({ role }) => role === 'developer'),
  answer: plain("Unexpected role 'developer'. Supported roles are: system, user, assistant, tool."),
};

export const noUserAfterTool: Rule = {
  kind: 'order and roles',
  refuses: ({ turns }) => turns.some(({ role }, at) => role === 'user' && turns[at - 1]?.role === 'tool'),
  answer: words('Mistral, roles'),
};

// -- members --

/** A model that is not reached by other protocols. */
export function reachedBy(protocols: readonly ProtocolName[], answer: Answer): Rule {
  return { kind: 'unknown members', refuses: ({ protocol }) => !protocols.includes(protocol), answer };
}

/** Each path with words that name it. */
export function unknown(paths: readonly string[], answer: (path: string) => Answer = unrecognized): Rule[] {
  return paths.map((path) => ({
    kind: 'unknown members',
    refuses: ({ body }) => has(body, path),
    answer: answer(path),
  }));
}

export const unrecognized = (path: string): Answer =>
  plain(`Unrecognized request argument supplied: ${path}`);
export const extraInput = (path: string): Answer =>
  refusal(detail('body', ...path.replaceAll('[]', '.0').split('.')), 422);

/** All members of the top but these. */
export function knownMembers(known: readonly string[], answer: Answer): Rule {
  return {
    kind: 'unknown members',
    refuses: ({ body }) => Object.keys(body).some((name) => !known.includes(name)),
    answer,
  };
}

export function toolIds(form: RegExp, answer: Answer): Rule {
  return {
    kind: 'unknown members',
    refuses: ({ body }) => {
      const messages = Array.isArray(body.messages) ? body.messages : [];
      const items = Array.isArray(body.input) ? body.input : [];
      return [...messages, ...items].some((turn) => {
        if (!isObject(turn)) return false;
        const calls = Array.isArray(turn.tool_calls) ? turn.tool_calls : [];
        const ids = [turn.tool_call_id, turn.call_id, ...calls.map((call) => (isObject(call) ? call.id : 1))];
        return ids.some((id) => typeof id === 'string' && !form.test(id));
      });
    },
    answer,
  };
}
