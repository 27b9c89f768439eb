import { render } from 'preact'
import { App } from './app.ts'
import { html } from './markup.ts'

const place = document.getElementById('app')
if (place !== null) {
  place.replaceChildren()
  render(html`<${App} />`, place)
}
