// Tables: a caption for screen readers, numbers at the right, and a frame that scrolls by keyboard where the screen is narrow.
import { useState } from 'preact/hooks';
import { html, type Children } from '../html.ts';
import { Name } from './text.ts';
import type { VNode } from 'preact';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Children;
  isNumber?: boolean;
  /** The cell names its row. */
  isHead?: boolean;
  /** Not on narrow screens. */
  isMinor?: boolean;
  /** Not on phones. */
  isLesser?: boolean;
  /** Only on wide screens. */
  isExtra?: boolean;
  /** Of any length: clients and providers choose it. Text is cut in its middle; within a link, `Name` does that. */
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
  /** On phones each row is a card: a line for each column, and nothing beyond the edge. */
  asCards?: boolean;
  /** What a row unfolds to; undefined: it does not. */
  unfold?: (row: Row) => Children | undefined;
}

const classOf = <Row>({ isNumber, isMinor, isLesser, isExtra, isName }: Column<Row>): string | undefined =>
  [isNumber && 'number', isMinor && 'minor', isLesser && 'lesser', isExtra && 'extra', isName && 'name']
    .filter(Boolean)
    .join(' ') || undefined;

export function Table<Row>({
  caption,
  showCaption,
  columns,
  rows,
  keyOf,
  rowClass,
  asCards,
  unfold,
}: TableProps<Row>): VNode {
  // The roles stay where the style makes cards of the rows.
  return html`
    <div class="table-frame" role="group" aria-label=${caption} tabindex="0">
      <table role="table" class=${asCards === true ? 'cards' : undefined}>
        <caption class=${showCaption === true ? undefined : 'hidden'}>
          ${caption}
        </caption>
        <thead>
          <tr role="row">
            ${columns.map(
              (column) =>
                html`<th scope="col" role="columnheader" class=${classOf(column)}>
                  ${column.isTitleHidden === true ? html`<span class="hidden">${column.title}</span>` : column.title}
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row, index) =>
              html`<${TableRow}
                key=${keyOf(row, index)}
                row=${row}
                columns=${columns}
                rowClass=${rowClass?.(row)}
                unfold=${unfold}
              />`,
          )}
        </tbody>
      </table>
    </div>
  `;
}

interface RowProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
  rowClass: string | undefined;
  unfold: TableProps<Row>['unfold'];
}

function contentOf<Row>({ cell, isName }: Column<Row>, row: Row): Children {
  const content = cell(row);
  return isName === true && typeof content === 'string' ? html`<${Name} of=${content} />` : content;
}

function TableRow<Row>({ row, columns, rowClass, unfold }: RowProps<Row>): VNode {
  const [isOpen, setOpen] = useState(false);
  const inside = unfold?.(row);
  const head = (content: Children): Children =>
    inside === undefined
      ? content
      : html`<button type="button" class="unfold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
          ${content}
        </button>`;
  return html`
    <tr role="row" class=${rowClass}>
      ${columns.map((column) =>
        column.isHead === true
          ? html`<th scope="row" role="rowheader" class=${classOf(column)}>
              ${head(contentOf(column, row))}
            </th>`
          : html`<td
              role="cell"
              class=${classOf(column)}
              data-title=${column.isTitleHidden === true ? undefined : column.title}
            >
              ${contentOf(column, row)}
            </td>`,
      )}
    </tr>
    ${
      isOpen &&
      inside !== undefined &&
      html`<tr role="row" class="unfolded">
        <td role="cell" colspan=${columns.length}>${inside}</td>
      </tr>`
    }
  `;
}
