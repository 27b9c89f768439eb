import htm from 'htm'
import { type ComponentChild, h, type VNode } from 'preact'

/** Markup of components, parsed by the browser without a build: a template with one root element. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode

/** Children of a component. */
export interface WithChildren {
  children?: ComponentChild
}
