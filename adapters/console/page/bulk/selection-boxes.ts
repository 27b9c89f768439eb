import { useLayoutEffect, useRef } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { ListedUpload } from '../../../client/index.ts'
import { html } from '../markup.ts'
import type { Selecting } from './use-selection.ts'

/** Returns the cells with the boxes of the rows. */
export function boxesOf(selecting: Selecting) {
  return {
    all: (rows: readonly ListedUpload[]) => html`<${SelectAll} rows=${rows} selecting=${selecting} />`,
    one: (row: ListedUpload) => html`<${SelectRow} row=${row} selecting=${selecting} />`,
  }
}

type BoxEvent = MouseEvent & { currentTarget: HTMLInputElement }

/** Cell with the checkbox of one row. A click, or Space, with Shift selects all rows from the last clicked one. */
function SelectRow({ row, selecting }: { row: ListedUpload; selecting: Selecting }) {
  const click = ({ currentTarget, shiftKey }: BoxEvent): void => selecting.toggle(row, currentTarget.checked, shiftKey)
  return html`<td class="check">
    <input type="checkbox" aria-label=${`Select ${visibleText(row.name)}`} checked=${selecting.isSelected(row)} onClick=${click} />
  </td>`
}

/** Heading cell with the checkbox of all rows on the page. */
function SelectAll({ rows, selecting }: { rows: readonly ListedUpload[]; selecting: Selecting }) {
  const box = useRef<HTMLInputElement>(null)
  const selected = rows.filter(selecting.isSelected).length
  useLayoutEffect(() => {
    if (box.current !== null) box.current.indeterminate = selected > 0 && selected < rows.length
  })
  const click = ({ currentTarget }: BoxEvent): void => selecting.toggleAll(currentTarget.checked)
  return html`<th scope="col" class="check">
    <input ref=${box} type="checkbox" aria-label="Select all on this page" checked=${selected === rows.length} onClick=${click} />
  </th>`
}
