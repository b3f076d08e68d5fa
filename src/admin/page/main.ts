// Draws the page of the admin API.
import { render } from 'preact';
import { App } from './app.ts';
import { html } from './html.ts';
import { keepFocus } from './parts/focus.ts';
import { applyTheme } from './parts/theme.ts';

applyTheme();
keepFocus();
const root = document.querySelector('#page');
if (root !== null) render(html`<${App} />`, root);
