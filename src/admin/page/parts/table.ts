// Tables: a caption for screen readers, numbers at the right, and a frame that scrolls by keyboard where the screen is narrow.
import { html, type Children } from '../html.ts';
import type { VNode } from 'preact';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Children;
  isNumber?: boolean;
  /** The cell names its row. */
  isHead?: boolean;
  /** Not on narrow screens. */
  isMinor?: boolean;
  /** Only on wide screens. */
  isExtra?: boolean;
  /** Of any length: clients and providers choose it. */
  isName?: boolean;
  /** The title is for screen readers alone. */
  isTitleHidden?: boolean;
}

interface TableProps<Row> {
  caption: string;
  /** The caption is the heading that stands above already. */
  showCaption?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row, index: number) => string;
  rowClass?: (row: Row) => string | undefined;
}

const classOf = <Row>({ isNumber, isMinor, isExtra, isName }: Column<Row>): string | undefined =>
  [isNumber && 'number', isMinor && 'minor', isExtra && 'extra', isName && 'name']
    .filter(Boolean)
    .join(' ') || undefined;

export function Table<Row>({ caption, showCaption, columns, rows, keyOf, rowClass }: TableProps<Row>): VNode {
  return html`
    <div class="table-frame" role="group" aria-label=${caption} tabindex="0">
      <table>
        <caption class=${showCaption === true ? undefined : 'hidden'}>
          ${caption}
        </caption>
        <thead>
          <tr>
            ${columns.map(
              (column) =>
                html`<th scope="col" class=${classOf(column)}>
                  ${column.isTitleHidden === true ? html`<span class="hidden">${column.title}</span>` : column.title}
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row, index) =>
              html`<tr key=${keyOf(row, index)} class=${rowClass?.(row)}>
                ${columns.map((column) =>
                  column.isHead === true
                    ? html`<th scope="row" class=${classOf(column)}>${column.cell(row)}</th>`
                    : html`<td class=${classOf(column)}>${column.cell(row)}</td>`,
                )}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `;
}
