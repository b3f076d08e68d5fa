// The colours of the page, light or dark: those of the system, or those that the user chose.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { Menu } from './menu.ts';
import type { VNode } from 'preact';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const NAME = 'gateway.theme';
const TITLES: Readonly<Record<Theme, string>> = { system: 'Auto', light: 'Light', dark: 'Dark' };

const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();
const announce = (): void => {
  for (const listener of listeners) listener();
};
dark.addEventListener('change', announce);
/** Charts are drawn with the colours that they find. */
const forced = matchMedia('(forced-colors: active)');
forced.addEventListener('change', announce);

function chosen(): Theme {
  try {
    const stored = localStorage.getItem(NAME);
    return THEMES.find((theme) => theme === stored) ?? 'system';
  } catch {
    return 'system';
  }
}

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

/** To be called before the page is drawn first. */
export function applyTheme(): void {
  apply(chosen());
}

function choose(theme: Theme): void {
  try {
    localStorage.setItem(NAME, theme);
  } catch {
    // Without storage, the choice is valid until the page is closed.
  }
  apply(theme);
  announce();
}

/** The colours that are shown now. The component is drawn again when they change. */
export function useTheme(): string {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = (): void => redraw((turn) => turn + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  const own = document.documentElement.dataset['theme'];
  const theme = own === 'light' || own === 'dark' ? own : dark.matches ? 'dark' : 'light';
  return forced.matches ? `${theme}, forced` : theme;
}

export function ThemeSwitch(): VNode {
  const theme = useTheme();
  const own = chosen();
  const items = THEMES.map((item) => ({
    title: html`<span class="mark" aria-hidden="true">${item === own && '✓'}</span
      >${TITLES[item]}${item === own && html`<span class="hidden"> (chosen)</span>`}`,
    run: () => choose(item),
  }));
  return html`<${Menu} label="Colours" items=${items}
    ><span class="sign">${theme.startsWith('dark') ? '☾' : '☀'}</span><//
  >`;
}
