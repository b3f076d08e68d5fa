// Lines of CSV that a spreadsheet opens as data. Whoever has a key chooses names of models, and others open the file.
import { clean } from '../../ui/style.ts';

/** Spreadsheets compute what begins like this, in wide forms too; some take a `;` as the end of a cell. */
const FORMULA = /(^|;)(?=[=+\-@\t\r\n＝＋－＠])/g;

/** RFC 4180. A text that a spreadsheet would compute gets an apostrophe, which makes it text. */
export function csvLine(fields: readonly unknown[]): string {
  return fields.map(csvField).join(',');
}

function csvField(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  const text = clean(value.replace(FORMULA, "$1'"));
  return /[",;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
