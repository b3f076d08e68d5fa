// Every tool, over the states in which a user's files can be: what is written is what the tool needs, and undo restores every byte.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { editorOf } from '../../src/tools/texts/changes.ts';
import { openConnections, type Connections } from '../../src/tools/connections.ts';
import { valueAt, type Json } from '../../src/tools/texts/document.ts';
import { apply, plan, stateOf, undo, type FileChange } from '../../src/tools/engine.ts';
import type { Places, Target } from '../../src/tools/settings.ts';
import { CONNECT_TOOLS, type ConnectTool } from '../../src/tools/connected-tools.ts';
import { temporaryDirectory } from '../cli/harness.ts';

const KEY = `sk-gw-${'k'.repeat(43)}`;
const TO: Target = {
  url: 'http://127.0.0.1:8787',
  key: KEY,
  model: 'up/m',
  window: 100_000,
  output: 16_000,
  completer: 'qwen2.5-coder',
  embedder: 'nomic-embed',
};

interface Place {
  home: string;
  places: Places;
  connections: Connections;
}

function place(): Place {
  const home = temporaryDirectory();
  return {
    home,
    places: { env: {}, platform: 'linux', home },
    connections: openConnections(path.join(home, 'data')),
  };
}

type Written = ConnectTool & { settings: NonNullable<ConnectTool['settings']> };
const WRITTEN = CONNECT_TOOLS.filter((tool): tool is Written => tool.settings !== undefined);

function mustFind(name: string): Written {
  const tool = WRITTEN.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
}

async function write(tool: Written, { places, connections }: Place, to: Target = TO): Promise<FileChange[]> {
  const changes = tool.settings(to, places);
  const connection = connections.read(tool.name);
  const about = { tool: tool.name, at: '2026-11-22T00:00:00.000Z', url: to.url, model: to.model, key: null };
  apply(await plan(changes, connection, connections), about, connections);
  return changes;
}

async function takeBack(tool: Written, { connections }: Place) {
  const connection = connections.read(tool.name);
  if (connection === undefined) throw new Error(`${tool.name} is not connected`);
  return undo(connection, connections);
}

const readValue = async ({ path: file, format }: FileChange): Promise<Json | undefined> =>
  (await editorOf(format)).read(readFileSync(file, 'utf8').replace(/^\ufeff/, ''));

async function holdsAll(changes: readonly FileChange[]): Promise<void> {
  for (const change of changes) {
    const value = await readValue(change);
    for (const edit of change.edits) expect(valueAt(value, edit.path)).toEqual(edit.value);
  }
}

/** All files and folders below, but for the records. */
function tree(home: string): Record<string, string> {
  const names = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter(
    (name) => !/^data(\/|$)/.test(name),
  );
  return Object.fromEntries(
    names.sort().map((name) => {
      const stat = statSync(path.join(home, name));
      const mode = (stat.mode & 0o777).toString(8);
      return [name, stat.isFile() ? `${mode} ${readFileSync(path.join(home, name), 'hex')}` : mode];
    }),
  );
}

/** What a user may have: with comments where the format allows them. */
const OWN: Readonly<Record<FileChange['format'], string>> = {
  json: '{\n  // my own\n  "theme": "dark", // why\n  "list": [1, 2,],\n  /* last */ "own": "mine"\n}\n',
  yaml: '# my own\ntheme: dark   # why\nlist: [1, 2]\nname: "mine"\n# last\n',
  toml: '# my own\ntheme = "dark"   # why\n\n# a table\n[own]\nname = "mine"\n',
};

function ownText(change: FileChange): string {
  if (change.edits.some(({ path: [first] }) => typeof first === 'object'))
    return '[\n  // my own\n  { "name": "mine" },\n]\n';
  return OWN[change.format];
}

const STATES: readonly (readonly [string, (text: string) => string | undefined])[] = [
  ['missing', () => undefined],
  ['empty', () => ''],
  ['with comments', (text) => text],
  ['with line breaks of Windows', (text) => text.replaceAll('\n', '\r\n')],
  ['with a byte order mark', (text) => `\ufeff${text}`],
  ['without a last line break', (text) => text.trimEnd()],
];

describe.each(WRITTEN)('$name', (tool) => {
  const seed = (at: Place, textOf: (text: string) => string | undefined): FileChange[] => {
    const changes = tool.settings(TO, at.places);
    for (const change of changes) {
      const text = textOf(ownText(change));
      if (text === undefined) continue;
      mkdirSync(path.dirname(change.path), { recursive: true });
      writeFileSync(change.path, text, { mode: 0o644 });
    }
    return changes;
  };

  it.each(STATES)('a file that is %s gets the settings, and is as before after undo', async (_, textOf) => {
    const at = place();
    seed(at, textOf);
    const before = tree(at.home);
    const changes = await write(tool, at);
    await holdsAll(changes);
    for (const { path: file, secret } of changes) {
      const text = readFileSync(file, 'utf8');
      expect(text.includes(KEY)).toBe(secret === true);
      if (secret) expect(statSync(file).mode & 0o777).toBe(0o600);
    }
    const connection = at.connections.read(tool.name);
    expect(connection && (await stateOf(connection))).toBe('connected');
    const undone = await takeBack(tool, at);
    expect(undone.map(({ result }) => result)).toEqual(
      changes.map(() => (textOf('x') === undefined ? 'removed' : 'restored')),
    );
    expect(tree(at.home)).toEqual(before);
    expect(readdirSync(path.join(at.home, 'data'))).toEqual([]);
  });

  it('keeps every line of the user, and takes out only its own after an edit in between', async () => {
    const at = place();
    seed(at, (text) => text);
    const changes = await write(tool, at);
    for (const change of changes) {
      const text = readFileSync(change.path, 'utf8');
      for (const line of ownText(change).trim().split('\n')) {
        if (!/[[{}\]]/.test(line)) expect(text).toContain(line.trim());
      }
      writeFileSync(change.path, text.replace('mine', 'edited').replace('my own', 'my comment'));
    }
    const undone = await takeBack(tool, at);
    for (const [index, change] of changes.entries()) {
      expect(undone[index]).toEqual({ path: change.path, result: 'edited', left: [] });
      const expected = ownText(change).replace('mine', 'edited').replace('my own', 'my comment');
      expect(readFileSync(change.path, 'utf8')).toBe(expected);
      expect(statSync(change.path).mode & 0o777).toBe(0o644);
    }
  });

  it('written again with another model, it is still undone to the first state', async () => {
    const at = place();
    seed(at, (text) => text);
    const before = tree(at.home);
    await write(tool, at);
    await holdsAll(await write(tool, at, { ...TO, model: 'auto', window: null, output: null }));
    expect(JSON.stringify(tree(at.home))).not.toContain(Buffer.from('up/m').toString('hex'));
    await takeBack(tool, at);
    expect(tree(at.home)).toEqual(before);
  });

  it('a file that is not valid is named with the place, and no file changes', async () => {
    const at = place();
    const changes = seed(at, (text) => text);
    const last = changes.at(-1)?.path ?? '';
    writeFileSync(last, '{\n  "a": [1,\n= ');
    const before = tree(at.home);
    await expect(write(tool, at)).rejects.toThrow(
      /:\d+:\d+: not valid (JSON|YAML|TOML): .*; nothing was changed$/,
    );
    expect(tree(at.home)).toEqual(before);
    expect(at.connections.read(tool.name)).toBeUndefined();
  });

  it('a read-only file stays', async () => {
    const at = place();
    const changes = seed(at, (text) => text);
    chmodSync(changes.at(-1)?.path ?? '', 0o444);
    const before = tree(at.home);
    await expect(write(tool, at)).rejects.toThrow(/is read-only; nothing was changed/);
    expect(tree(at.home)).toEqual(before);
  });

  it('follows a symbolic link of dotfiles', async () => {
    const at = place();
    const changes = seed(at, (text) => text);
    const dotfiles = path.join(at.home, 'dotfiles');
    mkdirSync(dotfiles);
    for (const [index, { path: file }] of changes.entries()) {
      const target = path.join(dotfiles, String(index));
      writeFileSync(target, readFileSync(file), { mode: 0o640 });
      rmSync(file);
      symlinkSync(path.relative(path.dirname(file), target), file);
    }
    const before = tree(at.home);
    await holdsAll(await write(tool, at));
    expect(readdirSync(dotfiles)).toHaveLength(changes.length);
    await takeBack(tool, at);
    expect(tree(at.home)).toEqual(before);
  });
});

it('a value of the user at the same path comes back, unless the user changed ours', async () => {
  const at = place();
  const tool = mustFind('opencode');
  const file = path.join(at.home, '.config/opencode/opencode.json');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, '{ "model": "anthropic/opus", "small_model": "anthropic/haiku" }');
  await write(tool, at);
  const text = readFileSync(file, 'utf8');
  expect(text).toContain('"model": "gateway/up/m"');
  writeFileSync(file, text.replace('"small_model": "gateway/up/m"', '"small_model": "openai/mini"'));
  expect(await takeBack(tool, at)).toEqual([{ path: file, result: 'edited', left: ['small_model'] }]);
  expect(readFileSync(file, 'utf8')).toBe('{ "model": "anthropic/opus", "small_model": "openai/mini" }');
});

it('another type at a path is an error that names it', async () => {
  const at = place();
  const tool = mustFind('claude');
  mkdirSync(path.join(at.home, '.claude'));
  writeFileSync(path.join(at.home, '.claude/settings.json'), '{\n  "env": ["A=1"]\n}\n');
  await expect(write(tool, at)).rejects.toThrow(
    /settings\.json:2:10: env is an array, not an object; nothing was changed/,
  );
});

it('a failed write of one file takes back the others', async () => {
  const at = place();
  const tool = mustFind('pi');
  const changes = tool.settings(TO, at.places);
  // The second file is in a folder that is a file.
  const broken = changes.map((change, index) =>
    index === 1 ? { ...change, path: path.join(at.home, 'a-file', 'x.json') } : change,
  );
  writeFileSync(path.join(at.home, 'a-file'), '');
  const before = tree(at.home);
  await expect(write({ ...tool, settings: () => broken }, at)).rejects.toThrow(
    /a part of its path is not a folder/,
  );
  expect(tree(at.home)).toEqual(before);
  expect(at.connections.read('pi')).toBeUndefined();
});

it('a second write that fails leaves the first one, which can be undone', async () => {
  const at = place();
  const tool = mustFind('pi');
  const [, settings] = tool.settings(TO, at.places);
  const file = settings?.path ?? '';
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, '{ "theme": "dark" }');
  const before = tree(at.home);
  await write(tool, at);
  const written = tree(at.home);
  const broken = (to: Target): FileChange[] => [
    ...tool.settings(to, at.places),
    { path: path.join(at.home, 'a-file', 'x.json'), format: 'json', edits: [{ path: ['a'], value: 1 }] },
  ];
  writeFileSync(path.join(at.home, 'a-file'), '');
  await expect(write({ ...tool, settings: broken }, at, { ...TO, model: 'auto' })).rejects.toThrow(
    /not a folder/,
  );
  rmSync(path.join(at.home, 'a-file'));
  expect(tree(at.home)).toEqual(written);
  await takeBack(tool, at);
  expect(tree(at.home)).toEqual(before);
});

it('a file that is removed in between is no failure', async () => {
  const at = place();
  const tool = mustFind('claude');
  const [change] = await write(tool, at);
  rmSync(change?.path ?? '');
  expect(await takeBack(tool, at)).toMatchObject([{ result: 'gone' }]);
});
