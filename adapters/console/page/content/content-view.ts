import { html } from '../html.ts'
import { PinList } from './pin-list.ts'

/** What the account keeps, and what brings more of it. */
export function ContentView() {
  return html`<div class="stack">
    <h1>Content</h1>
    <${PinList} />
  </div>`
}
