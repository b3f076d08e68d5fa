// What `gateway connect` prints: the list of tools, a plan with its differences, and what was written or taken back.
import { editorOf } from '../../tools/texts/changes.ts';
import type { Connection } from '../../tools/connections.ts';
import { diffLines, type DiffLine } from '../../tools/texts/diff.ts';
import type { PlannedFile, UndoneFile } from '../../tools/engine.ts';
import type { UndoneTool } from './take-back.ts';
import type { GatewayFacts } from './gateway-facts.ts';
import { withoutSecrets } from '../../tools/texts/secrets.ts';
import type { ToolKey } from './keys.ts';
import type { ConnectTool } from '../../tools/connected-tools.ts';
import { LOCAL_ACCOUNT, type Context } from '../context.ts';
import { proxyBefore } from '../../tools/no-proxy.ts';
import { say } from '../ui/lines.ts';
import {
  clean,
  createStyle,
  formatCount,
  printJson,
  printLines,
  shellWord,
  widthOf,
  type Style,
} from '../ui/style.ts';
import { table, wrapText, type Cell } from '../ui/table.ts';

export interface ToolState {
  tool: ConnectTool;
  installed: boolean | undefined;
  connection: Connection | undefined;
  state: 'none' | 'connected' | 'changed' | 'gone';
}

export async function printTools(rows: readonly ToolState[], context: Context): Promise<void> {
  const { stdout, env } = context;
  const lines = table(
    rows,
    [
      { title: 'TOOL', value: ({ tool }) => tool.name },
      { title: 'NAME', value: ({ tool }) => tool.title, shrinks: true },
      { title: 'INSTALLED', value: installedCell },
      { title: 'CONNECTED', value: connectedCell, shrinks: true },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  printLines(stdout, lines);
  say(context.stderr, 'what one would change: gateway connect TOOL');
}

function installedCell({ installed }: ToolState): Cell {
  if (installed === undefined) return { text: '?', paint: 'dim' };
  return installed ? { text: 'yes', paint: 'green' } : { text: '-', paint: 'dim' };
}

function connectedCell({ tool, connection, state }: ToolState): Cell {
  if (connection === undefined) {
    const how = tool.settings === undefined ? (tool.env === undefined ? 'by a person' : 'by variables') : '-';
    return { text: how, paint: 'dim' };
  }
  const to = clean(`${connection.url}, model ${connection.model}`);
  if (state === 'connected') return { text: to, paint: 'green' };
  if (state === 'changed') return { text: `${to} (settings changed since)`, paint: 'yellow' };
  return { text: 'no longer: its settings are gone', paint: 'yellow' };
}

interface View {
  tool: ConnectTool;
  facts: GatewayFacts;
  steps: readonly string[];
  json: boolean;
  /** Further options of the command that writes it. */
  flags?: readonly string[];
}

export async function printPlan(
  view: View & { planned: readonly PlannedFile[]; connected: boolean },
  context: Context,
): Promise<void> {
  const { tool, facts, planned, steps, connected, json, flags = [] } = view;
  const files = await Promise.all(planned.map(async (file) => ({ file, lines: await differences(file) })));
  if (json) {
    const described = files.map(({ file, lines }) => ({
      path: file.state.path,
      exists: file.state.content !== undefined,
      diff: lines.map(({ kind, text }) => (kind === '…' ? '…' : `${kind} ${text}`)),
    }));
    printJson(context, { ...describe(view), files: described, steps, connected, written: false });
    return;
  }
  const { stdout, env } = context;
  const style = await createStyle(stdout, env);
  printLines(stdout, [...heading(view, style, widthOf(stdout)), '']);
  for (const { file, lines } of files) {
    const state =
      file.after === undefined
        ? 'goes'
        : file.state.content === undefined
          ? 'new'
          : lines.length === 0
            ? 'as it should be'
            : 'changes';
    printLines(stdout, [
      `${style.bold(clean(file.state.path))} (${state})`,
      ...lines.map((line) => painted(line, style)),
      '',
    ]);
  }
  printSteps(steps, context);
  if (tool.settings !== undefined) {
    const change = files.some(({ lines }) => lines.length > 0);
    const command = [
      'gateway connect',
      tool.name,
      ...(facts.model.name === 'auto' ? [] : ['--model', shellWord(facts.model.name)]),
      ...flags,
    ].join(' ');
    if (change || !connected) say(stdout, `Nothing is written yet. To write it: ${command} --write`);
    if (connected)
      say(stdout, `${tool.title} is connected. To take it back: gateway connect ${tool.name} --undo`);
  }
  warnIfStopped(facts, context);
}

async function differences({ state, format, after }: PlannedFile): Promise<DiffLine[]> {
  const editor = await editorOf(format);
  const text = (bytes: Buffer | undefined): string =>
    withoutSecrets((bytes?.toString('utf8') ?? '').replace(/^\ufeff/, ''), editor);
  return diffLines(text(state.content?.bytes), text(after));
}

const PAINTS = { '+': 'green', '-': 'red', ' ': 'dim', '…': 'dim' } as const;

const painted = ({ kind, text }: DiffLine, style: Style): string =>
  style[PAINTS[kind]](clean(`  ${kind} ${text}`.trimEnd()));

function heading({ tool, facts: { url, model } }: View, style: Style, width: number | undefined): string[] {
  const window = model.window === null ? 'window unknown' : `window ${formatCount(model.window)}`;
  const about = [...(model.target === model.name ? [] : [model.target]), window].join(', ');
  const text = `${tool.title} → ${url}, model ${clean(model.name)} (${clean(about)})`;
  const lines = wrapText(text, width, '  ').map((line, at) =>
    at === 0 ? style.bold(tool.title) + line.slice(tool.title.length) : line,
  );
  const simulated = model.target.startsWith('sim/') && model.name !== model.target;
  return simulated
    ? [...lines, ...wrapText('No provider is configured: a simulated one answers.', width)]
    : lines;
}

function describe({ tool, facts: { url, state, model } }: View) {
  return {
    tool: tool.name,
    title: tool.title,
    url,
    running: state === 'running',
    model: { name: model.name, target: model.target, context_window: model.window, max_output: model.output },
  };
}

function printSteps(steps: readonly string[], { stdout }: Context): void {
  const width = widthOf(stdout);
  printLines(stdout, [
    ...steps.flatMap((step, at) => wrapText(clean(`${at + 1}. ${step}`), width, '   ')),
    '',
  ]);
}

export function warnIfStopped({ url, state }: GatewayFacts, { stderr, env }: Context): void {
  const proxy = proxyBefore(env);
  if (proxy !== undefined)
    say(
      stderr,
      `warning: ${proxy} is set here; a program that heeds it needs NO_PROXY=127.0.0.1,localhost to reach the gateway`,
    );
  if (state === 'free') say(stderr, `no gateway answers at ${url} now; start one: gateway serve`);
  if (state === 'foreign')
    say(
      stderr,
      `warning: the program that listens at ${url} is no gateway of yours on this database, and would get the key and all prompts; end it, or choose another listen.port`,
    );
}

export async function printWritten(
  view: View & { connection: Connection; key: ToolKey | undefined },
  context: Context,
): Promise<void> {
  const { tool, facts, steps, connection, key, json } = view;
  const paths = connection.files.map(({ path }) => path);
  if (json) {
    const label = key?.made === true ? { account: LOCAL_ACCOUNT, name: key.label } : {};
    const shown = tool.showsKey === true ? { key: key?.plaintext } : {};
    const described =
      key === undefined ? connection.key && { id: connection.key.id } : { id: key.id, ...label, ...shown };
    printJson(context, {
      ...describe(view),
      files: paths.map((path) => ({ path })),
      steps,
      connected: true,
      written: key !== undefined,
      key: described,
    });
    return;
  }
  const { stdout, env } = context;
  const style = await createStyle(stdout, env);
  const undo = `To take it back: gateway connect ${tool.name} --undo`;
  if (key === undefined) {
    printLines(stdout, [
      ...heading(view, style, widthOf(stdout)),
      'All is written already; nothing was changed.',
      undo,
    ]);
  } else {
    printLines(stdout, [
      ...heading(view, style, widthOf(stdout)),
      ...paths.map((path) => `${style.green('wrote')} ${clean(path)}`),
      keyLine(key),
      '',
    ]);
    if (tool.showsKey === true && key.made) {
      printLines(stdout, [
        style.bold(style.green(key.plaintext)),
        style.yellow('Copy it now: it is shown only once.'),
        '',
      ]);
    }
    printSteps(steps, context);
    printLines(stdout, [undo]);
  }
  warnIfStopped(facts, context);
}

export function keyLine({ id, made, label }: ToolKey): string {
  if (made)
    return `key ${id ?? ''} was created for it (account ${LOCAL_ACCOUNT}, name ${label ?? ''}): gateway keys list`;
  return id === null
    ? 'the key that was given is not in this database'
    : `key ${id}, which was given, is used`;
}

const RESULTS: Readonly<Record<UndoneFile['result'], string>> = {
  restored: 'is as before, byte for byte',
  removed: 'is removed: there was none before',
  edited: 'was changed since: only what connect wrote is taken out',
  unchanged: 'holds nothing of connect',
  gone: 'does not exist any more',
};

export const describeUndone = ({ tool, files, key, revoked }: UndoneTool) => ({
  tool,
  files,
  key: key && { id: key.id, revoked },
});

export async function printUndone({ files, key, revoked }: UndoneTool, context: Context): Promise<void> {
  const { stdout, env } = context;
  const style = await createStyle(stdout, env);
  printLines(stdout, [
    ...files.flatMap(({ path, result, left }) => [
      `${style.bold(clean(path))} ${RESULTS[result]}`,
      ...left.map((name) => style.yellow(`  ${clean(name)} stays: it was changed since`)),
    ]),
    ...(key === null
      ? []
      : [
          revoked
            ? `key ${key.id} is revoked`
            : `key ${key.id} is still valid; to revoke it: gateway keys revoke ${key.id}`,
        ]),
  ]);
}
