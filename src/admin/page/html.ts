// Components are written as templates: no build step changes their syntax.
import htm from 'htm';
import { h, type ComponentChildren, type VNode } from 'preact';

/** Values are text, never markup. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

export type Children = ComponentChildren;
