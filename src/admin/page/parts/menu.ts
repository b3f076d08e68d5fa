// A menu of actions behind a button, above everything else on the page: a frame of a table would cut it off.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html, type Children } from '../html.ts';
import type { VNode } from 'preact';

interface MenuItem {
  title: Children;
  /** A link, or what it does. */
  href?: string;
  run?: () => void;
  isDangerous?: boolean;
}

/** `label` names the button for screen readers; `children` is what it shows. */
export function Menu({
  label,
  items,
  children = '⋯',
}: {
  label: string;
  items: readonly MenuItem[];
  children?: Children;
}): VNode {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  return html`<button
      ref=${button}
      type="button"
      class="quiet"
      aria-label=${label}
      aria-expanded=${isOpen}
      onClick=${() => setOpen(!isOpen)}
    >
      ${children}
    </button>
    ${isOpen && html`<${Items} items=${items} label=${label} from=${button} close=${() => setOpen(false)} />`}`;
}

interface ItemsProps {
  items: readonly MenuItem[];
  label: string;
  from: { readonly current: HTMLElement | null };
  close: () => void;
}

function Items({ items, label, from, close }: ItemsProps): VNode {
  const menu = useRef<HTMLDivElement>(null);
  // Before the next key is pressed.
  useLayoutEffect(() => {
    const element = menu.current;
    const button = from.current;
    if (element === null || button === null) return undefined;
    const follow = (): void => place(element, button.getBoundingClientRect());
    element.showPopover();
    follow();
    element.querySelector<HTMLElement>('a, button')?.focus();
    // Escape, or a click beside it.
    const onToggle = ({ newState }: ToggleEvent): void => {
      if (newState === 'closed') close();
    };
    element.addEventListener('toggle', onToggle);
    addEventListener('scroll', follow, true);
    addEventListener('resize', follow);
    return () => {
      element.removeEventListener('toggle', onToggle);
      removeEventListener('scroll', follow, true);
      removeEventListener('resize', follow);
    };
  }, []);

  function move(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = [...(menu.current?.querySelectorAll<HTMLElement>('a, button') ?? [])];
    const at = all.findIndex((one) => one === document.activeElement);
    all.at((at + step) % all.length)?.focus();
  }
  function choose(item: MenuItem): void {
    from.current?.focus();
    close();
    item.run?.();
  }
  return html`<div ref=${menu} class="menu" popover="auto" role="group" aria-label=${label} onKeyDown=${move}>
    <ul>
      ${items.map(
        (item) =>
          html`<li>
            ${
              item.href === undefined
                ? html`<button
                    type="button"
                    class=${item.isDangerous === true ? 'danger' : undefined}
                    onClick=${() => choose(item)}
                  >
                    ${item.title}
                  </button>`
                : html`<a href=${item.href} onClick=${() => choose(item)}>${item.title}</a>`
            }
          </li>`,
      )}
    </ul>
  </div>`;
}

const MARGIN = 8;

/** Below the button, or above it where there is no room; never beyond an edge of the window, also where the button is. */
function place(menu: HTMLElement, { left, right, top, bottom }: DOMRect): void {
  const { width, height } = menu.getBoundingClientRect();
  const x = left + width + MARGIN > innerWidth ? right - width : left;
  const y = bottom + height + MARGIN > innerHeight ? top - height : bottom;
  menu.style.left = `${Math.max(MARGIN, Math.min(x, innerWidth - width - MARGIN))}px`;
  menu.style.top = `${Math.max(MARGIN, Math.min(y, innerHeight - height - MARGIN))}px`;
}
