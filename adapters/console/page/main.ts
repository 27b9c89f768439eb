import { render } from 'preact'
import { App } from './app.ts'
import { html } from './html.ts'

const place = document.getElementById('app')
if (place !== null) {
  place.replaceChildren()
  render(html`<${App} />`, place)
}
