import { html } from '../markup.ts'
import { notify } from './notices.ts'

export function CopyButton({ text, label, what }: { text: string; label?: string; what: string }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      notify({ text: `${what} copied` })
    } catch {
      notify({ text: `The browser refuses to copy: select the text instead`, isError: true })
    }
  }
  return html`<button type="button" class="small" aria-label=${`Copy ${what}`} onClick=${copy}>
    ${label ?? 'Copy'}
  </button>`
}
