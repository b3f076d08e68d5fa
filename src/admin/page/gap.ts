// Where a name is cut, its ellipsis stands behind the last letter that fits whole, up to a letter's width before the tail. CSS cannot move the
// tail there: it is measured.
import { useLayoutEffect } from 'preact/hooks';

const ELLIPSIS = '…';
const ellipses = new Map<string, number>();
const pen = document.createElement('canvas').getContext('2d');

function widthOfEllipsis(element: Element): number {
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(element);
  const font = `${fontWeight} ${fontSize} ${fontFamily}`;
  const known = ellipses.get(font);
  if (known !== undefined || pen === null) return known ?? 0;
  pen.font = font;
  const { width } = pen.measureText(ELLIPSIS);
  ellipses.set(font, width);
  return width;
}

/** Pixels between the ellipsis and the tail, which begins with the letter `at`; 0 where the whole name is shown. */
function gapOf(element: Element, at: number): number {
  const text = element.firstChild?.firstChild;
  if (!(text instanceof Text)) return 0;
  const range = document.createRange();
  const widthTo = (end: number): number => {
    range.setStart(text, 0);
    range.setEnd(text, end);
    return range.getBoundingClientRect().width;
  };
  const { width } = element.getBoundingClientRect();
  const whole = widthTo(text.length);
  // Widths are counted in 64ths of a pixel.
  if (whole <= width + 0.05) return 0;
  const room = width - (whole - widthTo(at)) - widthOfEllipsis(element);
  let [fits, over] = [0, at];
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (widthTo(middle) <= room) fits = middle;
    else over = middle;
  }
  const { fontSize } = getComputedStyle(element);
  return Math.max(0, Math.min(room - widthTo(fits), Number.parseFloat(fontSize)));
}

const tails = new WeakMap<Element, number>();
const observer = new ResizeObserver((entries) => {
  const gaps = entries.map(({ target }) => gapOf(target, tails.get(target) ?? 0));
  entries.forEach(({ target }, index) => {
    (target as HTMLElement).style.setProperty('--gap', `${gaps[index] ?? 0}px`);
  });
});

/** Moves the tail of `name`, which begins with the letter `at`, to the ellipsis, whenever its place or its text changes. */
export function useClosedGap(
  place: { readonly current: HTMLElement | null },
  at: number,
  name: string,
): void {
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    tails.set(element, at);
    observer.observe(element);
    return () => observer.unobserve(element);
  }, [at, name]);
}
