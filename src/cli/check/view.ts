// The reports of checks as lines for a person.
import { plural } from '../../plural.ts';
import { clean, type Style } from '../ui/style.ts';
import { wrapText } from '../ui/table.ts';
import type { ProviderReport } from './report.ts';
import { LONGEST_CASE } from './tool-cases.data.ts';
import type { CaseReport, ToolReport } from './tool-check.ts';

interface View {
  style: Style;
  width: number | undefined;
}

const LONGEST_CHECK = 9;
const MARKS = { true: '✓', false: '✗', null: '-' } as const;

export function reportLines({ provider, ok, checks }: ProviderReport, view: View): string[] {
  const { style } = view;
  const lines = checks.flatMap((step) => {
    const paint = step.ok === null ? style.dim : step.ok ? style.green : style.red;
    const text = step.ok === false ? style.red : style.dim;
    return row(paint(MARKS[`${step.ok}`]), step.check.padEnd(LONGEST_CHECK), step.detail, text, view);
  });
  return [(ok ? style.bold : style.red)(clean(provider)), ...lines];
}

export function caseLines({ case: name, result, detail }: CaseReport, view: View): string[] {
  const { style } = view;
  const [mark, text] = {
    right: [style.green('✓'), style.dim],
    repaired: [style.yellow('~'), style.dim],
    lost: [style.red('✗'), style.red],
  }[result] as [string, (text: string) => string];
  return row(
    mark,
    name.padEnd(LONGEST_CASE),
    result === 'repaired' ? `repaired: ${detail}` : detail,
    text,
    view,
  );
}

export function endLines({ right, repaired, lost, change }: ToolReport, { style, width }: View): string[] {
  const found = `${right} right, ${repaired} repaired, ${lost} lost of ${plural(right + repaired + lost, 'case')}`;
  const items = change.flatMap((text) => wrapText(`- ${clean(text)}`, width, '  '));
  return ['', style.bold(found), ...(items.length === 0 ? [] : ['', 'To change:', ...items])];
}

function row(
  mark: string,
  label: string,
  detail: string,
  paint: (text: string) => string,
  view: View,
): string[] {
  const indent = label.length + 6;
  const [first = '', ...more] = wrapText(clean(detail), view.width && Math.max(20, view.width - indent));
  const head = `  ${mark} ${label}  ${paint(first)}`;
  return [first === '' ? head.trimEnd() : head, ...more.map((line) => ' '.repeat(indent) + paint(line))];
}
