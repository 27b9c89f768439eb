import { html } from '../html.ts'
export function PinView() {
  return html`<p></p>`
}
