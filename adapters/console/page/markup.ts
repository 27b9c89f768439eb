import htm from 'htm'
import { type ComponentChild, h, type VNode } from 'preact'

/** Template tag for the markup of components, which needs no build step. A template has one root element. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode

export interface WithChildren {
  children?: ComponentChild
}
