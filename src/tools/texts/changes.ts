// What edits do to the text of one file, and how they are taken out again although the user changed the text in between.
import { createHash } from 'node:crypto';
import {
  assigned,
  depthOf,
  DocumentError,
  formatSegments,
  isEmpty,
  isSame,
  placeOf,
  valueAt,
  type Edit,
  type Editor,
  type Json,
  type Path,
} from './document.ts';
import { hasLine, withLine, withoutLine } from './lines.ts';

export type Format = 'json' | 'yaml' | 'toml';

const EDITORS: Readonly<Record<Format, () => Promise<Editor>>> = {
  json: async () => (await import('./json-text.ts')).jsonText,
  yaml: async () => (await import('./yaml-text.ts')).yamlText,
  toml: async () => (await import('./toml-text.ts')).tomlText,
};

export const editorOf = (format: Format): Promise<Editor> => EDITORS[format]();

/** A value of ours in a file, with what is needed to take it out. */
export interface OwnValue {
  path: Path;
  /** How many segments of the path led to a value before. */
  depth: number;
  /** The user's own value at this path. */
  before?: Json;
  /** SHA-256 of the value as JSON. */
  wrote: string;
  entry?: true;
  /** Of the value, this line alone. */
  line?: string;
}

export const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

const hashOf = (value: Json | undefined): string => sha256(JSON.stringify(value ?? null));

/** The text of a file. */
export interface Text {
  /** With a byte order mark, if the file has one. */
  bytes: Buffer;
  text: string;
}

const BOM = '\ufeff';

/** Throws DocumentError if the bytes are not UTF-8. */
function decoded(bytes: Buffer): { mark: string; text: string } {
  try {
    const all = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return all.startsWith(BOM) ? { mark: BOM, text: all.slice(1) } : { mark: '', text: all };
  } catch {
    throw new DocumentError('not UTF-8', 0);
  }
}

/** Runs an edit of a file's text. A DocumentError gets the file and the place in its message. */
function edited<Result>(
  path: string,
  bytes: Buffer,
  edit: (text: string) => { text: string } & Result,
): { bytes: Buffer } & Result {
  let text = '';
  try {
    const { mark, text: decodedText } = decoded(bytes);
    text = decodedText;
    const result = edit(text);
    return { ...result, bytes: Buffer.from(mark + result.text) };
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new DocumentError(`${path}:${placeOf(text, error.at)}: ${error.message}`, error.at);
  }
}

/** Throws DocumentError: the file is not valid, or has another type on the way to a value. */
export function applyEdits(
  path: string,
  bytes: Buffer,
  editor: Editor,
  edits: readonly Edit[],
): { bytes: Buffer; own: OwnValue[] } {
  return edited(path, bytes, (before) => {
    let text = before;
    let expected = editor.read(text);
    const own: OwnValue[] = [];
    for (const edit of edits) {
      const value = editor.read(text);
      const existing = valueAt(value, edit.path);
      const line = edit.line === true && typeof edit.value === 'string' ? edit.value : undefined;
      const wanted =
        line !== undefined && typeof existing === 'string' ? withLine(existing, line) : edit.value;
      text = editor.set(text, edit.path, wanted);
      expected = assigned(expected, edit.path, wanted);
      own.push({
        path: edit.path,
        depth: depthOf(value, edit.path),
        ...(existing !== undefined && { before: existing }),
        wrote: hashOf(valueAt(editor.read(text), edit.path)),
        ...(edit.entry && { entry: true }),
        ...(line !== undefined && { line }),
      });
    }
    // A style that an editor does not know must not damage the file.
    if (!isSame(editor.read(text), expected))
      throw new DocumentError('its style cannot be edited without other changes', 0);
    return { text, own };
  });
}

/** Takes out what `applyEdits` put in. Values that the user changed since stay; `left` names them. */
export function takeOut(
  path: string,
  bytes: Buffer,
  editor: Editor,
  own: readonly OwnValue[],
): { bytes: Buffer; left: string[]; blank: boolean } {
  return edited(path, bytes, (before) => {
    let text = before;
    const left: string[] = [];
    for (const item of [...own].reverse()) {
      const value = valueAt(editor.read(text), item.path);
      if (value === undefined) continue;
      if (item.line !== undefined && hashOf(value) !== item.wrote) {
        text = lineRemoved(text, editor, item);
        continue;
      }
      if (!item.entry && hashOf(value) !== item.wrote) {
        left.push(formatSegments(item.path));
        continue;
      }
      text =
        item.before === undefined ? removed(text, editor, item) : editor.set(text, item.path, item.before);
    }
    return { text, left, blank: editor.isBlank(text) };
  });
}

/** Whether a file holds anything of ours at this place. */
export function isThere(value: Json | undefined, { path, line }: OwnValue): boolean {
  const found = valueAt(value, path);
  return line === undefined ? found !== undefined : typeof found === 'string' && hasLine(found, line);
}

/** Without our line of a value that the user changed since. One that the user had before stays. */
function lineRemoved(text: string, editor: Editor, item: OwnValue): string {
  const { path, line = '', before } = item;
  const value = valueAt(editor.read(text), path);
  if (typeof value !== 'string' || !hasLine(value, line)) return text;
  if (typeof before === 'string' && hasLine(before, line)) return text;
  const rest = withoutLine(value, line);
  return rest === '' && before === undefined ? removed(text, editor, item) : editor.set(text, path, rest);
}

/** Without the value, and without the containers that were made for it. */
function removed(text: string, editor: Editor, { path, depth }: OwnValue): string {
  let result = editor.remove(text, path);
  for (let length = path.length - 1; length > depth; length -= 1) {
    const container = path.slice(0, length);
    const value = valueAt(editor.read(result), container);
    if (value === undefined || !isEmpty(value)) break;
    result = editor.remove(result, container);
  }
  return result;
}
