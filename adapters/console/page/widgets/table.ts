import type { VNode } from 'preact'
import { html } from '../markup.ts'
import { formatAge, formatInstant } from './shown-values.ts'
import { useNow } from './use-now.ts'

/** Title, content of the cells, and their class. The title of `actions` is for screen readers only. */
export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => unknown,
  kind?: 'name' | 'age' | 'number' | 'actions',
]

/**
 * Draws a list as a table. On a phone, each row shows its cells below each other, with their titles.
 *
 * @param rows undefined until they are loaded
 * @param none replaces an empty list
 */
export function table<Row>(
  rows: readonly Row[] | undefined,
  none: string | null,
  keyOf: (row: Row) => string,
  columns: ReadonlyArray<Column<Row>>,
): VNode | null {
  if (rows === undefined) return null
  if (rows.length === 0 && none !== null) return html`<p class="empty">${none}</p>`
  const head = ([title, , kind]: Column<Row>) =>
    html`<th scope="col" class=${kind}>${kind === 'actions' ? html`<span class="unseen">${title}</span>` : title}</th>`
  const cell =
    (row: Row) =>
    ([title, show, kind]: Column<Row>) =>
      html`<td class=${kind} data-label=${kind === 'name' || kind === 'actions' ? undefined : title}><div>${show(row)}</div></td>`
  return html`<div class="list"><table class="stacked">
    <thead><tr>${columns.map(head)}</tr></thead>
    <tbody>${rows.map(row => html`<tr key=${keyOf(row)}>${columns.map(cell(row))}</tr>`)}</tbody>
  </table></div>`
}

/** Shows how long ago a time was, and the time itself as a tooltip. */
export function Age({ at }: { at: string }) {
  return html`<time datetime=${at} title=${formatInstant(at)}>${formatAge(at, useNow())}</time>`
}
