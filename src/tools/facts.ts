// The settings of every tool for the page of the admin API: the rows of `gateway connect` and `gateway run`, with a word in the place
// of the key. Nothing of the user's own files is read.
import { homedir } from 'node:os';
import { programSetup, type Pointing } from './setups.ts';
import { findTool } from './tools.ts';
import type { Environment } from '../environment.ts';
import { editorOf } from './texts/changes.ts';
import type { FileChange } from './engine.ts';
import type { Places, Target } from './settings.ts';
import { exportLines } from './shell-exports.ts';
import { CONNECT_TOOLS, type ConnectTool } from './connected-tools.ts';

export interface ToolFacts {
  name: string;
  title: string;
  /** The command for one start. */
  run: string | null;
  /** The command that writes settings. */
  connect: string | null;
  /** Lines for a shell. */
  variables: string | null;
  /** What the tool's settings hold, as new files. */
  files: { path: string; text: string }[];
  steps: string[];
}

const KEY = 'YOUR_KEY';

export async function connectFacts(to: Omit<Target, 'key'>, env: Environment): Promise<ToolFacts[]> {
  const target = { ...to, key: KEY };
  const places = { env, platform: process.platform, home: homedir() };
  return [
    programFacts(target),
    ...(await Promise.all(CONNECT_TOOLS.map((tool) => factsOf(tool, target, places)))),
  ];
}

const variablesOf = (env: Environment): string => exportLines(env, 'sh').trimEnd();

/** Programs with an official SDK. */
function programFacts(target: Target): ToolFacts {
  return {
    name: 'sdk',
    title: 'A program with an official SDK',
    run: 'gateway run -- PROGRAM',
    connect: null,
    variables: variablesOf(programSetup({ ...target, fileAt }).env),
    files: [],
    steps: [],
  };
}

const fileAt: Pointing['fileAt'] = (name) => name;

async function factsOf(tool: ConnectTool, target: Target, places: Places): Promise<ToolFacts> {
  const { name, title, settings, env, steps } = tool;
  const model = target.model === 'auto' ? '' : ` --model ${target.model}`;
  const changes = settings?.(target, places) ?? [];
  return {
    name,
    title,
    run: findTool(name) === undefined ? null : `gateway run ${name}${model}`,
    connect: settings === undefined ? null : `gateway connect ${name}${model}`,
    variables: env === undefined ? null : variablesOf(env({ ...target, fileAt }).env),
    files: await Promise.all(changes.map((change) => asNewFile(change, places))),
    steps: steps(target),
  };
}

async function asNewFile({ path, format, edits, whenNew = [] }: FileChange, { home }: Places) {
  const editor = await editorOf(format);
  const text = [...whenNew, ...edits].reduce((text, edit) => editor.set(text, edit.path, edit.value), '');
  return { path: path.startsWith(home) ? `~${path.slice(home.length)}` : path, text: text.trimEnd() };
}
