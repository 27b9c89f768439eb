import { useLayoutEffect } from 'preact/hooks'
import { html, type WithChildren } from '../markup.ts'
import { shownCount } from './shown-values.ts'

export interface PagerProps extends WithChildren {
  page: number
  pages: number
  onPage: (page: number) => void
}

/** Goes back to the last page if the list has become shorter. Renders nothing for one page without children. */
export function Pager({ page, pages, onPage, children }: PagerProps) {
  const last = Math.max(pages, 1)
  // Rows that were deleted may have filled the shown page. Without this, a short list would look empty.
  useLayoutEffect(() => {
    if (page > last) onPage(last)
  }, [page, last])
  if (pages <= 1 && !children) return null
  const button = (to: number, words: string) =>
    html`<button class="small" disabled=${to < 1 || to > pages || to === page} onClick=${() => onPage(to)}>${words}</button>`
  return html`<nav class="row pager" aria-label="Pages">
    ${button(1, 'First')} ${button(page - 1, 'Back')}
    <span>Page ${shownCount(page)} of ${shownCount(last)}</span>
    ${button(page + 1, 'Next')} ${button(pages, 'Last')} ${children}
  </nav>`
}
