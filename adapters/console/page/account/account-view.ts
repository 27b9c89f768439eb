import { html } from '../html.ts'
export function AccountView() {
  return html`<p></p>`
}
