import { html } from '../markup.ts'

interface SortHeadProps {
  title: string
  /** Orders of a first and of a second click. */
  orders: readonly [first: string, second: string]
  /** The order of the list. */
  sort: string
  onSort: (sort: string) => void
  /** Classes of the heading. */
  kind?: string
}

/** Heading of a column that sorts the list. A further click reverses the order. */
export function SortHead({ title, orders: [first, second], sort, onSort, kind = '' }: SortHeadProps) {
  const isSorted = sort === first || sort === second
  const isRising = !sort.startsWith('-') && sort !== 'newest'
  const direction = !isSorted ? 'none' : isRising ? 'ascending' : 'descending'
  return html`<th scope="col" class=${kind} aria-sort=${direction}>
    <button type="button" class="heading" onClick=${() => onSort(sort === first ? second : first)}>${title}</button>
  </th>`
}
