import { html, type WithChildren } from '../markup.ts'
import { shownCount } from './shown-values.ts'

export interface PagerProps extends WithChildren {
  page: number
  pages: number
  onPage: (page: number) => void
}

/** Renders nothing if there is only one page and there are no children. */
export function Pager({ page, pages, onPage, children }: PagerProps) {
  if (pages <= 1 && !children) return null
  const button = (to: number, words: string) =>
    html`<button class="small" disabled=${to < 1 || to > pages || to === page} onClick=${() => onPage(to)}>${words}</button>`
  return html`<nav class="row pager" aria-label="Pages">
    ${button(1, 'First')} ${button(page - 1, 'Back')}
    <span>Page ${shownCount(page)} of ${shownCount(Math.max(pages, 1))}</span>
    ${button(page + 1, 'Next')} ${button(pages, 'Last')} ${children}
  </nav>`
}
