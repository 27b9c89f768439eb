import { useState } from 'preact/hooks'
import { html } from '../markup.ts'

/** The cursors of the pages up to the shown one. The first page has none. */
export interface AfterPages {
  after: string | undefined
  /** Shows the first page again. */
  reset: () => void
  /** Buttons to the page before and after. `next` is the cursor of the next page. */
  buttons: (next: string | null | undefined) => unknown
}

/** Pages of a list whose cursors lead forward only. */
export function useAfterPages(back = 'Back', on = 'Next'): AfterPages {
  const [cursors, setCursors] = useState<readonly string[]>([])
  return {
    after: cursors.at(-1),
    reset: () => setCursors([]),
    buttons: next => html`
      ${cursors.length > 0 && html`<button class="small" onClick=${() => setCursors(cursors.slice(0, -1))}>${back}</button>`}
      ${next && html`<button class="small" onClick=${() => setCursors([...cursors, next])}>${on}</button>`}
    `,
  }
}
