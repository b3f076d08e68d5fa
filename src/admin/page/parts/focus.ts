// Where the keyboard and a screen reader go on when the control that had the focus vanishes, as with its row: at the closest thing around it
// that can have the focus, such as its table, else at the heading of the view.

const PLACES = '[tabindex], dialog[open]';

/** To be called once. */
export function keepFocus(): void {
  let last: Element | undefined;
  /** What is around the control, the closest first: once it is out of the page, nobody can tell. */
  let around: HTMLElement[] = [];
  addEventListener('focusin', ({ target }) => {
    if (!(target instanceof Element)) return;
    last = target;
    around = [];
    for (let one = target.parentElement; one !== null; one = one.parentElement) around.push(one);
  });
  // Somebody who presses beside everything wants no focus. A control that vanishes is out of the page by then.
  addEventListener('focusout', ({ target }) =>
    queueMicrotask(() => {
      if (target === last && last?.isConnected === true) last = undefined;
    }),
  );
  new MutationObserver(() => {
    if (last === undefined || last.isConnected || document.activeElement !== document.body) return;
    last = undefined;
    const place = around.find((one) => one.isConnected && one.matches(PLACES));
    (place ?? document.querySelector<HTMLElement>('h1[tabindex]'))?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}
