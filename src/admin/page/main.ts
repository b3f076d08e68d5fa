// Draws the page of the admin API.
import { render } from 'preact';
import { App } from './app.ts';
import { html } from './html.ts';
import { applyTheme } from './parts/theme.ts';

applyTheme();
const root = document.querySelector('#page');
if (root !== null) render(html`<${App} />`, root);
