// Plans, makes and takes back the changes of files for one tool. A plan changes nothing: each file is read, edited in memory and
// checked, so that a fault in one leaves all of them.
import { CliError } from '../cli-error.ts';
import {
  applyEdits,
  editorOf,
  isThere,
  sha256,
  takeOut,
  type Format,
  type OwnValue,
} from './texts/changes.ts';
import type { Connection, Connections, FileRecord } from './connections.ts';
import { DocumentError, type Edit } from './texts/document.ts';
import {
  checkWritable,
  readFileState,
  removeFile,
  removeFolders,
  replaceFile,
  type FileState,
} from './files.ts';

/** What a tool's settings need in one file. */
export interface FileChange {
  path: string;
  format: Format;
  edits: readonly Edit[];
  /** Further edits if there is no file yet. */
  whenNew?: readonly Edit[];
  /** The file holds the key: nobody else may read it. */
  secret?: true;
  /** The tool reads JSON without comments and commas at the end; another file it ignores as a whole, and reports nothing. */
  strict?: true;
}

export interface PlannedFile {
  state: FileState;
  format: Format;
  /** undefined: the file goes. */
  after: Buffer | undefined;
  mode: number;
  /** The file without anything of ours. undefined: no file. */
  base: { bytes: Buffer; mode: number } | undefined;
  /** Of the connection before, if `base` is what its backup holds. */
  backup: string | undefined;
  folders: string[];
  own: OwnValue[];
  /** The tool ignores the file, because it is not plain JSON. */
  ignored?: boolean;
}

const PRIVATE = 0o600;
const NOTHING = Buffer.alloc(0);

/** A file without what an earlier connection wrote. */
interface Undone {
  state: FileState;
  base: PlannedFile['base'];
  /** `restored`: the bytes are those of the backup. */
  how: 'restored' | 'taken out' | 'untouched' | 'gone';
  left: string[];
}

/** Throws CliError if the file can't be read, DocumentError if it is not valid. */
async function undone(record: FileRecord, connections: Connections): Promise<Undone> {
  const state = readFileState(record.path);
  const { content } = state;
  if (content === undefined) return { state, base: undefined, how: 'gone', left: [] };
  const hash = sha256(content.bytes);
  const { before } = record;
  if (hash === record.after) {
    const base = before === null ? undefined : { bytes: backupOf(record, connections), mode: before.mode };
    return { state, base, how: 'restored', left: [] };
  }
  if (hash === before?.sha256) return { state, base: content, how: 'untouched', left: [] };
  const { bytes, left, blank } = takeOut(
    record.path,
    content.bytes,
    await editorOf(record.format),
    record.own,
  );
  const mode = before?.mode ?? content.mode;
  return { state, base: blank && before === null ? undefined : { bytes, mode }, how: 'taken out', left };
}

function backupOf({ path, before }: FileRecord, connections: Connections): Buffer {
  const bytes = before === null ? NOTHING : connections.bytesOf(before.backup);
  if (before !== null && sha256(bytes) !== before.sha256) {
    throw new CliError(`the backup of ${path} was changed (${before.backup}); nothing was changed`);
  }
  return bytes;
}

export async function plan(
  changes: readonly FileChange[],
  connection: Connection | undefined,
  connections: Connections,
): Promise<PlannedFile[]> {
  return faultsNamed(async () => {
    const planned: PlannedFile[] = [];
    for (const change of changes) {
      const record = connection?.files.find(({ path }) => path === change.path);
      planned.push(await planFile(change, record, connections));
    }
    for (const record of connection?.files ?? []) {
      if (changes.some(({ path }) => path === record.path)) continue;
      const { state, base } = await undone(record, connections);
      checkWritable(state);
      const mode = base?.mode ?? PRIVATE;
      planned.push({
        state,
        format: record.format,
        after: base?.bytes,
        mode,
        base,
        backup: undefined,
        folders: record.folders,
        own: [],
      });
    }
    return planned;
  });
}

async function planFile(
  change: FileChange,
  record: FileRecord | undefined,
  connections: Connections,
): Promise<PlannedFile> {
  const old = record && (await undone(record, connections));
  const state = old?.state ?? readFileState(change.path);
  checkWritable(state);
  const base = old === undefined ? state.content : old.base;
  const edits = [...(base === undefined ? (change.whenNew ?? []) : []), ...change.edits];
  const editor = await editorOf(change.format);
  const { bytes, own } = applyEdits(change.path, base?.bytes ?? NOTHING, editor, edits);
  const mode = base === undefined ? PRIVATE : change.secret ? base.mode & PRIVATE : base.mode;
  const backup = old?.how === 'restored' || old?.how === 'untouched' ? record?.before?.backup : undefined;
  return {
    state,
    format: change.format,
    after: bytes,
    mode,
    base,
    backup,
    folders: record?.folders ?? [],
    own,
    ignored: change.strict === true && !isPlainJson(bytes),
  };
}

function isPlainJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''));
    return true;
  } catch {
    return false;
  }
}

async function faultsNamed<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof DocumentError) throw new CliError(`${error.message}; nothing was changed`, 1, error);
    throw error;
  }
}

/** Whether the files are as the plan wants them. `same` compares two texts without their keys. */
export function isInEffect(
  planned: readonly PlannedFile[],
  same: (one: string, other: string) => boolean,
): boolean {
  return planned.every(({ state, after }) =>
    same(state.content?.bytes.toString('utf8') ?? '', after?.toString('utf8') ?? ''),
  );
}

/** Writes the record first, then the files: what breaks off in between can be undone. */
export function apply(
  planned: readonly PlannedFile[],
  connection: Omit<Connection, 'version' | 'files'>,
  connections: Connections,
): Connection {
  const before = connections.read(connection.tool);
  const records = planned.flatMap(({ state, format, after, base, backup, folders, own }): FileRecord[] => {
    if (after === undefined || own.length === 0) return [];
    const saved = base && {
      backup: backup ?? connections.backUp(connection.tool, base.bytes),
      sha256: sha256(base.bytes),
      mode: base.mode,
    };
    return [{ path: state.path, format, before: saved ?? null, after: sha256(after), folders, own }];
  });
  const result: Connection = { version: 1, ...connection, files: records };
  connections.write(result);
  try {
    writeAll(planned, (file, folders) => {
      const record = records.find(({ path }) => path === file.state.path);
      record?.folders.push(...folders);
    });
  } catch (error) {
    if (before === undefined) connections.remove(connection.tool);
    else {
      connections.write(before);
      connections.sweep(before);
    }
    throw error;
  }
  connections.write(result);
  connections.sweep(result);
  return result;
}

/** All of them or none. */
function writeAll(
  files: readonly Pick<PlannedFile, 'state' | 'after' | 'mode'>[],
  onFolders: (file: Pick<PlannedFile, 'state'>, folders: string[]) => void,
): void {
  const back: (() => void)[] = [];
  try {
    for (const file of files) {
      const { state, after, mode } = file;
      checkUnchanged(state);
      const { content } = state;
      if (after === undefined) {
        if (content !== undefined) removeFile(state);
      } else if (content === undefined || !content.bytes.equals(after) || content.mode !== mode) {
        const folders = replaceFile(state, after, mode);
        onFolders(file, folders);
        if (content === undefined) back.push(() => (removeFile(state), removeFolders(folders)));
      }
      if (content !== undefined) back.push(() => void replaceFile(state, content.bytes, content.mode));
    }
  } catch (error) {
    for (const step of back.reverse()) step();
    throw error;
  }
}

/** The tool may have written since the plan. */
function checkUnchanged({ path, content }: FileState): void {
  const now = readFileState(path).content;
  const same = now === undefined || content === undefined ? now === content : now.bytes.equals(content.bytes);
  if (!same) throw new CliError(`${path} was changed at the same time; nothing was changed; try again`);
}

export interface UndoneFile {
  path: string;
  result: 'restored' | 'removed' | 'edited' | 'unchanged' | 'gone';
  /** Values that the user changed since: they stay. */
  left: string[];
}

/** Takes back a connection. Throws CliError and changes nothing if a file can't be read, edited or written. */
export async function undo(connection: Connection, connections: Connections): Promise<UndoneFile[]> {
  return faultsNamed(async () => {
    const files: (Undone & { folders: string[] })[] = [];
    for (const record of connection.files)
      files.push({ ...(await undone(record, connections)), folders: record.folders });
    const changing = files.filter(({ how }) => how === 'restored' || how === 'taken out');
    for (const { state } of changing) checkWritable(state);
    const writes = changing.map(({ state, base }) => ({
      state,
      after: base?.bytes,
      mode: base?.mode ?? PRIVATE,
    }));
    writeAll(writes, () => undefined);
    for (const { folders, base } of [...files].reverse()) if (base === undefined) removeFolders(folders);
    connections.remove(connection.tool);
    return files.map(({ state, base, how, left }) => ({
      path: state.path,
      result: resultOf(how, base),
      left,
    }));
  });
}

function resultOf(how: Undone['how'], base: Undone['base']): UndoneFile['result'] {
  if (how === 'gone') return 'gone';
  if (how === 'untouched') return 'unchanged';
  if (base === undefined) return 'removed';
  return how === 'restored' ? 'restored' : 'edited';
}

/** `changed`: the files are not as they were written; `gone`: none of them holds anything of ours. */
export async function stateOf(connection: Connection): Promise<'connected' | 'changed' | 'gone'> {
  let [same, ours] = [true, false];
  for (const { path, after, format, own } of connection.files) {
    const { content } = readFileState(path);
    if (content !== undefined && sha256(content.bytes) === after) {
      ours = true;
      continue;
    }
    same = false;
    try {
      const value =
        content && (await editorOf(format)).read(content.bytes.toString('utf8').replace(/^\ufeff/, ''));
      ours ||= own.some((item) => isThere(value, item));
    } catch {
      // A file that is not valid now.
    }
  }
  if (same) return 'connected';
  return ours ? 'changed' : 'gone';
}
