import htm from 'htm'
import { type ComponentChild, h, type VNode } from 'preact'

/** Markup as components write it, read by the browser without a build: a template with one element at its top. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode

/** What a component may be given between its tags. */
export interface WithChildren {
  children?: ComponentChild
}
