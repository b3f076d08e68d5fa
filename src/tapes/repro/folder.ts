// A request of a tape as a folder that can be given to anybody: a tape of this one request, in which all texts are shapes, with the versions
// and a page that says what to do with it.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { presetAt } from '../../config/presets/presets.ts';
import type { ProtocolName } from '../../canonical/request.ts';
import { protocols } from '../../protocols/registry.ts';
import { catalogued } from '../../routing/models/catalogue.ts';
import {
  answerFile,
  providerSide,
  requestFile,
  type AttemptHead,
  type ExchangeHead,
  type TapeHead,
} from '../format.ts';
import { framesOf, lineOf, textOf, type TimedFrame } from '../frames.ts';
import type { TapedAnswer, TapedExchange } from '../read.ts';
import { indented } from '../record/indent.ts';
import { createTape } from '../record/write.ts';
import { Shaper } from './shape.ts';

/** For the reader of the folder. */
interface Versions {
  gateway: string;
  /** The gateway that recorded it. */
  recorded_by: string;
  node: string;
  platform: string;
  client: { protocol: string };
  providers: { kind: string; protocol: string }[];
}

interface Made {
  /** Of this gateway. */
  gateway: string;
  made: string;
  id: string;
}

/** Throws CliError if the folder exists, or can't be written. */
export function writeRepro(
  folder: string,
  exchange: TapedExchange,
  recorded: TapeHead,
  made: Made,
): string[] {
  const kinds = exchange.attempts.map(({ head }) => kindOf(head));
  const shaper = new Shaper(knownModels(exchange, kinds));
  const files = shapedFiles(exchange, shaper);
  const head = shapedHead(exchange.head, kinds, shaper);
  const versions: Versions = {
    gateway: made.gateway,
    recorded_by: recorded.gateway,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    client: { protocol: exchange.head.protocol },
    providers: exchange.attempts.map((attempt, at) => ({
      kind: kinds[at] ?? '',
      protocol: attempt.head.protocol,
    })),
  };
  const tape = createTape(folder, tapeHead(head, recorded, made), { replace: false });
  tape.exchange('0001', head, files);
  const write = (name: string, text: string): void =>
    writeFileSync(path.join(folder, name), text, { mode: 0o600, flag: 'wx' });
  write('versions.json', `${JSON.stringify(versions, null, 2)}\n`);
  write('README.md', readme(path.basename(folder), head, versions));
  return [
    'README.md',
    'versions.json',
    'tape.json',
    '0001/exchange.json',
    ...[...files.keys()].map((name) => `0001/${name}`),
  ];
}

/** The preset of its address; `own`: another server. */
function kindOf({ url }: AttemptHead): string {
  try {
    return presetAt([url])?.name ?? 'own';
  } catch {
    return 'own';
  }
}

/** Names that the catalogue of a hosted provider has. */
function knownModels({ attempts }: TapedExchange, kinds: readonly string[]): Set<string> {
  const known = attempts.flatMap(({ head: { upstream } }, at) =>
    Object.keys(catalogued(kinds[at] ?? '', upstream)).length > 0 ? [upstream] : [],
  );
  return new Set([...known, 'auto']);
}

function shapedFiles(exchange: TapedExchange, shaper: Shaper): Map<string, string> {
  const sides = [
    { side: 'client', taken: exchange },
    ...exchange.attempts.map((taken, at) => ({ side: providerSide(at + 1), taken })),
  ];
  const files = new Map<string, string>();
  for (const { side, taken } of sides) {
    const request = taken.request();
    if (request !== undefined) files.set(requestFile(side), indented(shaper.json(request)));
    const answer = taken.answer();
    if (answer !== undefined) files.set(...shapedAnswer(side, answer, shaper));
  }
  return files;
}

function shapedAnswer(side: string, answer: TapedAnswer, shaper: Shaper): [name: string, text: string] {
  if (answer.form === 'stream') {
    const lines = answer.frames.map((frame) => `${lineOf(shapedFrame(frame, shaper))}\n`);
    return [answerFile(side, 'jsonl'), lines.join('')];
  }
  const isJson = /^\s*[{[]/.test(answer.text);
  const text = isJson ? indented(shaper.json(answer.text)) : shaper.sentence(answer.text);
  return [answerFile(side, isJson ? 'json' : 'txt'), text];
}

/** `[DONE]` and the like are words of the protocols. */
const shapedData = (data: string, shaper: Shaper): string =>
  /^\s*(?:\{|\[(?![A-Z]+\]))/.test(data) ? shaper.json(data) : shaper.sentence(data);

/** A frame of another form is cut into its lines: their names stay. */
function shapedFrame(frame: TimedFrame, shaper: Shaper): TimedFrame {
  const { ms, event, data } = frame;
  if (data !== '') return { ms, event: shaper.sentence(event), data: shapedData(data, shaper), text: '' };
  const lines = textOf(frame)
    .split('\n')
    .map((line) => {
      const [, name = '', value = line] = /^(\w{0,10}: ?)(.*)$/s.exec(line) ?? [];
      const known = /^(?:data|event|id|retry)?: ?$/.test(name) ? name : shaper.text(name);
      return known + shapedData(value, shaper);
    });
  const [made] = framesOf([{ ms, bytes: Buffer.from(lines.join('\n')) }]);
  return made ?? { ms, event: '', data: '', text: lines.join('\n') };
}

function shapedHead(head: ExchangeHead, kinds: readonly string[], shaper: Shaper): ExchangeHead {
  return {
    ...head,
    path: shaper.words(head.path),
    model: head.model === null ? null : shaper.model(head.model),
    headers: shapedHeaders(head.headers, shaper),
    answer_headers: shapedHeaders(head.answer_headers, shaper),
    error: head.error && { kind: head.error.kind, message: shaper.sentence(head.error.message) },
    dropped: head.dropped.map((each) => shaper.words(each)),
    changed: head.changed.map((each) => shaper.sentence(each)),
    attempts: head.attempts.map((attempt, at) => shapedAttempt(attempt, kinds[at] ?? '', shaper)),
  };
}

function shapedAttempt(attempt: AttemptHead, kind: string, shaper: Shaper): AttemptHead {
  const { failure, protocol, url } = attempt;
  return {
    ...attempt,
    provider: kind,
    model: shaper.model(attempt.model),
    upstream: shaper.model(attempt.upstream),
    url: `https://provider.example/v1${pathIn(url, protocol)}`,
    headers: shapedHeaders(attempt.headers, shaper),
    answer_headers: shapedHeaders(attempt.answer_headers, shaper),
    failure: failure && {
      kind: failure.kind,
      reason: failure.reason && shaper.sentence(failure.reason),
      message: shaper.sentence(failure.message),
    },
  };
}

/** The endpoint, without what stands before it: a host, a project, a deployment. */
function pathIn(url: string, protocol: ProtocolName): string {
  const plain = url.replace(/[?#].*$/s, '');
  const { endpoints, path: usual } = protocols[protocol].client;
  return endpoints.find(({ path: own }) => plain.endsWith(own))?.path ?? usual;
}

const NAMED =
  /^(?:[a-z]+-)*(?:version|beta|type|lang|count|agent|originator|accept|after|processing-ms|limit|remaining|x-app|should-retry|attempts|provider|dropped|repaired|changed)$/;

function shapedHeaders(headers: Readonly<Record<string, string>>, shaper: Shaper): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      NAMED.test(name) && shaper.words(name) === name ? [[name, shaper.words(value)]] : [],
    ),
  );
}

function tapeHead(head: ExchangeHead, { ignore }: TapeHead, { gateway, made }: Made): TapeHead {
  const targets = head.attempts.map(({ provider, model, upstream, protocol }) => ({
    provider,
    model,
    upstream,
    protocol,
  }));
  const last = targets.at(-1);
  const asked =
    head.model === null || last === undefined
      ? []
      : [{ model: head.model, target: `${last.provider}/${last.model}` }];
  const rules = ignore?.filter((rule) => !rule.startsWith('text: '));
  return {
    tape: 1,
    made,
    gateway,
    command: [],
    shape: true,
    ...(rules !== undefined && { ignore: rules }),
    targets,
    asked,
  };
}

function readme(name: string, { status, attempts, error }: ExchangeHead, versions: Versions): string {
  const failed =
    error === null
      ? `status ${status ?? 'none'}`
      : `status ${status ?? 'none'}, ${error.kind}: ${error.message}`;
  const steps = attempts.map(
    ({ provider, protocol, status: got, end, failure }, at) =>
      `${at + 1}. ${provider} (${protocol}): ${failure === null ? `status ${got ?? 'none'}, ${end}` : `${failure.kind}: ${failure.message}`}`,
  );
  return `# A request to a gateway, as its shape

Made by \`gateway requests ID --repro\`. Every text, file name, address, number and image of the user is replaced by one of the same
length; the members of the protocols, types, roles, and the names of tools are as they were. Read the files before you attach them: names of
tools are kept on purpose.

- gateway ${versions.gateway} (recorded by ${versions.recorded_by}), Node ${versions.node}, ${versions.platform}
- client: ${versions.client.protocol}; ${failed}
${steps.map((step) => `- provider ${step}`).join('\n')}

| file | |
|---|---|
| \`0001/client-request.json\` | what the client sent |
| \`0001/provider-1-request.json\` | what the provider got |
| \`0001/provider-1-answer.*\` | what it answered; \`.jsonl\`: the frames of a stream with their times |
| \`0001/client-answer.*\` | what the client got |
| \`0001/exchange.json\` | statuses, times, headers, what a translation left out or changed |
| \`versions.json\`, \`tape.json\` | versions; what makes this folder a tape |

## What to do with it

Attach the folder (zipped) to the issue, and write what you expected.

Whoever mends it: the folder is a tape. \`gateway replay ${name}\` serves its answers; send \`0001/client-request.json\` to it, or use it as
a provider: \`providers: { repro: { tape: ./${name} } }\`.
`;
}
